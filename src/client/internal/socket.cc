// SPDX-License-Identifier: Apache-2.0
#include "client/internal/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::client::internal {
namespace {

using boost::system::error_code;

constexpr std::size_t kChunk = 16u << 10;
// A server that has gone away without a word is noticed after a minute or so.
constexpr int kKeepAliveIdle = 30;
constexpr int kKeepAliveEvery = 10;
constexpr int kKeepAliveTries = 3;

error_code LastError() { return {errno, boost::system::system_category()}; }

void SetOptions(int fd) {
  const auto set = [fd](int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveEvery);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveTries);
}

struct Addresses {
  addrinfo* list = nullptr;
  ~Addresses() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
};

Status CannotConnect(const Endpoint& endpoint, std::string_view why) {
  const bool by_proxy = endpoint.proxy != nullptr;
  return base::Unavailable(fmt::format("cannot connect to {}{} port {}: {}",
                                       by_proxy ? "proxy " : "",
                                       by_proxy ? endpoint.proxy->host : endpoint.host,
                                       by_proxy ? endpoint.proxy->port : endpoint.port, why));
}

}  // namespace

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

StatusOr<Endpoint> ParseUrl(std::string_view url) {
  const auto fault = [url] {
    return base::InvalidArgument(
        fmt::format("server \"{}\" must be a URL as https://host:6443", url));
  };
  Endpoint endpoint{.port = "443"};
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    endpoint.port = "80";
  } else {
    return fault();
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  endpoint.path = rest.substr(slash);
  while (endpoint.path.ends_with('/')) endpoint.path.pop_back();
  rest = rest.substr(0, slash);
  std::size_t colon = rest.rfind(':');
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) return fault();
    endpoint.host = rest.substr(1, bracket - 1);
    colon = bracket + 1 < rest.size() ? bracket + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && rest[colon] != ':') return fault();
  } else {
    endpoint.host = rest.substr(0, colon);
  }
  if (colon != std::string_view::npos) endpoint.port = rest.substr(colon + 1);
  const bool digits =
      std::ranges::all_of(endpoint.port, [](char c) { return c >= '0' && c <= '9'; });
  // Both are written into requests as they are, and the host is looked up up to its first zero.
  const auto fits = [](const std::string& part, std::string_view not_these) {
    return part.find_first_of(not_these) == part.npos && IsPrintable(part);
  };
  const bool plain = fits(endpoint.host, " @?#") && fits(endpoint.path, " ?#");
  if (endpoint.host.empty() || endpoint.port.empty() || !digits || !plain) return fault();
  return endpoint;
}

StatusOr<std::unique_ptr<Socket>> Socket::Connect(const Endpoint& endpoint, Deadline deadline) {
  const std::string& host = endpoint.proxy != nullptr ? endpoint.proxy->host : endpoint.host;
  const std::string& port = endpoint.proxy != nullptr ? endpoint.proxy->port : endpoint.port;
  Addresses addresses;
  const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  const int found = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &addresses.list);
  if (found != 0) return CannotConnect(endpoint, ::gai_strerror(found));
  std::vector<Address> all;
  for (const addrinfo* one = addresses.list; one != nullptr; one = one->ai_next) {
    Address& address = all.emplace_back(Address{.size = one->ai_addrlen});
    std::memcpy(&address.where, one->ai_addr, one->ai_addrlen);
  }
  return ConnectToAny(endpoint, all, deadline);
}

StatusOr<std::unique_ptr<Socket>> Socket::ConnectToAny(const Endpoint& endpoint,
                                                       std::span<const Address> addresses,
                                                       Deadline deadline) {
  Status status = CannotConnect(endpoint, "it has no address");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    // A machine that is away, or a server that hangs, does not use up the time of the others.
    const auto now = std::chrono::steady_clock::now();
    const auto share = (deadline - now) / static_cast<std::int64_t>(addresses.size() - i);
    auto socket = ConnectTo(endpoint, addresses[i], now + share);
    if (socket.ok()) {
      (*socket)->set_deadline(deadline);
      return socket;
    }
    status = socket.status();
    // Somebody is there, and is not who it should be.
    if (status.code() != StatusCode::kUnavailable) break;
  }
  return status;
}

