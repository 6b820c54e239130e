// SPDX-License-Identifier: Apache-2.0
//
// A client that says exactly what a test wants to be said, with or without TLS. Blocking; gives up
// after ten seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/certificates.h"
#include "apiserver/internal/openssl.h"

namespace dray::apiserver {

struct ClientTls {
  std::string authority;                // whom to trust
  std::optional<KeyPair> client;        // what to show
  std::vector<std::string> chain = {};  // and who has signed that
};

struct ClientResponse {
  int status = 0;  // 0: the connection ended before a whole response
  std::string head;
  std::string body;
};

class TestClient {
 public:
  // With TLS, the protocols that are offered, each behind its length.
  static constexpr std::string_view kHttp1 = "\x08http/1.1";
  static constexpr std::string_view kHttp2 = "\x02h2";
  static constexpr std::string_view kBoth = "\x02h2\x08http/1.1";

  explicit TestClient(std::uint16_t port, const std::optional<ClientTls>& tls = std::nullopt,
                      int receive_buffer = 0, std::string_view protocols = kHttp1);
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  bool connected() const { return socket_ >= 0; }
  // False if the connection is gone.
  bool Send(std::string_view bytes);
  // Up to and including `end`, or all there is if it does not come.
  std::string ReadUntil(std::string_view end);
  std::string ReadToEnd() { return ReadUntil({}); }
  // What there is, at least a byte; empty at the end.
  std::string ReadSome();
  // A response with a length, or with chunks, which are joined.
  ClientResponse ReadResponse();
  // One chunk of a stream, without its frame; empty at the end.
  std::string ReadChunk();
  ClientResponse Get(std::string_view path, std::string_view headers = "");
  // What the server chose of h2 and http/1.1; empty: neither, or no TLS.
  std::string Protocol() const;
  // Whether the server has ended the connection.
  bool Ended();

 private:
  bool ReadMore();
  std::string TakeBytes(std::size_t size);

  int socket_ = -1;
  internal::SslContextPtr context_;
  internal::SslPtr ssl_;
  std::string received_;
};

}  // namespace dray::apiserver
