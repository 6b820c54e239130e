// SPDX-License-Identifier: Apache-2.0
//
// Socket: through a proxy to the server behind it.
#include <cstdint>

#include "absl/strings/escaping.h"
#include "client/internal/socket.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

constexpr std::size_t kMostHeader = 16u << 10;

std::string WithBrackets(const std::string& host) {
  return host.find(':') == host.npos ? host : fmt::format("[{}]", host);
}

Status Refused(const Proxy& proxy, std::string_view why) {
  return base::Unavailable(fmt::format("proxy {} port {}: {}", proxy.host, proxy.port, why));
}

}  // namespace

Status Socket::Tunnel(const Endpoint& endpoint) {
  const Proxy& proxy = *endpoint.proxy;
  return proxy.kind == Proxy::Kind::kSocks5 ? TunnelSocks(endpoint) : TunnelHttp(endpoint);
}

// Byte by byte: what comes after is the server's.
StatusOr<std::string> Socket::ReadExactly(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t read = 0; read < size;) {
    boost::system::error_code error;
    read += Receive(bytes.data() + read, size - read, error);
    if (error) return base::Unavailable(error.message());
  }
  return bytes;
}

Status Socket::TunnelHttp(const Endpoint& endpoint) {
  const Proxy& proxy = *endpoint.proxy;
  const std::string host = fmt::format("{}:{}", WithBrackets(endpoint.host), endpoint.port);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", host);
  if (!proxy.username.empty()) {
    request +=
        fmt::format("Proxy-Authorization: Basic {}\r\n",
                    absl::Base64Escape(fmt::format("{}:{}", proxy.username, proxy.password)));
  }
  DRAY_RETURN_IF_ERROR(WriteAll(request + "\r\n"));
  std::string header;
  while (!header.ends_with("\r\n\r\n")) {
    if (header.size() > kMostHeader) return Refused(proxy, "its answer is too long");
    const auto byte = ReadExactly(1);
    if (!byte.ok()) return Refused(proxy, base::Message(byte.status()));
    header += *byte;
  }
  const std::string line = header.substr(0, header.find("\r\n"));
  const std::size_t space = line.find(' ');
  if (line.starts_with("HTTP/1.") && space != line.npos && line[space + 1] == '2') return {};
  return Refused(proxy, fmt::format("it does not connect to {}: {}", host,
                                    IsPrintable(line) ? line : "its answer cannot be read"));
}

// Spec: RFC 1928 and 1929. The proxy looks up the name.
Status Socket::TunnelSocks(const Endpoint& endpoint) {
  const Proxy& proxy = *endpoint.proxy;
  const auto ask = [&](std::string_view bytes, std::size_t answer) -> StatusOr<std::string> {
    DRAY_RETURN_IF_ERROR(WriteAll(bytes));
    auto read = ReadExactly(answer);
    if (!read.ok()) return Refused(proxy, base::Message(read.status()));
    return read;
  };
  if (endpoint.host.size() > 255 || proxy.username.size() > 255 || proxy.password.size() > 255) {
    return Refused(proxy, "the name of the server or of the user is too long");
  }
  const bool named = !proxy.username.empty();
  DRAY_ASSIGN_OR_RETURN(
      const std::string method,
      ask(named ? std::string_view("\x05\x02\x00\x02", 4) : std::string_view("\x05\x01\x00", 3),
          2));
  if (method[0] != 5) return Refused(proxy, "it is not a SOCKS5 proxy");
  if (method[1] == 2 && named) {
    const std::string who =
        fmt::format("\x01{}{}{}{}", static_cast<char>(proxy.username.size()), proxy.username,
                    static_cast<char>(proxy.password.size()), proxy.password);
    DRAY_ASSIGN_OR_RETURN(const std::string known, ask(who, 2));
    if (known[1] != 0) return Refused(proxy, "it does not know this user and password");
  } else if (method[1] != 0) {
    return Refused(proxy, "it requires an authentication method that is not supported");
  }
  const auto port = static_cast<std::uint16_t>(std::stoul(endpoint.port));
  std::string request("\x05\x01\x00\x03", 4);
  request.push_back(static_cast<char>(endpoint.host.size()));
  request += endpoint.host;
  request.push_back(static_cast<char>(port >> 8));
  request.push_back(static_cast<char>(port & 0xff));
  DRAY_ASSIGN_OR_RETURN(const std::string answer, ask(request, 4));
  if (answer[1] != 0) {
    return Refused(proxy, fmt::format("it does not connect to {} port {}: SOCKS5 error {}",
                                      endpoint.host, endpoint.port, static_cast<int>(answer[1])));
  }
  // Where it is connected from, and a port.
  std::size_t left = answer[3] == 1 ? 4 : 16;
  if (answer[3] == 3) {
    DRAY_ASSIGN_OR_RETURN(const std::string length, ReadExactly(1));
    left = static_cast<unsigned char>(length[0]);
  }
  return ReadExactly(left + 2).status();
}

}  // namespace dray::client::internal