StatusOr<std::unique_ptr<Socket>> Socket::ConnectTo(const Endpoint& endpoint,
                                                    const Address& address, Deadline deadline) {
  const int fd = ::socket(address.where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return CannotConnect(endpoint, LastError().message());
  std::unique_ptr<Socket> socket(new Socket(fd));
  socket->set_deadline(deadline);
  error_code error;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address.where), address.size) != 0) {
    error = LastError();
  }
  if (error.value() == EINPROGRESS) {
    error = socket->Wait(POLLOUT);
    int result = 0;
    socklen_t size = sizeof(result);
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size);
    if (!error && result != 0) error = {result, boost::system::system_category()};
  }
  if (error) return CannotConnect(endpoint, error.message());
  SetOptions(fd);
  if (endpoint.proxy != nullptr) DRAY_RETURN_IF_ERROR(socket->Tunnel(endpoint));
  if (endpoint.tls != nullptr) DRAY_RETURN_IF_ERROR(socket->Handshake(endpoint));
  return socket;
}

Socket::~Socket() { ::close(fd_); }

void Socket::Interrupt() { ::shutdown(fd_, SHUT_RDWR); }

Status Socket::WriteAll(std::string_view bytes) {
  error_code error;
  if (ssl_ == nullptr) {
    error = Send(bytes.data(), bytes.size());
  } else {
    // TLS is written to memory, which always takes it.
    ERR_clear_error();
    std::size_t written = 0;
    if (!bytes.empty() && SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) != 1) {
      return base::Unavailable("TLS has ended");
    }
    error = Flush();
  }
  return error ? base::Unavailable(error.message()) : Status();
}

bool Socket::Stale() {
  pollfd look{.fd = fd_, .events = POLLIN};
  if (::poll(&look, 1, 0) == 0) return false;
  if (ssl_ == nullptr) return true;
  // TLS may have something to say of its own, such as a ticket.
  if (Fill()) return true;
  char byte = 0;
  std::size_t read = 0;
  ERR_clear_error();
  const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &read);
  return result == 1 || SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ;
}

std::size_t Socket::Read(char* data, std::size_t size, error_code& error) {
  if (ssl_ == nullptr) return Receive(data, size, error);
  for (;;) {
    std::size_t read = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), data, size, &read);
    if (result == 1) {
      error = {};
      return read;
    }
    const int why = SSL_get_error(ssl_.get(), result);
    if (why != SSL_ERROR_WANT_READ) {
      error = why == SSL_ERROR_ZERO_RETURN ? boost::asio::error::eof
                                           : error_code(boost::asio::error::connection_aborted);
      return 0;
    }
    error = Flush();
    if (!error) error = Fill();
    if (error) return 0;
  }
}

error_code Socket::Flush() {
  char chunk[kChunk];
  while (BIO_pending(out_) > 0) {
    const int size = BIO_read(out_, chunk, sizeof(chunk));
    if (size <= 0) break;
    if (const error_code error = Send(chunk, static_cast<std::size_t>(size))) return error;
  }
  return {};
}

error_code Socket::Fill() {
  char chunk[kChunk];
  error_code error;
  const std::size_t size = Receive(chunk, sizeof(chunk), error);
  if (!error) BIO_write(in_, chunk, static_cast<int>(size));
  return error;
}

error_code Socket::Wait(short events) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0) return boost::asio::error::timed_out;
    pollfd look{.fd = fd_, .events = events};
    const int ready = ::poll(&look, 1, static_cast<int>(std::min<long>(left.count() + 1, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return LastError();
  }
}

error_code Socket::Send(const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(fd_, data, size, MSG_NOSIGNAL);
    if (sent >= 0) {
      data += sent;
      size -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      if (const error_code error = Wait(POLLOUT)) return error;
    } else if (errno != EINTR) {
      return LastError();
    }
  }
  return {};
}

std::size_t Socket::Receive(char* data, std::size_t size, error_code& error) {
  for (;;) {
    const ssize_t received = ::recv(fd_, data, size, 0);
    if (received > 0) {
      error = {};
      return static_cast<std::size_t>(received);
    }
    if (received == 0) {
      error = boost::asio::error::eof;
      return 0;
    }
    if (errno == EINTR) continue;
    error = errno == EAGAIN ? Wait(POLLIN) : LastError();
    if (error) return 0;
  }
}

}  // namespace dray::client::internal
