// SPDX-License-Identifier: Apache-2.0
#include "streaming/internal/spdy_process_stream.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "spdy/frames.h"
#include "websocket/channels.h"

namespace dray::streaming::internal {
namespace {

enum Part : std::uint8_t { kIn, kOut, kErr, kError, kResize, kParts };
constexpr std::array<std::string_view, kParts> kNames = {"stdin", "stdout", "stderr", "error",
                                                         "resize"};

// What the process says, until the client takes it: its thread waits when too much is held.
// Thread-safe.
class Said {
 public:
  void SetWake(std::function<void()> wake) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    wake_ = std::move(wake);
  }
  // Nobody listens any more: forgets it.
  void Say(std::string frames, bool wait) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      while (wait && !closed_ && frames_.size() > kMostHeld) room_.Wait(mutex_);
      if (closed_ || ended_ || frames_.size() > 2 * kMostHeld) return;
      frames_ += frames;
      wake = wake_;
    }
    if (wake) wake();
  }
  // The last thing that is said.
  void End(std::string frames) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      if (closed_ || ended_) return;
      frames_ += frames;
      ended_ = true;
      room_.NotifyAll();
      wake = wake_;
    }
    if (wake) wake();
  }
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      wake = wake_;
    }
    if (wake) wake();
  }
  bool Take(std::string& frames) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    frames = std::exchange(frames_, {});
    room_.NotifyAll();
    return ended_;
  }
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    closed_ = true;
    wake_ = nullptr;
    room_.NotifyAll();
  }

 private:
  base::Mutex mutex_;
  base::CondVar room_;
  std::string frames_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
};

class SpdyProcessStream final : public apiserver::StreamSource {
 public:
  SpdyProcessStream(container::Runtime& runtime, ProcessRequest request)
      : runtime_(runtime), request_(std::move(request)) {
    wanted_[kIn] = request_.exec.stdin;
    wanted_[kOut] = request_.out;
    wanted_[kErr] = request_.err;
    wanted_[kError] = true;
    wanted_[kResize] = request_.exec.tty;
  }
  // The runtime abandons what it runs when the session goes.
  ~SpdyProcessStream() override { said_->Close(); }

  void Start(std::function<void()> wake) override { said_->SetWake(std::move(wake)); }

  State Pull(std::vector<apiserver::Bytes>& out) override {
    ReadOn();  // the process may have room again
    std::string frames;
    const bool ended = said_->Take(frames);
    if (!frames.empty()) out.push_back(std::make_shared<const std::string>(std::move(frames)));
    return ended ? State::kEnd : State::kWait;
  }

  std::size_t Receive(std::string_view bytes) override {
    if (Full()) return 0;
    frames_.Add(bytes);
    ReadOn();
    return bytes.size();
  }

 private:
  // What the client says stays on its way while the process does not read what it was told.
  bool Full() const { return session_ != nullptr && session_->Full(); }

  void ReadOn() {
    while (!over_ && !Full()) {
      const auto frame = frames_.Next();
      if (!frame.ok()) return Refuse();
      if (!frame->has_value()) return;
      Take(**frame);
    }
  }

  void Take(const spdy::Frame& frame) {
    using Kind = spdy::Frame::Kind;
    switch (frame.kind) {
      case Kind::kSynStream:
        return Begin(frame);
      case Kind::kData:
        return Hear(frame);
      case Kind::kPing:
        if (frame.stream % 2 == 1) said_->Say(spdy::FrameWriter::Ping(frame.stream), false);
        return;
      case Kind::kReset:
        // Who resets the stream for errors has lost interest; another one is just not read.
        if (frame.stream == streams_[kError]) Refuse();
        return;
      default:
        return;
    }
  }

  void Begin(const spdy::Frame& frame) {
    if (frame.stream % 2 == 0 || frame.stream <= last_) return Refuse();
    last_ = frame.stream;
    const std::string_view type = spdy::Find(frame.headers, "streamtype");
    for (std::size_t part = 0; part < kParts; ++part) {
      if (kNames[part] != type || !wanted_[part] || streams_[part] != 0) continue;
      streams_[part] = frame.stream;
      said_->Say(writer_.SynReply(frame.stream), false);
      return BeginProcess();
    }
    said_->Say(spdy::FrameWriter::Reset(frame.stream, spdy::ResetCode::kRefusedStream), false);
  }

  void BeginProcess() {
    if (session_ != nullptr || begun_) return;
    for (std::size_t part = 0; part < kParts; ++part) {
      if (wanted_[part] && streams_[part] == 0) return;
    }
    begun_ = true;
    const auto say = [said = said_](std::uint32_t stream) {
      return [said, stream](const std::string& bytes) {
        if (stream != 0 && !bytes.empty()) said->Say(spdy::FrameWriter::Data(stream, bytes), true);
      };
    };
    session_ = runtime_.Exec(
        request_.exec,
        {.out = say(streams_[kOut]),
         .err = say(streams_[kErr]),
         .done =
             [said = said_, streams = streams_](StatusOr<std::int32_t> code) {
               const std::string text =
                   code.ok() ? websocket::ExitStatus(*code)
                             : websocket::FailureStatus(std::string(code.status().message()));
               std::string last = spdy::FrameWriter::Data(streams[kError], text, /*last=*/true);
               for (const Part part : {kOut, kErr}) {
                 if (streams[part] != 0) last += spdy::FrameWriter::Data(streams[part], "", true);
               }
               said->End(last + spdy::FrameWriter::GoAway(streams[kError]));
             },
         .room = [said = said_] { said->Wake(); }});
  }

  void Hear(const spdy::Frame& frame) {
    if (session_ == nullptr) return;
    if (frame.stream == streams_[kIn] && frame.stream != 0) {
      if (!frame.data.empty()) session_->Write(frame.data);
      if (frame.last) session_->CloseInput();
    } else if (frame.stream == streams_[kResize] && frame.stream != 0 && !frame.data.empty()) {
      const auto event = websocket::ReadChannel(
          {.opcode = websocket::Opcode::kBinary,
           .payload = static_cast<char>(websocket::Channel::kResize) + frame.data});
      if (event.ok() && event->kind == websocket::ChannelEvent::Kind::kResize) {
        session_->Resize(event->columns, event->rows);
      }
    }
  }

  void Refuse() {
    over_ = true;
    session_ = nullptr;
    said_->End(spdy::FrameWriter::GoAway(last_));
  }

  container::Runtime& runtime_;
  const ProcessRequest request_;
  const std::shared_ptr<Said> said_ = std::make_shared<Said>();
  std::shared_ptr<container::ExecSession> session_;
  std::array<bool, kParts> wanted_{};
  std::array<std::uint32_t, kParts> streams_{};  // 0: has not begun
  std::uint32_t last_ = 0;
  bool begun_ = false;
  bool over_ = false;
  spdy::FrameReader frames_;
  spdy::FrameWriter writer_;
};

}  // namespace

std::unique_ptr<apiserver::StreamSource> MakeSpdyProcessStream(container::Runtime& runtime,
                                                               ProcessRequest request) {
  return std::make_unique<SpdyProcessStream>(runtime, std::move(request));
}

}  // namespace dray::streaming::internal
