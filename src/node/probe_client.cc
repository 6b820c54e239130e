// SPDX-License-Identifier: Apache-2.0
#include "node/probe_client.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"
#include "rpc/health_check.h"

namespace dray::node {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::milliseconds kLook{200};
constexpr std::size_t kLongestHead = 16u << 10;
constexpr std::size_t kLongestBody = 10u << 10;
constexpr int kMostRequests = 10;

// What all questions of a client share: some are asked for hours, and end when the client does.
struct Asking {
  explicit Asking(container::Runtime& pods) : runtime(pods) {}
  container::Runtime& runtime;
  std::atomic<bool> stopping = false;
};

// Until when a question is asked.
struct Limit {
  const Asking& asking;
  SteadyTime until;
  bool over() const { return asking.stopping || std::chrono::steady_clock::now() >= until; }
};

// Whether the socket became ready before the time was over.
bool Wait(int fd, short events, const Limit& limit) {
  while (!limit.over()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        limit.until - std::chrono::steady_clock::now());
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const int ready =
        ::poll(&one, 1,
               static_cast<int>(std::min(left, kLook - std::chrono::milliseconds(1)).count()) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

StatusOr<files::Fd> Connect(const std::string& host, std::int32_t port, const Limit& until) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string service = fmt::to_string(port);
  if (const int error = ::getaddrinfo(host.c_str(), service.c_str(), &hints, &found); error != 0) {
    return base::Unavailable(fmt::format("dial tcp {}:{}: {}", host, port, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, &::freeaddrinfo);
  files::Fd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return base::Unavailable(std::strerror(errno));
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) {
    int error = errno;
    if (error == EINPROGRESS) {
      if (!Wait(fd.get(), POLLOUT, until)) {
        return base::Unavailable(fmt::format("dial tcp {}:{}: i/o timeout", host, port));
      }
      socklen_t size = sizeof(error);
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
      return base::Unavailable(fmt::format("dial tcp {}:{}: {}", host, port, std::strerror(error)));
    }
  }
  return fd;
}

// In the pod's own network.
StatusOr<files::Fd> ConnectInside(Asking& asking, const ProbeTarget& target, const Limit& limit) {
  using container::PortConnection;
  auto answer = std::make_shared<std::promise<StatusOr<PortConnection>>>();
  auto future = answer->get_future();
  const auto left = limit.until - std::chrono::steady_clock::now();
  asking.runtime.Connect(
      target.sandbox_id, static_cast<std::uint16_t>(target.port), left,
      [answer](StatusOr<PortConnection> made) { answer->set_value(std::move(made)); });
  while (future.wait_for(kLook) != std::future_status::ready) {
    if (limit.over()) {
      return base::Unavailable(
          fmt::format("dial tcp {}:{}: i/o timeout", target.host, target.port));
    }
  }
  auto made = future.get();
  if (!made.ok()) return made.status();
  if (made->fault) {
    // It may turn out that nobody listens there. Who does may speak first, or wait for us.
    const Limit moment{asking, std::min(limit.until, std::chrono::steady_clock::now() + kLook)};
    char first = 0;
    if (Wait(made->socket.get(), POLLIN, moment) &&
        ::recv(made->socket.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
      const std::string why = made->fault();
      return base::Unavailable(why.empty() ? "the connection was closed" : why);
    }
  }
  return std::move(made->socket);
}

StatusOr<files::Fd> ConnectTo(Asking& asking, const ProbeTarget& target, const Limit& limit) {
  if (target.port < 1 || target.port > 65535) {
    return base::InvalidArgument(fmt::format("{} is not a valid port", target.port));
  }
  if (!target.sandbox_id.empty()) return ConnectInside(asking, target, limit);
  return Connect(target.host, target.port, limit);
}

// A connection, with TLS or without. Whose certificate it is does not matter: what is asked for is
// whether somebody answers.
class Talk {
 public:
  Talk(files::Fd fd, const Limit& limit) : fd_(std::move(fd)), until_(limit) {}

  Status BeginTls(const std::string& host) {
    context_.reset(::SSL_CTX_new(::TLS_client_method()));
    if (context_ == nullptr) return base::Internal("TLS is not available");
    ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    ssl_.reset(::SSL_new(context_.get()));
    if (ssl_ == nullptr || ::SSL_set_fd(ssl_.get(), fd_.get()) != 1) {
      return base::Internal("TLS is not available");
    }
    in6_addr address{};
    if (::inet_pton(AF_INET, host.c_str(), &address) != 1 &&
        ::inet_pton(AF_INET6, host.c_str(), &address) != 1) {
      ::SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
    }
    for (;;) {
      ::ERR_clear_error();
      const int result = ::SSL_connect(ssl_.get());
      if (result == 1) return {};
      if (!WaitFor(::SSL_get_error(ssl_.get(), result))) {
        return base::Unavailable("TLS handshake failed or took too long");
      }
    }
  }

  Status Send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = 0;
      bool again = false;
      if (ssl_ != nullptr) {
        ::ERR_clear_error();
        sent = ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
        again = sent <= 0 && WaitFor(::SSL_get_error(ssl_.get(), static_cast<int>(sent)));
      } else {
        sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        again =
            sent < 0 && (errno == EINTR || (errno == EAGAIN && Wait(fd_.get(), POLLOUT, until_)));
      }
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (!again) {
        return base::Unavailable("the request could not be sent");
      }
    }
    return {};
  }

  // Nothing: the other end has ended it.
  StatusOr<std::string> Receive() {
    char buffer[512];
    for (;;) {
      ssize_t got = 0;
      bool again = false;
      if (ssl_ != nullptr) {
        ::ERR_clear_error();
        got = ::SSL_read(ssl_.get(), buffer, sizeof(buffer));
        const int error =
            got > 0 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), static_cast<int>(got));
        if (error == SSL_ERROR_ZERO_RETURN) return std::string();
        again = got <= 0 && WaitFor(error);
      } else {
        got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
        if (got == 0) return std::string();
        again = got < 0 && (errno == EINTR || (errno == EAGAIN && Wait(fd_.get(), POLLIN, until_)));
      }
      if (got > 0) return std::string(buffer, static_cast<std::size_t>(got));
      if (!again) {
        return base::Unavailable(
            "context deadline exceeded (timeout while awaiting the response headers)");
      }
    }
  }

