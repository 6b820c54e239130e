// SPDX-License-Identifier: Apache-2.0
#include "container/internal/cri_stream.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "api/document.h"
#include "base/mutex.h"
#include "container/internal/json_nodes.h"
#include "fmt/format.h"
#include "spdy/frames.h"

namespace dray::container::internal {
namespace {

using spdy::FrameWriter;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long the server may take until a stream can be used; the same as it gives us.
constexpr std::chrono::seconds kBeginTime{30};
constexpr std::size_t kLongestHead = 16u << 10;
constexpr std::size_t kLongestStatus = 64u << 10;
constexpr std::size_t kMostHeld = 256u << 10;  // of what one side has said and the other not heard
// How long after the end of a stream on which nothing came the server may say what was wrong.
constexpr std::chrono::seconds kFaultTime{1};

Status Abandoned() {
  return base::MakeStatus(StatusCode::kCancelled, "the client of the command has gone");
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

// A connection that has become SPDY's. One thread; what it waits for, it waits for together with
// the end of interest.
class Connection {
 public:
  Connection(StreamInput& input, std::string_view what) : input_(input), what_(what) {}

  // `protocols` of the streams, in the words of Kubernetes.
  Status Open(const StreamUrl& url, std::string_view protocol,
              std::chrono::nanoseconds timeout = kBeginTime) {
    deadline_ = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(timeout);
    DRAY_RETURN_IF_ERROR(Connect(url));
    const bool bare = url.host.find(':') == std::string::npos;
    to_send_ = fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: dray\r\nContent-Length: 0\r\n"
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {}\r\n\r\n",
        url.target, bare ? url.host : fmt::format("[{}]", url.host), url.port, protocol);
    std::string head;
    while (true) {
      const std::size_t end = head.find("\r\n\r\n");
      if (end != head.npos) {
        if (head.starts_with("HTTP/1.1 101 ")) {
          reader_.Add(std::string_view(head).substr(end + 4));
          return {};
        }
        DRAY_RETURN_IF_ERROR(ReadRest(head));
        return Refused(head, end);
      }
      if (head.size() > kLongestHead) return Fault("answers without an end");
      DRAY_ASSIGN_OR_RETURN(const bool more, Exchange(head));
      if (!more) return Fault("ended the connection");
    }
  }

  // A stream of ours; it can be used when the server has agreed.
  std::uint32_t Begin(const spdy::Headers& headers) {
    const std::uint32_t stream = next_stream_;
    next_stream_ += 2;
    waiting_.insert(stream);
    to_send_ += writer_.SynStream(stream, headers);
    return stream;
  }
  void Send(std::uint32_t stream, std::string_view bytes, bool last = false) {
    to_send_ += FrameWriter::Data(stream, bytes, last);
  }
  bool ready() const { return waiting_.empty(); }

  // Input comes from this socket from now on, once the streams can be used; what Deliver is given
  // goes to it. While nobody reads there, nothing is read from the server.
  void Couple(const files::Fd& local) {
    local_ = local.get();
    (void)::fcntl(local_, F_SETFL, ::fcntl(local_, F_GETFL) | O_NONBLOCK);
  }
  void Deliver(std::string_view bytes) {
    delivered_any_ = delivered_any_ || !bytes.empty();
    to_local_ += bytes;
    Drain();
  }
  // Nothing more will be delivered.
  void EndDelivery() {
    delivered_ = true;
    Drain();
  }
  // The same when that time has passed, unless all of it is over before.
  void EndDeliveryAt(steady_clock::time_point time) { end_delivery_at_ = time; }
  bool delivered_any() const { return delivered_any_; }
  // Waits until what was delivered is taken. Not OK: nobody listens any more.
  Status Flush() {
    while (!to_local_.empty()) {
      pollfd polled[2] = {{input_.wake_fd(), POLLIN, 0}, {local_, POLLOUT, 0}};
      if (::poll(polled, 2, -1) < 0) continue;
      if (polled[0].revents != 0 && input_.Take().abandoned) return Abandoned();
      Drain();
    }
    return {};
  }

  // What the listener wants is held back until the streams can be used.
  StreamInput::Wanted TakeInput() {
    if (!ready()) return {};
    input_to_send_ += wanted_.bytes.size();
    return std::exchange(wanted_, {});
  }

  // The next thing that the server says, or nothing after something has happened here. None: the
  // connection has ended.
  StatusOr<std::optional<spdy::Frame>> Next(bool& ended) {
    ended = false;
    auto frame = reader_.Next();
    if (!frame.ok())
      return Fault(fmt::format("speaks nonsense: {}", base::Message(frame.status())));
    if (!frame->has_value()) {
      std::string bytes;
      DRAY_ASSIGN_OR_RETURN(const bool more, Exchange(bytes));
      reader_.Add(bytes);
      ended = !more;
      return std::nullopt;
    }
    switch ((*frame)->kind) {
      case spdy::Frame::Kind::kSynReply:
        waiting_.erase((*frame)->stream);
        if (ready()) deadline_.reset();
        break;
      case spdy::Frame::Kind::kReset:
        if (waiting_.contains((*frame)->stream)) return Fault("does not want a stream");
        break;
      case spdy::Frame::Kind::kPing:
        // The other side's are even.
        if ((*frame)->stream % 2 == 0) to_send_ += FrameWriter::Ping((*frame)->stream);
        break;
      default:
        break;
    }
    return frame;
  }

  Status Fault(std::string_view what) const {
    return base::Unavailable(fmt::format("the runtime's server for {} {}", what_, what));
  }

 private:
  Status Connect(const StreamUrl& url) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &wanted, &found);
    if (error != 0) {
      return Fault(fmt::format("has an address that leads nowhere: {}: {}", url.host,
                               ::gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
    int fault = ECONNREFUSED;
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
      socket_ = files::Fd(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                   one->ai_protocol));
      if (!socket_.valid()) {
        fault = errno;
        continue;
      }
      if (::connect(socket_.get(), one->ai_addr, one->ai_addrlen) == 0) return {};
      fault = errno;
      if (fault != EINPROGRESS) continue;
      pollfd polled{socket_.get(), POLLOUT, 0};
      const auto left = std::chrono::duration_cast<milliseconds>(*deadline_ - steady_clock::now());
      fault = ETIMEDOUT;
      if (::poll(&polled, 1, std::max(0, static_cast<int>(left.count()))) != 1) continue;
      socklen_t size = sizeof(fault);
      ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &fault, &size);
      if (fault == 0) return {};
    }
    return Fault(fmt::format("cannot be reached: {}", std::strerror(fault)));
  }

