// SPDX-License-Identifier: Apache-2.0
#include "node/probe_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Whether the socket became ready before the time was over.
bool Wait(int fd, short events, SteadyTime until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left.count()) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

StatusOr<files::Fd> Connect(const std::string& host, std::int32_t port, SteadyTime until) {
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

StatusOr<int> AskHttp(const HttpProbe& probe, SteadyTime until) {
  DRAY_ASSIGN_OR_RETURN(const files::Fd fd, Connect(probe.host, probe.port, until));
  std::string request =
      fmt::format("GET {}{} HTTP/1.1\r\n", probe.path.starts_with('/') ? "" : "/", probe.path);
  bool named = false;
  bool agent = false;
  for (const auto& [name, value] : probe.headers) {
    named = named || ::strcasecmp(name.c_str(), "host") == 0;
    agent = agent || ::strcasecmp(name.c_str(), "user-agent") == 0;
    request += fmt::format("{}: {}\r\n", name, value);
  }
  if (!named) request += fmt::format("Host: {}:{}\r\n", probe.host, probe.port);
  if (!agent) request += "User-Agent: kube-probe/1.38\r\n";
  request += "Accept: */*\r\nConnection: close\r\n\r\n";
  std::string_view rest = request;
  while (!rest.empty()) {
    const ssize_t sent = ::send(fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR && (errno != EAGAIN || !Wait(fd.get(), POLLOUT, until))) {
      return base::Unavailable("the request could not be sent");
    }
  }
  // The first line says it all.
  std::string answer;
  char buffer[512];
  while (answer.find('\n') == std::string::npos && answer.size() < 4096) {
    const ssize_t got = ::recv(fd.get(), buffer, sizeof(buffer), 0);
    if (got > 0) {
      answer.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0) {
      break;
    } else if (errno != EINTR && (errno != EAGAIN || !Wait(fd.get(), POLLIN, until))) {
      return base::Unavailable(
          "context deadline exceeded (timeout while awaiting the response headers)");
    }
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
  explicit SocketProbeClient(Offload& offload) : offload_(offload) {}

  void Http(const HttpProbe& probe, std::chrono::nanoseconds timeout,
            std::function<void(StatusOr<int>)> done) override {
    offload_.Do([probe, timeout, done = std::move(done)] {
      done(AskHttp(probe, std::chrono::steady_clock::now() + timeout));
    });
  }
  void Tcp(const std::string& host, std::int32_t port, std::chrono::nanoseconds timeout,
           std::function<void(Status)> done) override {
    offload_.Do([host, port, timeout, done = std::move(done)] {
      done(Connect(host, port, std::chrono::steady_clock::now() + timeout).status());
    });
  }

 private:
  Offload& offload_;
};

}  // namespace

std::unique_ptr<ProbeClient> MakeProbeClient(Offload& offload) {
  return std::make_unique<SocketProbeClient>(offload);
}

}  // namespace dray::node