 private:
  struct FreeTls {
    void operator()(SSL* ssl) const { ::SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  };
  // Whether what TLS waits for came in time.
  bool WaitFor(int error) {
    if (error == SSL_ERROR_WANT_READ) return Wait(fd_.get(), POLLIN, until_);
    if (error == SSL_ERROR_WANT_WRITE) return Wait(fd_.get(), POLLOUT, until_);
    return false;
  }

  files::Fd fd_;
  const Limit until_;
  std::unique_ptr<SSL_CTX, FreeTls> context_;
  std::unique_ptr<SSL, FreeTls> ssl_;
};

// A host as it stands in a URL.
std::string Bracketed(const std::string& host) {
  return host.find(':') == host.npos ? host : fmt::format("[{}]", host);
}

std::string RequestOf(const HttpProbe& probe) {
  std::string request =
      fmt::format("GET {}{} HTTP/1.1\r\n", probe.path.starts_with('/') ? "" : "/", probe.path);
  bool named = false;
  bool agent = false;
  for (const auto& [name, value] : probe.headers) {
    named = named || ::strcasecmp(name.c_str(), "host") == 0;
    agent = agent || ::strcasecmp(name.c_str(), "user-agent") == 0;
    request += fmt::format("{}: {}\r\n", name, value);
  }
  if (!named) {
    request += fmt::format("Host: {}:{}\r\n", Bracketed(probe.target.host), probe.target.port);
  }
  if (!agent) request += "User-Agent: kube-probe/1.38\r\n";
  return request + "Accept: */*\r\nConnection: close\r\n\r\n";
}

// The value of a header in the head of an answer; empty: there is none.
std::string HeaderIn(std::string_view head, std::string_view name) {
  for (std::size_t line = head.find('\n'); line != head.npos; line = head.find('\n', line + 1)) {
    std::string_view rest = head.substr(line + 1);
    if (rest.size() <= name.size() || rest[name.size()] != ':' ||
        ::strncasecmp(rest.data(), name.data(), name.size()) != 0) {
      continue;
    }
    rest = rest.substr(name.size() + 1, rest.find_first_of("\r\n", name.size()) - name.size() - 1);
    while (rest.starts_with(' ') || rest.starts_with('\t')) rest.remove_prefix(1);
    while (rest.ends_with(' ') || rest.ends_with('\t')) rest.remove_suffix(1);
    return std::string(rest);
  }
  return "";
}

// Without its "." and "..", which a path relative to another may have; `path` begins with a slash.
std::string Straight(std::string_view path) {
  const std::size_t end = std::min(path.find_first_of("?#"), path.size());
  const std::string_view rest = path.substr(end);
  std::vector<std::string_view> parts;
  for (std::size_t at = 1; at <= end;) {
    const std::size_t slash = std::min(path.substr(0, end).find('/', at), end);
    const std::string_view part = path.substr(at, slash - at);
    const bool last = slash == end;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
      if (last) parts.emplace_back();
    } else if (part != "." || last) {
      parts.push_back(part == "." ? std::string_view() : part);
    }
    at = slash + 1;
  }
  std::string straight;
  for (const std::string_view part : parts) straight += fmt::format("/{}", part);
  return (straight.empty() ? "/" : straight) + std::string(rest);
}