  // What it says besides a refusal: as long as it says that it is.
  Status ReadRest(std::string& head) {
    const std::size_t body = head.find("\r\n\r\n") + 4;
    std::size_t size = 0;
    constexpr std::string_view kLength = "\r\nContent-Length: ";
    if (const std::size_t at = head.find(kLength); at < body) {
      const char* from = head.data() + at + kLength.size();
      std::from_chars(from, head.data() + head.size(), size);
    }
    while (head.size() < body + std::min(size, kLongestHead)) {
      DRAY_ASSIGN_OR_RETURN(const bool more, Exchange(head));
      if (!more) break;
    }
    return {};
  }

  Status Refused(std::string_view head, std::size_t end) const {
    std::string_view text = head.substr(end + 4);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    return Fault(fmt::format("refuses: {}", text.empty() ? line : text));
  }

  // Waits for what comes first, sends what there is to send, appends what has come. False: nothing
  // will come any more. Not OK: nobody listens, or it takes too long.
  StatusOr<bool> Exchange(std::string& received) {
    const bool nothing_waits = wanted_.bytes.empty() && !wanted_.close;
    if (local_gone_ && to_send_.empty() && nothing_waits) return Abandoned();
    const bool full = to_local_.size() >= kMostHeld;
    short of_server = full ? 0 : POLLIN;
    if (!to_send_.empty()) of_server |= POLLOUT;
    short of_local = 0;
    if (ready() && !local_over_ && to_send_.size() < kMostHeld && nothing_waits) of_local |= POLLIN;
    if (!to_local_.empty()) of_local |= POLLOUT;
    const bool local_ends = local_gone_ || (local_over_ && delivered_ && to_local_.empty());
    // A descriptor of which nothing is wanted would go on telling that it has ended.
    pollfd polled[3] = {{input_.wake_fd(), POLLIN, 0},
                        {of_server == 0 ? -1 : socket_.get(), of_server, 0},
                        {local_ends || !ready() ? -1 : local_, of_local, 0}};
    int wait = -1;
    if (deadline_) {
      const auto left = std::chrono::duration_cast<milliseconds>(*deadline_ - steady_clock::now());
      if (left.count() <= 0) return Fault("does not answer");
      wait = static_cast<int>(left.count()) + 1;
    }
    if (end_delivery_at_) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(*end_delivery_at_ - steady_clock::now());
      const int until = std::max(0, static_cast<int>(left.count())) + 1;
      wait = wait < 0 ? until : std::min(wait, until);
    }
    if (::poll(polled, 3, wait) < 0) return true;
    if (end_delivery_at_ && steady_clock::now() >= *end_delivery_at_) {
      end_delivery_at_.reset();
      EndDelivery();
    }
    if (polled[2].revents != 0) TakeLocal(polled[2].revents);
    if (polled[0].revents != 0) {
      StreamInput::Wanted more = input_.Take();
      if (more.abandoned) return Abandoned();
      wanted_.bytes += more.bytes;
      wanted_.close = wanted_.close || more.close;
      if (more.size) wanted_.size = more.size;
    }
    while (!to_send_.empty()) {
      const ssize_t n = ::send(socket_.get(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) {
        // What it has said before that is still to be read.
        to_send_.clear();
        break;
      }
      to_send_.erase(0, static_cast<std::size_t>(n));
    }
    if (to_send_.empty()) input_.Consumed(std::exchange(input_to_send_, 0));
    if (full || (polled[1].revents & ~POLLOUT) == 0) return true;
    char buffer[32 * 1024];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    received.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  void TakeLocal(short events) {
    Drain();
    if ((events & POLLIN) != 0) {
      char buffer[32 * 1024];
      const ssize_t n = ::recv(local_, buffer, sizeof(buffer), 0);
      if (n > 0) {
        wanted_.bytes.append(buffer, static_cast<std::size_t>(n));
        return;  // there may be more
      }
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      wanted_.close = local_over_ = true;
    }
    // Closed, and not only for one direction. Where we have closed the other ourselves, the server has
    // the last word.
    if ((events & (POLLHUP | POLLERR)) != 0 && local_over_ && !delivered_) LoseLocal();
  }

  void LoseLocal() {
    local_gone_ = true;
    to_local_.clear();
  }

  void Drain() {
    while (!to_local_.empty()) {
      const ssize_t n = ::send(local_, to_local_.data(), to_local_.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0) return LoseLocal();
      to_local_.erase(0, static_cast<std::size_t>(n));
    }
    if (delivered_) (void)::shutdown(local_, SHUT_WR);
  }

  StreamInput& input_;
  const std::string what_;
  int local_ = -1;
  std::string to_local_;
  bool local_over_ = false;  // it says nothing more
  bool local_gone_ = false;
  bool delivered_ = false;
  bool delivered_any_ = false;
  std::optional<steady_clock::time_point> end_delivery_at_;
  files::Fd socket_;
  std::optional<steady_clock::time_point> deadline_;
  spdy::FrameReader reader_;
  FrameWriter writer_;
  std::uint32_t next_stream_ = 1;
  std::set<std::uint32_t> waiting_;
  std::string to_send_;
  std::size_t input_to_send_ = 0;  // bytes of input in it
  StreamInput::Wanted wanted_;
};

// Until both sides have closed it. `ready` is called when bytes can go. Not OK after that: what the
// server says of the port, or nobody listens any more (kCancelled).
Status RunForward(const CriForwardCall& call, StreamInput& input, const files::Fd& local,
                  const std::function<void()>& ready) {
  DRAY_ASSIGN_OR_RETURN(const StreamUrl url, ParseStreamUrl(call.url));
  Connection connection(input, "ports");
  connection.Couple(local);
  DRAY_RETURN_IF_ERROR(connection.Open(url, "portforward.k8s.io", call.timeout));
  const std::string number = fmt::format("{}", call.port);
  const auto begin = [&](const char* type) {
    return connection.Begin({{"streamtype", type}, {"port", number}, {"requestid", "0"}});
  };
  const std::uint32_t fault_stream = begin("error");
  const std::uint32_t data_stream = begin("data");
  std::string fault;
  bool fault_over = false;
  bool data_over = false;
  bool closed = false;
  bool told = false;
  while (!fault_over || !data_over) {
    if (connection.ready() && !std::exchange(told, true)) {
      connection.Send(fault_stream, "", true);
      ready();
    }
    const StreamInput::Wanted wanted = connection.TakeInput();
    if (!closed && (!wanted.bytes.empty() || wanted.close)) {
      connection.Send(data_stream, wanted.bytes, wanted.close);
      closed = wanted.close;
    }
    bool ended = false;
    DRAY_ASSIGN_OR_RETURN(auto frame, connection.Next(ended));
    if (ended) break;
    if (!frame) continue;
    if (frame->kind == spdy::Frame::Kind::kGoAway) break;
    const bool over = frame->last || frame->kind == spdy::Frame::Kind::kReset;
    if (frame->stream == fault_stream) {
      if (fault.size() < kLongestStatus) fault += frame->data;
      fault_over = fault_over || over;
    } else if (frame->stream == data_stream) {
      connection.Deliver(frame->data);
      data_over = data_over || over;
      if (!data_over || fault_over) continue;
      if (connection.delivered_any()) {
        // The pod says nothing more, but still listens.
        connection.EndDelivery();
      } else {
        // Perhaps it never did: containerd ends this stream first, and says why after that.
        connection.EndDeliveryAt(steady_clock::now() + kFaultTime);
      }
    }
  }
  if (!told) return connection.Fault("ended the connection");
  DRAY_RETURN_IF_ERROR(connection.Flush());
  return fault.empty() ? Status() : base::Unavailable(fault);
}

}  // namespace

