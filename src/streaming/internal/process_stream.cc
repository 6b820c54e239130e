// SPDX-License-Identifier: Apache-2.0
#include "streaming/internal/process_stream.h"

#include <utility>

#include "base/mutex.h"
#include "websocket/channels.h"

namespace dray::streaming::internal {
namespace {

using websocket::Channel;

// What the process says, until the client takes it. Shared by the connection and the process's
// thread, which waits when too much is held. Thread-safe.
class Outbox {
 public:
  void SetWake(std::function<void()> wake) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    wake_ = std::move(wake);
  }
  // Waits until there is room; nobody listens any more: forgets it.
  void Say(std::string frame) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      while (!closed_ && frames_.size() > kMostHeld) room_.Wait(mutex_);
      if (closed_) return;
      frames_ += frame;
      wake = wake_;
    }
    if (wake) wake();
  }
  // Without waiting: forgets it when there is no room.
  void Offer(std::string_view frame) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      if (closed_ || ended_ || frames_.size() > kMostHeld) return;
      frames_ += frame;
      wake = wake_;
    }
    if (wake) wake();
  }
  // The last thing that is said. Does not wait.
  void End(std::string frame) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      if (closed_ || ended_) return;
      frames_ += frame;
      ended_ = true;
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
  // What was said; true: that was all.
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

class ProcessStream final : public apiserver::StreamSource {
 public:
  ProcessStream(container::Runtime& runtime, ProcessRequest request)
      : runtime_(runtime), request_(std::move(request)) {}
  // The runtime abandons what it runs when the session goes.
  ~ProcessStream() override { outbox_->Close(); }

  void Start(std::function<void()> wake) override {
    outbox_->SetWake(std::move(wake));
    // A word at once, so that the client knows that it is heard.
    const Channel first = request_.out   ? Channel::kOut
                          : request_.err ? Channel::kErr
                                         : Channel::kError;
    outbox_->Offer(websocket::ChannelFrame(first, ""));
    const auto say = [outbox = outbox_](Channel channel, bool wanted) {
      return [outbox, channel, wanted](const std::string& bytes) {
        if (wanted && !bytes.empty()) outbox->Say(websocket::ChannelFrame(channel, bytes));
      };
    };
    session_ = runtime_.Exec(
        request_.exec,
        {.out = say(Channel::kOut, request_.out),
         .err = say(Channel::kErr, request_.err),
         .done =
             [outbox = outbox_](StatusOr<std::int32_t> code) {
               const std::string text =
                   code.ok() ? websocket::ExitStatus(*code)
                             : websocket::FailureStatus(std::string(code.status().message()));
               outbox->End(websocket::ChannelFrame(Channel::kError, text) +
                           websocket::CloseFrame(websocket::CloseCode::kNormal, ""));
             },
         .room = [outbox = outbox_] { outbox->Wake(); }});
  }

  State Pull(std::vector<apiserver::Bytes>& out) override {
    ReadOn();  // the process may have room again
    std::string frames;
    const bool ended = outbox_->Take(frames);
    if (!frames.empty()) out.push_back(std::make_shared<const std::string>(std::move(frames)));
    return ended ? State::kEnd : State::kWait;
  }

  std::size_t Receive(std::string_view bytes) override {
    if (Full()) return 0;
    reader_.Add(bytes);
    ReadOn();
    return bytes.size();
  }

 private:
  // What the client says stays on its way, in the end with the client, while the process does not
  // read what it was told.
  bool Full() const { return session_ != nullptr && session_->Full(); }

  void ReadOn() {
    while (!Full()) {
      const auto message = reader_.Next();
      if (!message.ok()) {
        const bool too_long = message.status().code() == StatusCode::kOutOfRange;
        Refuse(too_long ? websocket::CloseCode::kTooLong : websocket::CloseCode::kProtocolError,
               std::string(message.status().message()));
        break;
      }
      if (!message->has_value()) break;
      Take(**message);
    }
  }

  void Take(const websocket::Message& message) {
    switch (message.opcode) {
      case websocket::Opcode::kPing:
        // A client that asks and does not read what is answered gets no more answers.
        return outbox_->Offer(websocket::FrameText(websocket::Opcode::kPong, message.payload));
      case websocket::Opcode::kPong:
        return;
      case websocket::Opcode::kClose:
        session_ = nullptr;
        return outbox_->End(websocket::FrameText(websocket::Opcode::kClose, message.payload));
      default:
        break;
    }
    const auto event = websocket::ReadChannel(message);
    if (!event.ok()) {
      return Refuse(websocket::CloseCode::kProtocolError, std::string(event.status().message()));
    }
    if (session_ == nullptr) return;
    switch (event->kind) {
      case websocket::ChannelEvent::Kind::kInput:
        if (request_.exec.stdin) session_->Write(event->bytes);
        return;
      case websocket::ChannelEvent::Kind::kEndOfInput:
        if (request_.exec.stdin && request_.can_close_channels) session_->CloseInput();
        return;
      case websocket::ChannelEvent::Kind::kResize:
        if (request_.exec.tty) session_->Resize(event->columns, event->rows);
        return;
      case websocket::ChannelEvent::Kind::kNothing:
        return;
    }
  }

  void Refuse(websocket::CloseCode code, std::string_view why) {
    session_ = nullptr;
    outbox_->End(websocket::CloseFrame(code, why));
  }

  container::Runtime& runtime_;
  const ProcessRequest request_;
  const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();
  std::shared_ptr<container::ExecSession> session_;
  websocket::FrameReader reader_;
};

}  // namespace

std::unique_ptr<apiserver::StreamSource> MakeProcessStream(container::Runtime& runtime,
                                                           ProcessRequest request) {
  return std::make_unique<ProcessStream>(runtime, std::move(request));
}

}  // namespace dray::streaming::internal
