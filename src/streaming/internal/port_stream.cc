// SPDX-License-Identifier: Apache-2.0
#include "streaming/internal/port_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "files/files.h"
#include "fmt/format.h"
#include "spdy/frames.h"
#include "websocket/frames.h"

namespace dray::streaming::internal {
namespace {

constexpr std::chrono::seconds kConnectTime{30};
constexpr std::size_t kReadSize = 32u << 10;

// One connection to a port: what the two streams of a request are about.
struct Forwarded {
  std::uint16_t port = 0;
  std::uint32_t error_stream = 0;  // 0: has not begun
  std::uint32_t data_stream = 0;
  bool asked = false;  // to be connected
  files::Fd socket;    // invalid: not yet, or not any more
  std::function<std::string()> fault;
  std::string to_pod;        // what the pod has not taken
  bool client_done = false;  // will say nothing more
  bool pod_done = false;
  bool shut = false;  // the pod was told that the client is done
};

// Shared by the connection, the thread that looks after sockets, and those that connect. Thread-safe.
class Ports : public std::enable_shared_from_this<Ports> {
 public:
  Ports(container::Runtime& runtime, PortRequest request)
      : runtime_(runtime),
        request_(std::move(request)),
        event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Begin(std::function<void()> wake) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    wake_ = std::move(wake);
  }

  // How many bytes were taken; none while pods do not read.
  std::size_t Receive(std::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<ToConnect> connects;
    {
      const base::MutexLock lock(mutex_);
      if (ended_) return bytes.size();
      if (to_pods_ >= kMostForwardedBytes) {
        starved_ = true;
        return 0;
      }
      if (request_.websocket) {
        TakeMessages(bytes);
      } else {
        TakeFrames(bytes);
      }
      connects.swap(connects_);
    }
    // Does not wait, but may be answered at once, and from any thread: so not under the lock.
    for (const ToConnect& one : connects) {
      runtime_.Connect(request_.sandbox_id, one.port, kConnectTime,
                       [weak = weak_from_this(), key = one.key,
                        stream = one.stream](StatusOr<container::PortConnection> made) {
                         if (const auto self = weak.lock()) {
                           self->Connected(key, stream, std::move(made));
                         }
                       });
    }
    Tell();
    return bytes.size();
  }

  // What was said; true: that was all.
  bool Take(std::string& bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool ended = false;
    {
      const base::MutexLock lock(mutex_);
      bytes = std::exchange(out_, {});
      ended = ended_;
    }
    Poke();  // there is room
    return ended;
  }