// Where an answer sends somebody who has asked at `from`.
StatusOr<HttpProbe> RedirectOf(const HttpProbe& from, std::string_view location) {
  const auto broken = [&] {
    return base::Unavailable(
        fmt::format("failed to parse Location header \"{}\"", location.substr(0, 256)));
  };
  if (location.size() > kLongestHead || std::ranges::any_of(location, [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
      })) {
    return broken();
  }
  HttpProbe to = from;
  std::string_view rest = location.substr(0, location.find('#'));
  bool has_host = false;
  for (const bool tls : {false, true}) {
    const std::string_view scheme = tls ? "https://" : "http://";
    if (rest.size() < scheme.size() ||
        ::strncasecmp(rest.data(), scheme.data(), scheme.size()) != 0) {
      continue;
    }
    to.tls = tls;
    rest.remove_prefix(scheme.size());
    has_host = true;
  }
  if (!has_host && rest.starts_with("//")) {
    rest.remove_prefix(2);
    has_host = true;
  }
  if (!has_host) {
    const std::size_t colon = rest.find(':');
    if (colon != rest.npos && colon < rest.find_first_of("/?")) return broken();
    const std::string_view here =
        std::string_view(from.path).substr(0, from.path.find_first_of("?#"));
    if (rest.starts_with('/')) {
      to.path = rest;
    } else if (rest.empty() || rest.starts_with('?')) {
      to.path = fmt::format("{}{}", here, rest);
    } else {
      const std::size_t slash = here.rfind('/');
      to.path =
          Straight(fmt::format("{}{}", slash == here.npos ? "/" : here.substr(0, slash + 1), rest));
    }
    return to;
  }
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view place = rest.substr(0, end);
  to.path = rest.substr(end);
  if (!to.path.starts_with('/')) to.path.insert(0, "/");
  if (const std::size_t at = place.rfind('@'); at != place.npos) place.remove_prefix(at + 1);
  to.target.port = to.tls ? 443 : 80;
  const std::size_t colon = place.rfind(':');
  const std::size_t bracket = place.rfind(']');
  if (colon != place.npos && (bracket == place.npos || colon > bracket)) {
    const std::string_view port = place.substr(colon + 1);
    const char* last = port.data() + port.size();
    const auto read = std::from_chars(port.data(), last, to.target.port);
    if (read.ec != std::errc() || read.ptr != last) return broken();
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  to.target.host = place;
  return to;
}

// One answer: its status, and of one that sends elsewhere all that is needed.
struct OneAnswer {
  int code = 0;
  std::string location;
  std::string body;
};

StatusOr<OneAnswer> AskOnce(Asking& asking, const HttpProbe& probe, const Limit& limit) {
  DRAY_ASSIGN_OR_RETURN(files::Fd fd, ConnectTo(asking, probe.target, limit));
  Talk talk(std::move(fd), limit);
  if (probe.tls) DRAY_RETURN_IF_ERROR(talk.BeginTls(probe.target.host));
  DRAY_RETURN_IF_ERROR(talk.Send(RequestOf(probe)));
  // The first line says it all, mostly.
  std::string answer;
  while (answer.find('\n') == std::string::npos && answer.size() < 4096) {
    DRAY_ASSIGN_OR_RETURN(const std::string more, talk.Receive());
    if (more.empty()) break;
    answer += more;
  }
  const std::size_t space = answer.find(' ');
  OneAnswer read;
  if (!answer.starts_with("HTTP/") || space == std::string::npos ||
      std::from_chars(answer.data() + space + 1, answer.data() + answer.size(), read.code).ec !=
          std::errc()) {
    return base::Unavailable("the response is not HTTP");
  }
  if (read.code < 300 || read.code >= 400) return read;
  std::size_t end = std::string::npos;
  while ((end = answer.find("\r\n\r\n")) == std::string::npos && answer.size() < kLongestHead) {
    DRAY_ASSIGN_OR_RETURN(const std::string more, talk.Receive());
    if (more.empty()) break;
    answer += more;
  }
  const std::string_view head = std::string_view(answer).substr(0, end);
  read.location = HeaderIn(head, "Location");
  if (end == std::string::npos) return read;
  std::size_t length = kLongestBody;
  if (const std::string text = HeaderIn(head, "Content-Length"); !text.empty()) {
    std::from_chars(text.data(), text.data() + text.size(), length);
    length = std::min(length, kLongestBody);
  }
  read.body = answer.substr(end + 4);
  while (read.body.size() < length) {
    const auto more = talk.Receive();
    if (!more.ok() || more->empty()) break;  // it is only for people
    read.body += *more;
  }
  read.body.resize(std::min(read.body.size(), length));
  return read;
}

// As a kubelet does: who sends elsewhere on the same host is followed, a few times; another host is
// nobody's business here.
StatusOr<HttpAnswer> AskHttp(Asking& asking, const HttpProbe& probe, const Limit& limit) {
  HttpProbe at = probe;
  for (int requests = 1;; ++requests) {
    DRAY_ASSIGN_OR_RETURN(OneAnswer answer, AskOnce(asking, at, limit));
    constexpr int kFollowed[] = {301, 302, 303, 307, 308};
    if (answer.location.empty() ||
        std::ranges::find(kFollowed, answer.code) == std::end(kFollowed)) {
      return HttpAnswer{.code = answer.code, .body = std::move(answer.body)};
    }
    DRAY_ASSIGN_OR_RETURN(const HttpProbe next, RedirectOf(at, answer.location));
    if (next.target.host != probe.target.host) {
      return HttpAnswer{.code = answer.code, .body = std::move(answer.body)};
    }
    if (requests >= kMostRequests) return base::Unavailable("stopped after 10 redirects");
    at = next;
  }
}

class SocketProbeClient final : public ProbeClient {
 public:
  SocketProbeClient(Offload& offload, container::Runtime& runtime)
      : offload_(offload), asking_(std::make_shared<Asking>(runtime)) {}
  ~SocketProbeClient() override { asking_->stopping = true; }

  void Http(const HttpProbe& probe, std::chrono::nanoseconds timeout,
            std::function<void(StatusOr<HttpAnswer>)> done) override {
    offload_.Do([asking = asking_, probe, timeout, done = std::move(done)] {
      done(AskHttp(*asking, probe, {*asking, std::chrono::steady_clock::now() + timeout}));
    });
  }
  void Tcp(const ProbeTarget& target, std::chrono::nanoseconds timeout,
           std::function<void(Status)> done) override {
    offload_.Do([asking = asking_, target, timeout, done = std::move(done)] {
      done(ConnectTo(*asking, target, {*asking, std::chrono::steady_clock::now() + timeout})
               .status());
    });
  }
  void Grpc(const GrpcProbe& probe, std::chrono::nanoseconds timeout,
            std::function<void(Status)> done) override {
    offload_.Do([asking = asking_, probe, timeout, done = std::move(done)] {
      auto fd =
          ConnectTo(*asking, probe.target, {*asking, std::chrono::steady_clock::now() + timeout});
      if (!fd.ok()) return done(fd.status());
      done(rpc::CheckHealth(fd->Release(), probe.service, timeout, &asking->stopping));
    });
  }

 private:
  Offload& offload_;
  const std::shared_ptr<Asking> asking_;
};

}  // namespace

std::unique_ptr<ProbeClient> MakeProbeClient(Offload& offload, container::Runtime& runtime) {
  return std::make_unique<SocketProbeClient>(offload, runtime);
}

}  // namespace dray::node
