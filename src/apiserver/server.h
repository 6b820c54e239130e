// SPDX-License-Identifier: Apache-2.0
//
// The HTTP server, of HTTP/1.1 and HTTP/2: connections, TLS, limits and deadlines. Each connection lives on one of a
// few I/O threads; a watch that has nothing to say costs its memory and nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/authentication.h"
#include "apiserver/certificates.h"
#include "apiserver/http.h"
#include "base/status.h"

namespace dray::apiserver {

struct TlsOptions {
  KeyPair server;
  std::string client_authority;  // PEM: who signs clients
  // The server's certificate is from somewhere else, perhaps with those above it behind it; clients
  // may be signed by several authorities, or by nobody (empty): then they are not asked who they are.
  bool foreign = false;
};

// A request that was answered before any handler saw it: malformed, too large, or by nobody who is
// known. Borrowed.
struct Refusal {
  std::string_view remote;
  std::string_view audit_id;
  std::string_view method;  // empty, as is the target: they could not be read
  std::string_view target;
  int code = 0;
  std::string_view message;
  // Once it was asked who sends it: the request without its body. The user of one by nobody who is
  // known has no name. Null: it was not looked at so far.
  const Request* request = nullptr;
  bool certificate = false;  // the client has shown one
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;         // 0: a free one
  std::optional<TlsOptions> tls;  // none: plain HTTP
  // Offered to clients that come with TLS; many requests then share a connection.
  bool http2 = true;
  int threads = 2;

  std::size_t max_connections = 10'000;
  std::size_t max_streams = 250;  // of one connection of HTTP/2, at once
  std::size_t max_header_bytes = 64u << 10;
  std::size_t max_body_bytes = 3u << 20;  // as Kubernetes
  // Of a client that has not said who it is, and so may hardly write anything.
  std::size_t max_anonymous_body_bytes = 64u << 10;
  // Of all bodies that are being received; a request that would exceed it is told 429.
  std::size_t max_receiving_bytes = 256u << 20;

  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds idle_timeout{180'000};    // between requests
  std::chrono::milliseconds request_timeout{30'000};  // from a request's first byte to its last
  std::chrono::milliseconds write_timeout{30'000};    // without the client taking a byte
  // Called from I/O threads, several at a time: quick.
  std::function<void(const Refusal&)> on_refused = nullptr;
  // How exactly deadlines and ticks are kept.
  std::chrono::milliseconds resolution{500};
};

// Since the start, but for `connections`, which is now.
struct ServerStats {
  std::size_t connections = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;    // too many connections
  std::uint64_t requests = 0;   // whole ones
  std::uint64_t malformed = 0;  // answered 4xx before the handler saw them
  std::uint64_t timed_out = 0;  // cut off: too slow
};

// Runs from Start until destroyed. Thread-safe.
class Server {
 public:
  virtual ~Server() = default;
  // `handler` and `authenticator` are used until the server is gone. kInvalidArgument for
  // certificates that do not fit, kUnavailable when the address cannot be had; errors name it.
  static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options, Handler& handler,
                                                 const Authenticator& authenticator);
  virtual std::uint16_t port() const = 0;
  // https://127.0.0.1:6443
  virtual std::string url() const = 0;
  virtual ServerStats stats() const = 0;
  // No new connections; idle ones are closed, requests under way get their answers, streams end.
  // Waits at most `patience`. The destructor then closes what is left.
  virtual void Drain(std::chrono::milliseconds patience) = 0;
  // Connections that come from now on are shown that one; others go on. An error: it cannot be used, and nothing has
  // changed.
  virtual Status UseCertificate(const KeyPair& server) = 0;
};

}  // namespace dray::apiserver