StatusOr<StreamUrl> ParseStreamUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    return base::FailedPrecondition(
        "the runtime streams over TLS, which the agent does not speak to it: switch that off in "
        "the runtime (containerd: enable_tls_streaming, CRI-O: stream_enable_tls); its server "
        "should listen on localhost alone");
  }
  const auto broken = [&] {
    return base::FailedPrecondition(
        fmt::format("the runtime answers with an address that is none: \"{}\"", url));
  };
  if (!url.starts_with(kScheme)) return broken();
  std::string_view rest = url.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  StreamUrl parsed;
  parsed.target = slash == rest.npos ? "/" : rest.substr(slash);
  std::string_view place = rest.substr(0, slash);
  parsed.port = "80";
  const std::size_t colon = place.rfind(':');
  const std::size_t bracket = place.rfind(']');
  if (colon != place.npos && (bracket == place.npos || colon > bracket)) {
    parsed.port = place.substr(colon + 1);
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  parsed.host = place;
  const bool digits = std::ranges::all_of(parsed.port, [](char c) { return c >= '0' && c <= '9'; });
  const bool control =
      std::ranges::any_of(url, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  if (parsed.host.empty() || parsed.port.empty() || !digits || control) return broken();
  return parsed;
}

StatusOr<std::int32_t> ReadExit(std::string_view status) {
  std::vector<api::Diagnostic> faults;
  const api::DocumentNode root = api::ParseJson(std::string(status), faults);
  const std::string result = TextOf(Child(&root, "status"));
  if (!faults.empty() || result.empty()) {
    return base::Unavailable("the runtime has not said how the command ended");
  }
  if (result == "Success") return 0;
  if (const api::DocumentNode* causes = Child(Child(&root, "details"), "causes")) {
    for (const api::DocumentNode& cause : causes->items) {
      const std::string code = TextOf(Child(&cause, "message"));
      std::int32_t number = 0;
      const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), number);
      if (TextOf(Child(&cause, "reason")) == "ExitCode" && error == std::errc() &&
          end == code.data() + code.size()) {
        return number;
      }
    }
  }
  const std::string message = TextOf(Child(&root, "message"));
  return base::FailedPrecondition(message.empty() ? "the command could not be run" : message);
}

