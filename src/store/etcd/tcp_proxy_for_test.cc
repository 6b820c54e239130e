// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/tcp_proxy_for_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "fmt/format.h"
#include "store/etcd/etcd_for_test.h"

namespace dray::store {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void NoDelay(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

struct TcpProxy::Connection {
  int client = -1;
  int server = -1;
  std::atomic<bool> over = false;
  ~Connection() {
    ::close(client);
    ::close(server);
  }
  void End() {
    over = true;
    ::shutdown(client, SHUT_RDWR);
    ::shutdown(server, SHUT_RDWR);
  }
};

TcpProxy::TcpProxy(std::string target) : target_(std::move(target)), port_(FreePort()) {
  address_ = "127.0.0.1:" + std::to_string(port_);
  EXPECT_TRUE(Listen()) << address_;
  accepting_ = std::thread([this] { Accept(); });
}

TcpProxy::~TcpProxy() {
  stopping_ = true;
  Cut();
  accepting_.join();
  Cut();
  std::vector<std::thread> pumps;
  {
    const base::MutexLock lock(mutex_);
    pumps.swap(pumps_);
  }
  for (std::thread& pump : pumps) pump.join();
}

bool TcpProxy::Listen() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in address = Loopback(port_);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener, 64) != 0) {
    ::close(listener);
    return false;
  }
  const base::MutexLock lock(mutex_);
  listener_ = listener;
  return true;
}

void TcpProxy::Refuse(bool refuse) {
  if (!refuse) {
    EXPECT_TRUE(Eventually([this] { return Listen(); })) << address_ << " is not to be had again";
    return;
  }
  const base::MutexLock lock(mutex_);
  // Nobody gets in any more. Whoever waits at it closes it: its number must not be another's meanwhile.
  ::shutdown(std::exchange(listener_, -1), SHUT_RDWR);
}

void TcpProxy::Cut() {
  const base::MutexLock lock(mutex_);
  for (const auto& connection : connections_) connection->End();
  connections_.clear();
}

std::size_t TcpProxy::connections() const {
  const base::MutexLock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const auto& one) { return !one->over; }));
}

bool TcpProxy::AwaitNoticed() const {
  // Lines of /proc: number, local and remote address:port, state; hexadecimal. A client that has read the
  // end and not closed yet is in state 8, one that has not read it in 1.
  const std::string to = fmt::format(":{:04X}", port_);
  return Eventually([&] {
    std::ifstream sockets("/proc/self/net/tcp");
    std::string line;
    while (std::getline(sockets, line)) {
      std::istringstream words(line);
      std::string number;
      std::string local;
      std::string remote;
      std::string state;
      words >> number >> local >> remote >> state;
      if (remote.ends_with(to) && (state == "01" || state == "08")) return false;
    }
    return true;
  });
}

void TcpProxy::Accept() {
  const int port = std::stoi(target_.substr(target_.rfind(':') + 1));
  int listener = -1;
  while (!stopping_) {
    {
      const base::MutexLock lock(mutex_);
      if (listener != listener_ && listener >= 0) ::close(listener);
      listener = listener_;
    }
    pollfd ready{.fd = listener, .events = POLLIN};
    if (listener < 0 || ::poll(&ready, 1, 20) <= 0) {
      if (listener < 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(port);
    auto connection = std::make_shared<Connection>();
    connection->client = client;
    connection->server = server;
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      continue;
    }
    NoDelay(client);
    NoDelay(server);
    const base::MutexLock lock(mutex_);
    if (listener != listener_) continue;  // refused by now, and cut with the others
    connections_.push_back(connection);
    pumps_.emplace_back([this, connection] { Pump(connection, /*answers=*/false); });
    pumps_.emplace_back([this, connection] { Pump(connection, /*answers=*/true); });
  }
  if (listener >= 0) ::close(listener);
}

void TcpProxy::Pump(const std::shared_ptr<Connection>& connection, bool answers) {
  const int from = answers ? connection->server : connection->client;
  const int to = answers ? connection->client : connection->server;
  std::array<char, 65536> buffer;
  while (!connection->over && !stopping_) {
    pollfd ready{.fd = from, .events = POLLIN};
    if (frozen_ || ::poll(&ready, 1, 20) <= 0) {
      if (frozen_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    if (delay_ms_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    while (frozen_ && !connection->over && !stopping_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (answers && drop_answers_) continue;
    ssize_t sent = 0;
    while (sent < got && !connection->over) {
      const ssize_t n =
          ::send(to, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += n;
    }
    if (sent < got) break;
  }
  connection->End();
}

}  // namespace dray::store
