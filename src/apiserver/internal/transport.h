// SPDX-License-Identifier: Apache-2.0
//
// Bytes to and from one client, with TLS or without, never waiting. TLS works on the socket itself
// and gives its buffers back when idle, so that thousands of idle connections stay small.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "apiserver/authentication.h"
#include "apiserver/internal/openssl.h"
#include "apiserver/server.h"

namespace dray::apiserver::internal {

// `http2`: clients are offered it beside HTTP/1.1.
StatusOr<SslContextPtr> MakeSslContext(const TlsOptions& options, bool http2);

// One thread.
class Transport {
 public:
  enum class Result : unsigned char { kDone, kWaitRead, kWaitWrite, kClosed };

  // `context` null: plain. The socket is made non-blocking.
  Transport(boost::asio::ip::tcp::socket socket, SSL_CTX* context);

  // At once for plain connections.
  Result Handshake();
  // kDone: at least one byte.
  Result Read(char* data, std::size_t size, std::size_t& read);
  Result Write(const char* data, std::size_t size, std::size_t& written);
  // Nothing more will be written.
  void Shutdown();

  // What the client has shown, once the handshake is done. Null: nothing.
  const ShownCertificate* certificate() const { return certificate_ ? &*certificate_ : nullptr; }
  // Whether the handshake has agreed on HTTP/2.
  bool http2() const;
  // Whether the handshake failed because the client speaks plain HTTP.
  bool client_speaks_plain() const { return client_speaks_plain_; }
  boost::asio::ip::tcp::socket& socket() { return socket_; }
  // Whether the client has said that nothing more comes from it, or is gone; seen past what it has
  // sent and nobody has read yet.
  bool ClientHasEnded();
  // Goes around TLS.
  void WritePlain(std::string_view text);

 private:
  Result FromSsl(int result);

  boost::asio::ip::tcp::socket socket_;
  SslPtr ssl_;
  std::optional<ShownCertificate> certificate_;
  bool client_speaks_plain_ = false;
};

}  // namespace dray::apiserver::internal