StatusOr<std::int32_t> RunCriStream(const CriStreamCall& call, StreamInput& input,
                                    const std::function<void(std::string)>& out,
                                    const std::function<void(std::string)>& err) {
  DRAY_ASSIGN_OR_RETURN(const StreamUrl url, ParseStreamUrl(call.url));
  Connection connection(input, "commands");
  DRAY_RETURN_IF_ERROR(connection.Open(url, "v4.channel.k8s.io"));
  const auto begin = [&](const char* type) { return connection.Begin({{"streamtype", type}}); };
  const std::uint32_t status_stream = begin("error");
  const std::uint32_t in_stream = call.stdin_open ? begin("stdin") : 0;
  const std::uint32_t out_stream = begin("stdout");
  // A terminal has one output, and a size.
  const std::uint32_t err_stream = call.tty ? 0 : begin("stderr");
  const std::uint32_t size_stream = call.tty ? begin("resize") : 0;
  std::string status;
  bool closed = false;
  while (true) {
    const StreamInput::Wanted wanted = connection.TakeInput();
    if (wanted.size && size_stream != 0) {
      connection.Send(size_stream, fmt::format(R"({{"Width":{},"Height":{}}})", wanted.size->first,
                                               wanted.size->second));
    }
    if (in_stream != 0 && !closed) {
      connection.Send(in_stream, wanted.bytes, wanted.close);
      closed = wanted.close;
    }
    bool ended = false;
    DRAY_ASSIGN_OR_RETURN(auto frame, connection.Next(ended));
    if (ended) break;
    if (!frame) continue;
    if (frame->kind == spdy::Frame::Kind::kGoAway) break;
    const bool of_status = frame->stream == status_stream;
    if (frame->kind == spdy::Frame::Kind::kReset && of_status) break;
    if (frame->kind != spdy::Frame::Kind::kData) continue;
    if (frame->stream == out_stream && out && !frame->data.empty()) out(std::move(frame->data));
    if (frame->stream == err_stream && err && !frame->data.empty()) err(std::move(frame->data));
    if (!of_status) continue;
    status += frame->data;
    if (status.size() > kLongestStatus) return connection.Fault("talks without an end");
    if (frame->last) break;
  }
  return ReadExit(status);
}

void ForwardPort(const CriForwardCall& call, StreamInput& input, const Done<PortConnection>& done) {
  struct Fault {
    base::Mutex mutex;
    std::string text ABSL_GUARDED_BY(mutex);
  };
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return done(files::Failed("make", "a pair of sockets", errno));
  }
  const files::Fd ours(pair[0]);
  files::Fd theirs(pair[1]);
  bool begun = false;
  const auto fault = std::make_shared<Fault>();
  const Status ended = RunForward(call, input, ours, [&] {
    begun = true;
    done(PortConnection{.socket = std::move(theirs), .fault = [fault] {
                          const base::MutexLock lock(fault->mutex);
                          return fault->text;
                        }});
  });
  if (!begun) return done(ended);
  // Before our end is closed: who sees that asks for this.
  const base::MutexLock lock(fault->mutex);
  if (!ended.ok()) fault->text = base::Message(ended);
}

}  // namespace dray::container::internal
