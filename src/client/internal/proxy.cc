// SPDX-License-Identifier: Apache-2.0
#include "client/internal/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "client/internal/socket.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

// What %41 stands for; what is no escape stays.
std::string Unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
      if (error == std::errc() && end == text.data() + i + 3) {
        out.push_back(static_cast<char>(byte));
        i += 2;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

struct Address {
  int family = AF_UNSPEC;
  std::array<unsigned char, 16> bytes = {};
};
std::optional<Address> ParseAddress(const std::string& text) {
  Address address;
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), address.bytes.data()) != 1) continue;
    address.family = family;
    return address;
  }
  return std::nullopt;
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  const auto address = ParseAddress(host);
  if (!address) return false;
  if (address->family == AF_INET) return address->bytes[0] == 127;
  return std::all_of(address->bytes.begin(), address->bytes.end() - 1,
                     [](unsigned char byte) { return byte == 0; }) &&
         address->bytes[15] == 1;
}

bool InRange(const Address& address, const std::string& range) {
  const std::size_t slash = range.find('/');
  const auto base = ParseAddress(range.substr(0, slash));
  int bits = 0;
  const std::string digits = range.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (!base || base->family != address.family || error != std::errc() ||
      end != digits.data() + digits.size() || bits < 0 ||
      bits > (address.family == AF_INET ? 32 : 128)) {
    return false;
  }
  for (int bit = 0; bit < bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const unsigned mask = 0x80u >> (bit % 8);
    if ((address.bytes[byte] & mask) != (base->bytes[byte] & mask)) return false;
  }
  return true;
}

// Whether one entry of NO_PROXY means a server.
bool Means(std::string entry, const std::string& host, const std::string& port) {
  if (entry == "*") return true;
  const auto address = ParseAddress(host);
  if (entry.find('/') != entry.npos) return address && InRange(*address, entry);
  // host:port, [address]:port; an address of IPv6 alone has colons of its own.
  if (entry.starts_with('[')) {
    const std::size_t bracket = entry.find(']');
    if (bracket == entry.npos) return false;
    if (bracket + 1 < entry.size() && entry.substr(bracket + 1) != ":" + port) return false;
    entry = entry.substr(1, bracket - 1);
  } else if (std::ranges::count(entry, ':') == 1) {
    const std::size_t colon = entry.find(':');
    if (entry.substr(colon + 1) != port) return false;
    entry.resize(colon);
  }
  if (address) {
    const auto other = ParseAddress(entry);
    return other && other->family == address->family && other->bytes == address->bytes;
  }
  if (entry.starts_with("*.")) entry.erase(0, 1);
  if (entry.starts_with('.')) return host.ends_with(entry);
  return !entry.empty() && (host == entry || host.ends_with("." + entry));
}

std::string Variable(const Variables& variables, const char* capital, const char* small) {
  for (const char* name : {capital, small}) {
    const auto found = variables.find(name);
    if (found != variables.end() && !found->second.empty()) return found->second;
  }
  return "";
}

}  // namespace

StatusOr<Proxy> ParseProxy(std::string_view url) {
  Proxy proxy;
  std::string_view rest = url;
  if (const std::size_t scheme = url.find("://"); scheme != url.npos) {
    const std::string_view name = url.substr(0, scheme);
    if (name == "socks5" || name == "socks5h") {
      proxy.kind = Proxy::Kind::kSocks5;
    } else if (name != "http") {
      return base::MakeStatus(
          StatusCode::kUnimplemented,
          fmt::format("a proxy with {}:// is not supported; use http:// or socks5://", name));
    }
    rest.remove_prefix(scheme + 3);
  }
  if (const std::size_t at = rest.rfind('@'); at != rest.npos) {
    const std::string_view who = rest.substr(0, at);
    const std::size_t colon = who.find(':');
    proxy.username = Unescaped(who.substr(0, colon));
    if (colon != who.npos) proxy.password = Unescaped(who.substr(colon + 1));
    rest.remove_prefix(at + 1);
  }
  const auto endpoint = ParseUrl(fmt::format("http://{}", rest));
  const bool plain = endpoint.ok() && IsPrintable(proxy.username) && IsPrintable(proxy.password) &&
                     endpoint->path.empty();
  if (!plain) {
    return base::InvalidArgument(
        fmt::format("proxy \"{}\" must be a URL as http://host:3128", rest));
  }
  proxy.host = endpoint->host;
  proxy.port = endpoint->port;
  if (proxy.kind == Proxy::Kind::kSocks5 && rest.find(':') == rest.npos) proxy.port = "1080";
  return proxy;
}

std::string ProxyFromEnvironment(std::string_view url, const Variables& variables) {
  std::string proxy = url.starts_with("https://")
                          ? Variable(variables, "HTTPS_PROXY", "https_proxy")
                          : Variable(variables, "HTTP_PROXY", "http_proxy");
  const auto endpoint = ParseUrl(url);
  if (proxy.empty() || !endpoint.ok()) return "";
  const std::string host = absl::AsciiStrToLower(endpoint->host);
  if (IsLoopback(host)) return "";
  const std::string none = Variable(variables, "NO_PROXY", "no_proxy");
  for (const absl::string_view piece : absl::StrSplit(none, ',', absl::SkipEmpty())) {
    const std::string entry(absl::StripAsciiWhitespace(piece));
    if (Means(absl::AsciiStrToLower(entry), host, endpoint->port)) return "";
  }
  return proxy;
}

}  // namespace dray::client::internal
