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
#include <memory>
#include <string>
#include <utility>

#include "files/files.h"
#include "fmt/format.h"
#include "rpc/health_check.h"

namespace dray::node {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::milliseconds kLook{200};

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
    return base::InvalidArgument(fmt::format("port {} is no port", target.port));
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
    if (context_ == nullptr) return base::Internal("TLS cannot be had");
    ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);
    ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    ssl_.reset(::SSL_new(context_.get()));
    if (ssl_ == nullptr || ::SSL_set_fd(ssl_.get(), fd_.get()) != 1) {
      return base::Internal("TLS cannot be had");
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
  if (!named) request += fmt::format("Host: {}:{}\r\n", probe.target.host, probe.target.port);
  if (!agent) request += "User-Agent: kube-probe/1.38\r\n";
  return request + "Accept: */*\r\nConnection: close\r\n\r\n";
}

StatusOr<int> AskHttp(Asking& asking, const HttpProbe& probe, const Limit& limit) {
  DRAY_ASSIGN_OR_RETURN(files::Fd fd, ConnectTo(asking, probe.target, limit));
  Talk talk(std::move(fd), limit);
  if (probe.tls) DRAY_RETURN_IF_ERROR(talk.BeginTls(probe.target.host));
  DRAY_RETURN_IF_ERROR(talk.Send(RequestOf(probe)));
  // The first line says it all.
  std::string answer;
  while (answer.find('\n') == std::string::npos && answer.size() < 4096) {
    DRAY_ASSIGN_OR_RETURN(const std::string more, talk.Receive());
    if (more.empty()) break;
    answer += more;
  }
  const std::size_t space = answer.find(' ');
  int code = 0;
  if (!answer.starts_with("HTTP/") || space == std::string::npos ||
      std::from_chars(answer.data() + space + 1, answer.data() + answer.size(), code).ec !=
          std::errc()) {
    return base::Unavailable("what answered does not speak HTTP");
  }
  return code;
}

class SocketProbeClient final : public ProbeClient {
 public:
  SocketProbeClient(Offload& offload, container::Runtime& runtime)
      : offload_(offload), asking_(std::make_shared<Asking>(runtime)) {}
  ~SocketProbeClient() override { asking_->stopping = true; }

  void Http(const HttpProbe& probe, std::chrono::nanoseconds timeout,
            std::function<void(StatusOr<int>)> done) override {
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
