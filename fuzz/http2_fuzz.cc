// SPDX-License-Identifier: Apache-2.0
//
// Frames of a stranger to a real server over TLS and the loopback. Properties: what a handler sees is a request, the
// connection ends once the client has said its last byte, and nothing of it is kept. Input: frames as text
// (http2_text.h).
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "apiserver/certificates.h"
#include "apiserver/server.h"
#include "base/check.h"
#include "base/clock.h"
#include "http2_text.h"

namespace {

using namespace dray::apiserver;  // NOLINT: a fuzz target is about one room

class EchoHandler final : public Handler {
 public:
  void Handle(Request request, std::shared_ptr<Responder> responder) override {
    DRAY_CHECK(request.path.starts_with('/'));
    DRAY_CHECK(!request.method.empty());
    DRAY_CHECK(request.body.size() <= 3u << 20);
    Response response;
    response.body = std::make_shared<const std::string>(std::move(request.body));
    responder->Send(std::move(response));
  }
};

Server& TheServer() {
  static EchoHandler handler;
  static const Authenticator authenticator = *Authenticator::Create("t,ann,1");
  static const std::unique_ptr<Server> server = [] {
    const dray::base::Time now = dray::base::SystemClock().Now();
    constexpr std::chrono::hours kDay{24};
    const KeyPair authority = *MakeAuthority("fuzz", now, kDay);
    const KeyPair pair = *MakeCertificate(authority,
                                          {.use = CertificateSpec::Use::kServer,
                                           .common_name = "server",
                                           .hosts = {"localhost"},
                                           .valid = kDay},
                                          now);
    ServerOptions options;
    options.threads = 1;
    options.tls = TlsOptions{pair, authority.certificate};
    return *Server::Start(options, handler, authenticator);
  }();
  return *server;
}

void Talk(std::uint16_t port, const std::string& bytes) {
  static SSL_CTX* const context = [] {
    ::signal(SIGPIPE, SIG_IGN);
    SSL_CTX* made = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(made, SSL_VERIFY_NONE, nullptr);
    return made;
  }();
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  DRAY_CHECK(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  const timeval patience = {.tv_sec = 20};
  ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context), &SSL_free);
  SSL_set_fd(ssl.get(), client);
  const unsigned char protocols[] = {2, 'h', '2'};
  SSL_set_alpn_protos(ssl.get(), protocols, sizeof(protocols));
  DRAY_CHECK(SSL_connect(ssl.get()) == 1);
  std::size_t written = 0;
  SSL_write_ex(ssl.get(), bytes.data(), bytes.size(), &written);
  SSL_shutdown(ssl.get());
  ::shutdown(client, SHUT_WR);
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::recv(client, buffer, sizeof(buffer), 0)) > 0) {
  }
  DRAY_CHECK(n == 0 || errno != EAGAIN, "the server did not end the connection");
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::close(client);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Server& server = TheServer();
  Talk(server.port(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                          dray::fuzz::BytesOf({reinterpret_cast<const char*>(data), size}));
  while (server.stats().connections > 0) std::this_thread::yield();
  return 0;
}
