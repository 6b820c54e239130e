// SPDX-License-Identifier: Apache-2.0
#include "testing/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace dray::testing {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void NoDelay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

TcpProxy::TcpProxy(std::uint16_t upstream) : upstream_(upstream) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener_, 128), 0);
  EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  EXPECT_EQ(::pipe2(wake_, O_CLOEXEC | O_NONBLOCK), 0);
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
  for (const Link& link : links_) {
    ::close(link.client);
    ::close(link.server);
  }
  ::close(listener_);
  ::close(wake_[0]);
  ::close(wake_[1]);
}

void TcpProxy::Wake() { EXPECT_EQ(::write(wake_[1], "x", 1), 1); }

void TcpProxy::SetRule(Rule rule) {
  const base::MutexLock lock(mutex_);
  rule_ = std::move(rule);
}

void TcpProxy::Doom(Fate fate) {
  {
    const base::MutexLock lock(mutex_);
    doom_ = fate;
  }
  Wake();
}

void TcpProxy::Meet(Fate fate) {
  for (Link& link : links_) {
    link.silent |= fate == Fate::kSilence;
    link.cut |= fate == Fate::kCut;
    link.frozen |= fate == Fate::kFreeze;
  }
}

void TcpProxy::Freeze() {
  const base::MutexLock lock(mutex_);
  frozen_ = true;
}

void TcpProxy::Thaw() {
  {
    const base::MutexLock lock(mutex_);
    frozen_ = false;
    thaw_ = true;
  }
  Wake();
}

void TcpProxy::Run() {
  for (;;) {
    bool frozen = false;
    bool thaw = false;
    {
      const base::MutexLock lock(mutex_);
      if (stopping_) return;
      frozen = frozen_;
      thaw = std::exchange(thaw_, false);
    }
    std::vector<pollfd> polled = {{.fd = wake_[0], .events = POLLIN},
                                  {.fd = listener_, .events = POLLIN}};
    for (Link& link : links_) {
      if (thaw && std::exchange(link.frozen, false)) {
        Send(link, link.server, std::exchange(link.held, {}));
      }
      // Whoever is not listened to is kept waiting, and so are ends of connections.
      const short events = frozen || link.frozen ? 0 : POLLIN;
      polled.push_back({.fd = events == 0 ? -1 : link.client, .events = events});
      polled.push_back({.fd = events == 0 ? -1 : link.server, .events = events});
    }
    // A freeze that comes while this waits holds for what comes then.
    if (::poll(polled.data(), polled.size(), 1'000) < 0 && errno != EINTR) return;
    std::array<char, 64> drained;
    while (::read(wake_[0], drained.data(), drained.size()) > 0) {
    }
    Fate doom = Fate::kForward;
    {
      const base::MutexLock lock(mutex_);
      if (frozen_ || thaw_) {
        if ((polled[1].revents & POLLIN) != 0) Accept();
        continue;
      }
      doom = std::exchange(doom_, Fate::kForward);
    }
    // It was said before the server said anything else.
    Meet(doom);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (polled[2 + 2 * i].revents != 0) FromClient(links_[i]);
      if (polled[3 + 2 * i].revents != 0 && !links_[i].frozen) FromServer(links_[i]);
    }
    std::erase_if(links_, [](const Link& link) {
      if (!link.over) return false;
      ::close(link.client);
      ::close(link.server);
      return true;
    });
    if ((polled[1].revents & POLLIN) != 0) Accept();
  }
}

void TcpProxy::Accept() {
  Link link;
  link.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  link.server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(upstream_);
  if (::connect(link.server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(link.client);
    ::close(link.server);
    return;
  }
  NoDelay(link.client);
  NoDelay(link.server);
  links_.push_back(std::move(link));
}

void TcpProxy::FromClient(Link& link) {
  std::array<char, 64 << 10> buffer;
  const ssize_t size = ::recv(link.client, buffer.data(), buffer.size(), 0);
  if (size <= 0) {
    link.over = true;
    return;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  Rule rule;
  {
    const base::MutexLock lock(mutex_);
    rule = rule_;
  }
  switch (rule ? rule(bytes) : Fate::kForward) {
    case Fate::kFreeze:
      link.frozen = true;
      link.held.append(bytes);
      return;
    case Fate::kSilence:
      link.silent = true;
      break;
    case Fate::kCut:
      link.cut = true;
      break;
    case Fate::kForward:
      break;
  }
  Send(link, link.server, bytes);
}

void TcpProxy::FromServer(Link& link) {
  std::array<char, 64 << 10> buffer;
  const ssize_t size = ::recv(link.server, buffer.data(), buffer.size(), 0);
  if (size <= 0 || link.cut) {
    link.over = !link.silent;
    return;
  }
  if (link.silent) return;
  Send(link, link.client, {buffer.data(), static_cast<std::size_t>(size)});
}

void TcpProxy::Send(Link& link, int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      link.over = true;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace dray::testing