  // The client is gone.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const base::MutexLock lock(mutex_);
      ended_ = true;
      wake_ = nullptr;
      forwarded_.clear();
      to_pods_ = 0;
    }
    Poke();
  }

  // Looks after sockets until the end.
  void Run() {
    std::vector<pollfd> polled;
    std::vector<std::string> keys;
    while (Collect(polled, keys)) {
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
      std::uint64_t count = 0;
      (void)!::read(event_.get(), &count, sizeof(count));
      {
        const base::MutexLock lock(mutex_);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          const auto one = forwarded_.find(keys[i]);
          // Somebody else may be there by now, with the same number.
          if (one == forwarded_.end() || one->second.socket.get() != polled[i + 1].fd) continue;
          Serve(one->second, polled[i + 1].revents);
          if (IsOver(one->second)) Finish(one, FaultOf(one->second));
        }
      }
      Tell();
    }
  }

 private:
  using Table = std::map<std::string, Forwarded>;  // by request
  struct ToConnect {
    std::string key;
    std::uint32_t stream = 0;
    std::uint16_t port = 0;
  };

  void Poke() {
    const std::uint64_t one = 1;
    (void)!::write(event_.get(), &one, sizeof(one));
  }
  // Has the connection look, and the thread.
  void Tell() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex_);
      const bool roomy = starved_ && to_pods_ < kMostForwardedBytes / 2;
      if (roomy) starved_ = false;
      if (!out_.empty() || ended_ || roomy) wake = wake_;
    }
    if (wake) wake();
    Poke();
  }

  // What to wait for; false: nothing, ever.
  bool Collect(std::vector<pollfd>& polled, std::vector<std::string>& keys)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    if (ended_) return false;
    polled = {{.fd = event_.get(), .events = POLLIN, .revents = 0}};
    keys.clear();
    for (const auto& [key, one] : forwarded_) {
      if (!one.socket.valid()) continue;
      short events = 0;
      if (!one.pod_done && out_.size() < kMostForwardedBytes) events |= POLLIN;
      if (!one.to_pod.empty() || (one.client_done && !one.shut)) events |= POLLOUT;
      // Nothing to wait for: but that it breaks is always told, without end.
      if (events == 0) continue;
      polled.push_back({.fd = one.socket.get(), .events = events, .revents = 0});
      keys.push_back(key);
    }
    return true;
  }

  void Serve(Forwarded& one, short events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if ((events & POLLOUT) != 0) Drain(one);
    if ((events & (POLLIN | POLLHUP | POLLERR)) == 0 || one.pod_done || !one.socket.valid()) return;
    if (out_.size() >= kMostForwardedBytes) return;
    char buffer[kReadSize];
    const ssize_t got = ::recv(one.socket.get(), buffer, sizeof(buffer), 0);
    if (got > 0) {
      Say(spdy::FrameWriter::Data(one.data_stream, {buffer, static_cast<std::size_t>(got)}));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      EndOfPod(one);
    }
  }

  void Drain(Forwarded& one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!one.to_pod.empty()) {
      const ssize_t sent =
          ::send(one.socket.get(), one.to_pod.data(), one.to_pod.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) {
        // Nobody reads there any more.
        to_pods_ -= one.to_pod.size();
        one.to_pod.clear();
        one.client_done = one.shut = true;
        return;
      }
      to_pods_ -= static_cast<std::size_t>(sent);
      one.to_pod.erase(0, static_cast<std::size_t>(sent));
    }
    if (one.client_done && !one.shut) {
      (void)::shutdown(one.socket.get(), SHUT_WR);
      one.shut = true;
    }
  }

  void EndOfPod(Forwarded& one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(one.pod_done, true)) return;
    Say(spdy::FrameWriter::Data(one.data_stream, "", /*last=*/true));
  }
  // A pod that nobody could connect to will not listen either, whatever the client has to say.
  static bool IsOver(const Forwarded& one) {
    return one.pod_done && (one.shut || (one.fault && !one.fault().empty()));
  }
  std::string Explain(const Forwarded& one, std::string_view why) const {
    return fmt::format("error forwarding port {} to pod {}: {}", one.port, request_.pod, why);
  }
  std::string FaultOf(const Forwarded& one) const {
    const std::string why = one.fault ? one.fault() : std::string();
    return why.empty() ? why : Explain(one, why);
  }

  // Both streams end; `why`: what the client is told.
  void Finish(Table::iterator at, std::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Forwarded& one = at->second;
    if (one.data_stream != 0) EndOfPod(one);
    if (one.error_stream != 0) {
      Say(spdy::FrameWriter::Data(one.error_stream, why, /*last=*/true));
    }
    Forget(at);
  }
  void Forget(Table::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    to_pods_ -= at->second.to_pod.size();
    requests_.erase(at->second.error_stream);
    requests_.erase(at->second.data_stream);
    forwarded_.erase(at);
  }

  void Say(std::string_view frames) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (frames.empty() || ended_) return;
    if (request_.websocket) {
      out_ += websocket::FrameText(websocket::Opcode::kBinary, frames);
    } else {
      out_ += frames;
    }
  }
  // The connection is over.
  void End(std::string_view last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (ended_) return;
    out_ += last;
    ended_ = true;
    forwarded_.clear();
    requests_.clear();
    to_pods_ = 0;
  }
  void Refuse(const Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Say(spdy::FrameWriter::GoAway(last_stream_));
    const bool too_long = why.code() == StatusCode::kOutOfRange;
    End(request_.websocket ? websocket::CloseFrame(too_long ? websocket::CloseCode::kTooLong
                                                            : websocket::CloseCode::kProtocolError,
                                                   base::Message(why))
                           : std::string());
  }

  void TakeMessages(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    messages_.Add(bytes);
    while (!ended_) {
      const auto message = messages_.Next();
      if (!message.ok()) return Refuse(message.status());
      if (!message->has_value()) return;
      const websocket::Message& one = **message;
      switch (one.opcode) {
        case websocket::Opcode::kPing:
          if (out_.size() < kMostForwardedBytes) {
            out_ += websocket::FrameText(websocket::Opcode::kPong, one.payload);
          }
          break;
        case websocket::Opcode::kPong:
          break;
        case websocket::Opcode::kClose:
          return End(websocket::FrameText(websocket::Opcode::kClose, one.payload));
        default:
          TakeFrames(one.payload);
      }
    }
  }

  void TakeFrames(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    frames_.Add(bytes);
    while (!ended_) {
      const auto frame = frames_.Next();
      if (!frame.ok()) return Refuse(frame.status());
      if (!frame->has_value()) return;
      TakeFrame(**frame);
    }
  }

  void TakeFrame(const spdy::Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    using Kind = spdy::Frame::Kind;
    switch (frame.kind) {
      case Kind::kSynStream:
        return BeginStream(frame);
      case Kind::kData:
        return TakeData(frame);
      case Kind::kReset:
        return Abandon(frame.stream);
      case Kind::kPing:
        // A client's have odd numbers, and are sent back; who asks without reading gets no answer.
        if (frame.stream % 2 == 1 && out_.size() < kMostForwardedBytes) {
          Say(spdy::FrameWriter::Ping(frame.stream));
        }
        return;
      case Kind::kGoAway:
        if (forwarded_.empty()) End("");
        return;
      default:
        return;
    }
  }

  // Whichever of the two it is, the client has lost interest; it waits for the end of the other.
  void Abandon(std::uint32_t stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto request = requests_.find(stream);
    if (request == requests_.end()) return;
    const auto found = forwarded_.find(request->second);
    requests_.erase(request);
    if (found == forwarded_.end()) return;
    Forwarded& one = found->second;
    (stream == one.data_stream ? one.data_stream : one.error_stream) = 0;
    Finish(found, "");
  }

  void Reject(std::uint32_t stream, spdy::ResetCode code) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (out_.size() < kMostForwardedBytes) Say(spdy::FrameWriter::Reset(stream, code));
  }

  void BeginStream(const spdy::Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // A client's streams are odd, and come in order.
    if (frame.stream % 2 == 0 || frame.stream <= last_stream_) {
      return Refuse(base::InvalidArgument("a stream has a number that it cannot have"));
    }
    last_stream_ = frame.stream;
    const std::string_view type = spdy::Find(frame.headers, "streamtype");
    const std::string_view port_text = spdy::Find(frame.headers, "port");
    const std::string_view request = spdy::Find(frame.headers, "requestid");
    std::uint16_t port = 0;
    const auto read = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    const bool is_port =
        read.ec == std::errc() && read.ptr == port_text.data() + port_text.size() && port > 0;
    if (!is_port || (type != "error" && type != "data") || out_.size() >= kMostForwardedBytes) {
      return Reject(frame.stream, spdy::ResetCode::kRefusedStream);
    }
    // Clients before 1.7 gave no number; then two of a port belong together.
    const std::string key = request.empty() ? fmt::format("port {}", port) : std::string(request);
    auto found = forwarded_.find(key);
    if (found == forwarded_.end()) {
      if (forwarded_.size() >= kMostForwarded) {
        return Reject(frame.stream, spdy::ResetCode::kRefusedStream);
      }
      found = forwarded_.emplace(key, Forwarded()).first;
      found->second.port = port;
    }
    Forwarded& one = found->second;
    std::uint32_t& place = type == "error" ? one.error_stream : one.data_stream;
    if (place != 0 || one.port != port) {
      return Reject(frame.stream, spdy::ResetCode::kProtocolError);
    }
    place = frame.stream;
    requests_[frame.stream] = key;
    Say(writer_.SynReply(frame.stream));
    if (type == "data" && frame.last) one.client_done = true;
    if (one.error_stream != 0 && one.data_stream != 0 && !one.asked) {
      one.asked = true;
      connects_.push_back({.key = key, .stream = one.data_stream, .port = port});
    }
  }

  void TakeData(const spdy::Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto request = requests_.find(frame.stream);
    if (request == requests_.end()) return;  // on its way when we ended it
    const auto found = forwarded_.find(request->second);
    if (found == forwarded_.end()) return;
    Forwarded& one = found->second;
    if (frame.stream != one.data_stream) return;  // nothing is said of errors by a client
    if (!one.client_done && !one.shut) {
      one.to_pod += frame.data;
      to_pods_ += frame.data.size();
    }
    if (frame.last) one.client_done = true;
  }

  void Connected(const std::string& key, std::uint32_t stream,
                 StatusOr<container::PortConnection> made) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const base::MutexLock lock(mutex_);
      const auto found = forwarded_.find(key);
      if (found == forwarded_.end() || found->second.data_stream != stream) return;
      if (made.ok()) {
        const int socket = made->socket.get();
        (void)::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
        found->second.socket = std::move(made->socket);
        found->second.fault = std::move(made->fault);
      } else {
        Finish(found, Explain(found->second, base::Message(made.status())));
      }
    }
    Tell();
  }

  container::Runtime& runtime_;
  const PortRequest request_;
  const files::Fd event_;
  base::Mutex mutex_;
  websocket::FrameReader messages_ ABSL_GUARDED_BY(mutex_);
  spdy::FrameReader frames_ ABSL_GUARDED_BY(mutex_);
  spdy::FrameWriter writer_ ABSL_GUARDED_BY(mutex_);
  Table forwarded_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::string> requests_ ABSL_GUARDED_BY(mutex_);  // by stream
  std::uint32_t last_stream_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t to_pods_ ABSL_GUARDED_BY(mutex_) = 0;  // of all
  std::string out_ ABSL_GUARDED_BY(mutex_);
  bool starved_ ABSL_GUARDED_BY(mutex_) = false;  // bytes were not taken
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<ToConnect> connects_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
};

class PortStream final : public apiserver::StreamSource {
 public:
  PortStream(container::Runtime& runtime, PortRequest request)
      : ports_(std::make_shared<Ports>(runtime, std::move(request))) {}
  ~PortStream() override {
    ports_->Close();
    if (thread_.joinable()) thread_.join();
  }

  void Start(std::function<void()> wake) override {
    ports_->Begin(std::move(wake));
    thread_ = std::thread([ports = ports_] { ports->Run(); });
  }
  State Pull(std::vector<apiserver::Bytes>& out) override {
    std::string bytes;
    const bool ended = ports_->Take(bytes);
    if (!bytes.empty()) out.push_back(std::make_shared<const std::string>(std::move(bytes)));
    return ended ? State::kEnd : State::kWait;
  }
  std::size_t Receive(std::string_view bytes) override { return ports_->Receive(bytes); }

 private:
  const std::shared_ptr<Ports> ports_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<apiserver::StreamSource> MakePortStream(container::Runtime& runtime,
                                                        PortRequest request) {
  return std::make_unique<PortStream>(runtime, std::move(request));
}

}  // namespace dray::streaming::internal
