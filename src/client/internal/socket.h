// SPDX-License-Identifier: Apache-2.0
//
// Socket: bytes to and from a server, with TLS or without, each operation until a deadline. A
// stream in the sense of Boost.Beast, whose own streams keep time-outs for asynchronous use only.
#pragma once

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/internal/proxy.h"
#include "client/kubeconfig.h"

namespace dray::client::internal {

using Deadline = std::chrono::steady_clock::time_point;

struct SslContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, SslContextFree>;

// kInvalidArgument: certificate, key or authority cannot be used.
StatusOr<SslContextPtr> MakeSslContext(const ServerAccess& access);

// Where to connect to. `tls` null: plain.
struct Endpoint {
  std::string host;  // a name or an address, without brackets
  std::string port;
  std::string path;  // before every path of a request; without a slash at its end
  SSL_CTX* tls = nullptr;
  std::string tls_name;                // whom the certificate must be for; empty: anybody
  std::shared_ptr<const Proxy> proxy;  // by way of whom; null: directly
  bool http2 = false;                  // is offered in the handshake
};
// Whether a text can stand within a line of a request: it has no control characters.
bool IsPrintable(std::string_view text);

// From a URL; `tls` and `tls_name` are for the caller. kInvalidArgument.
StatusOr<Endpoint> ParseUrl(std::string_view url);

// Where one of the machines is that a name stands for.
struct Address {
  sockaddr_storage where{};
  socklen_t size = 0;
};

// One thread, but for Interrupt.
class Socket {
 public:
  // kUnavailable: nobody is there, or not within time. kUnauthenticated: its certificate is not
  // trusted. Errors name the address.
  static StatusOr<std::unique_ptr<Socket>> Connect(const Endpoint& endpoint, Deadline deadline);
  // The same with the addresses that a name stands for: one after the other, each with its share of the
  // time that is left, until one is connected to.
  static StatusOr<std::unique_ptr<Socket>> ConnectToAny(const Endpoint& endpoint,
                                                        std::span<const Address> addresses,
                                                        Deadline deadline);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  Status WriteAll(std::string_view bytes);
  // Whether the server has said or done something since the last response: then it is not for use.
  bool Stale();
  // Ends reading and writing, now and from then on. Any thread.
  void Interrupt();

  // For somebody who waits, sends and receives himself, without blocking: HTTP/2, which was agreed upon.
  bool http2() const;
  int fd() const { return fd_; }
  // Appends what is to be sent for `plain`. False: TLS has ended.
  bool Seal(std::string_view plain, std::string& wire);
  // Appends to `plain` what was received as `wire`, and to `answer` what TLS has to say to that. False: the server
  // has ended it, or it cannot be trusted any more.
  bool Unseal(std::string_view wire, std::string& plain, std::string& answer);

  template <typename Buffers>
  std::size_t read_some(const Buffers& buffers, boost::system::error_code& error) {
    for (auto it = boost::asio::buffer_sequence_begin(buffers);
         it != boost::asio::buffer_sequence_end(buffers); ++it) {
      const boost::asio::mutable_buffer buffer(*it);
      if (buffer.size() > 0) return Read(static_cast<char*>(buffer.data()), buffer.size(), error);
    }
    error = {};
    return 0;
  }
  template <typename Buffers>
  std::size_t read_some(const Buffers& buffers) {
    boost::system::error_code error;
    const std::size_t read = read_some(buffers, error);
    if (error) throw boost::system::system_error(error);
    return read;
  }

 private:
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  explicit Socket(int fd) : fd_(fd) {}
  static StatusOr<std::unique_ptr<Socket>> ConnectTo(const Endpoint& endpoint,
                                                     const Address& address, Deadline deadline);

  Status Handshake(const Endpoint& endpoint);
  // Has the proxy connect us; from then on the server is at the other end.
  Status Tunnel(const Endpoint& endpoint);
  Status TunnelHttp(const Endpoint& endpoint);
  Status TunnelSocks(const Endpoint& endpoint);
  StatusOr<std::string> ReadExactly(std::size_t size);
  std::size_t Read(char* data, std::size_t size, boost::system::error_code& error);
  // What TLS has to say goes out.
  boost::system::error_code Flush();
  void TakeOut(std::string& wire);
  // What came in is TLS's to read.
  boost::system::error_code Fill();
  boost::system::error_code Wait(short events);
  boost::system::error_code Send(const char* data, std::size_t size);
  std::size_t Receive(char* data, std::size_t size, boost::system::error_code& error);

  const int fd_;
  Deadline deadline_;
  std::unique_ptr<SSL, SslFree> ssl_;  // null: plain
  BIO* in_ = nullptr;                  // of ssl_: from the server
  BIO* out_ = nullptr;
};

}  // namespace dray::client::internal
