// SPDX-License-Identifier: Apache-2.0
#include "apiserver/client_for_test.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace dray::apiserver {
namespace {

internal::SslContextPtr MakeContext(const ClientTls& tls) {
  internal::SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  const auto authority = internal::ParseCertificate(tls.authority);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority->get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (tls.client) {
    SSL_CTX_use_certificate(context.get(),
                            internal::ParseCertificate(tls.client->certificate)->get());
    SSL_CTX_use_PrivateKey(context.get(), internal::ParseKey(tls.client->key)->get());
  }
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  for (const std::string& above : tls.chain) {
    SSL_CTX_add1_chain_cert(context.get(), internal::ParseCertificate(above)->get());
  }
  return context;
}

// Making one takes longer than a handshake, and tests have thousands of clients.
internal::SslContextPtr ContextFor(const ClientTls& tls) {
  static base::Mutex mutex;
  static std::map<std::string, internal::SslContextPtr> made ABSL_GUARDED_BY(mutex);
  const base::MutexLock lock(mutex);
  std::string key = tls.authority + (tls.client ? tls.client->certificate + tls.client->key : "");
  for (const std::string& above : tls.chain) key += above;
  internal::SslContextPtr& context = made[key];
  if (context == nullptr) context = MakeContext(tls);
  SSL_CTX_up_ref(context.get());
  return internal::SslContextPtr(context.get());
}

}  // namespace

TestClient::TestClient(std::uint16_t port, const std::optional<ClientTls>& tls, int receive_buffer,
                       std::string_view protocols) {
  ::signal(SIGPIPE, SIG_IGN);
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience = {.tv_sec = 10};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const int at_once = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  if (receive_buffer > 0) {
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool good = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  if (good && tls) {
    context_ = ContextFor(*tls);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set1_host(ssl_.get(), "localhost");
    SSL_set_fd(ssl_.get(), socket_);
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(protocols.data()),
                        static_cast<unsigned>(protocols.size()));
    good = SSL_connect(ssl_.get()) == 1;
  }
  if (!good) {
    ::close(socket_);
    socket_ = -1;
  }
}

TestClient::~TestClient() {
  if (socket_ >= 0) ::close(socket_);
}

bool TestClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t n = 0;
    if (ssl_) {
      if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &n) != 1) return false;
    } else {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      n = static_cast<std::size_t>(sent);
    }
    bytes.remove_prefix(n);
  }
  return true;
}

bool TestClient::ReadMore() {
  char buffer[16384];
  std::size_t n = 0;
  if (ssl_) {
    if (SSL_read_ex(ssl_.get(), buffer, sizeof(buffer), &n) != 1) return false;
  } else {
    const ssize_t read = ::recv(socket_, buffer, sizeof(buffer), 0);
    if (read <= 0) return false;
    n = static_cast<std::size_t>(read);
  }
  received_.append(buffer, n);
  return true;
}

std::string TestClient::TakeBytes(std::size_t size) {
  while (received_.size() < size && ReadMore()) {
  }
  std::string taken = received_.substr(0, size);
  received_.erase(0, size);
  return taken;
}

std::string TestClient::ReadUntil(std::string_view end) {
  std::size_t at = std::string::npos;
  while (end.empty() || (at = received_.find(end)) == std::string::npos) {
    if (!ReadMore()) return TakeBytes(received_.size());
  }
  return TakeBytes(at + end.size());
}

std::string TestClient::ReadSome() {
  if (received_.empty()) ReadMore();
  return std::exchange(received_, "");
}

std::string TestClient::ReadChunk() {
  const std::string size = ReadUntil("\r\n");
  std::string chunk = TakeBytes(std::strtoul(size.c_str(), nullptr, 16));
  TakeBytes(2);
  return chunk;
}

ClientResponse TestClient::ReadResponse() {
  ClientResponse response;
  response.head = ReadUntil("\r\n\r\n");
  if (!response.head.ends_with("\r\n\r\n")) return response;
  response.status = std::atoi(response.head.c_str() + sizeof("HTTP/1.1"));
  constexpr std::string_view kLength = "Content-Length: ";
  if (const auto at = response.head.find(kLength); at != std::string::npos) {
    response.body =
        TakeBytes(std::strtoul(response.head.c_str() + at + kLength.size(), nullptr, 10));
  } else if (response.head.find("chunked") != std::string::npos) {
    for (std::string chunk = ReadChunk(); !chunk.empty(); chunk = ReadChunk()) {
      response.body += chunk;
    }
  }
  return response;
}

ClientResponse TestClient::Get(std::string_view path, std::string_view headers) {
  Send("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) +
       "\r\n");
  return ReadResponse();
}

std::string TestClient::Protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  if (ssl_) SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

bool TestClient::Ended() { return received_.empty() && !ReadMore(); }

}  // namespace dray::apiserver
