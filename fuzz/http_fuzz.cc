// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a stranger to a real server over the loopback. Properties: what comes back is nothing or
// well-formed responses, the connection ends once the client has said its last byte, and the server
// holds nothing back of what it had reserved for it.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "apiserver/server.h"
#include "base/check.h"

namespace {

using namespace dray::apiserver;  // NOLINT: a fuzz target is about one room

class EchoHandler final : public Handler {
 public:
  void Handle(Request request, std::shared_ptr<Responder> responder) override {
    DRAY_CHECK(request.path.starts_with('/'));
    DRAY_CHECK(request.body.size() <= 3u << 20);
    Response response;
    response.body = std::make_shared<const std::string>(std::move(request.body));
    responder->Send(std::move(response));
  }
};

Server& TheServer() {
  static EchoHandler handler;
  static const Authenticator authenticator = *Authenticator::Create("t,ann,1");
  static const std::unique_ptr<Server> server =
      *Server::Start({.threads = 1}, handler, authenticator);
  return *server;
}

std::string Talk(std::uint16_t port, const char* bytes, std::size_t size) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  DRAY_CHECK(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  const timeval patience = {.tv_sec = 20};
  ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t n = ::send(client, bytes + sent, size - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  ::shutdown(client, SHUT_WR);
  std::string answer;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::recv(client, buffer, sizeof(buffer), 0)) > 0) {
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  DRAY_CHECK(n == 0 || errno != EAGAIN, "the server did not end the connection");
  // Without the wait that would leave the machine out of ports soon.
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::close(client);
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Server& server = TheServer();
  const std::string answer = Talk(server.port(), reinterpret_cast<const char*>(data), size);
  DRAY_CHECK(answer.empty() || answer.starts_with("HTTP/1.1 "));
  while (server.stats().connections > 0) std::this_thread::yield();
  return 0;
}
