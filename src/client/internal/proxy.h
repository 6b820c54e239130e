// SPDX-License-Identifier: Apache-2.0
//
// Proxies: which one leads to a server, as Go's programs choose it, and how it is asked.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::client::internal {

struct Proxy {
  enum class Kind : unsigned char { kHttp, kSocks5 };
  Kind kind = Kind::kHttp;
  std::string host;
  std::string port;
  std::string username;
  std::string password;
};

// From http://, socks5:// or a mere host:port. kInvalidArgument; kUnimplemented for other schemes.
// Messages do not show passwords.
StatusOr<Proxy> ParseProxy(std::string_view url);

using Variables = std::map<std::string, std::string, std::less<>>;
// The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a server; empty: none. A server on
// this machine has none.
std::string ProxyFromEnvironment(std::string_view url, const Variables& variables);

}  // namespace dray::client::internal
