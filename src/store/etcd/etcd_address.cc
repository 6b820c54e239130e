// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "store/etcd/etcd_store.h"

namespace dray::store {
namespace {

constexpr std::string_view kExample =
    "as in etcd://127.0.0.1:2379 or etcds://a:2379,b:2379,c:2379/dray";

bool IsPort(std::string_view text) {
  unsigned port = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && rest == text.data() + text.size() && port > 0 && port < 65536;
}

}  // namespace

StatusOr<EtcdAddress> ParseEtcdAddress(std::string_view text) {
  const auto wrong = [text](std::string_view why) {
    return base::InvalidArgument(fmt::format("\"{}\": {}, {}", text, why, kExample));
  };
  EtcdAddress address;
  const bool tls = text.starts_with("etcds://");
  if (!tls && !text.starts_with("etcd://")) return wrong("must begin with etcd:// or etcds://");
  std::string_view rest = text.substr(tls ? 8 : 7);
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    std::string_view prefix = rest.substr(slash);
    while (prefix.ends_with('/')) prefix.remove_suffix(1);
    if (!prefix.empty()) address.prefix = std::string(prefix);
    rest = rest.substr(0, slash);
  }
  if (!std::ranges::all_of(address.prefix, [](char c) { return c > ' ' && c < 127; })) {
    return wrong("the prefix has characters that are not printed");
  }
  for (;;) {
    const auto comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    const auto colon = one.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || !IsPort(one.substr(colon + 1))) {
      return wrong(fmt::format("\"{}\" must be a host and a port", one));
    }
    address.endpoints.push_back({.address = std::string(one), .tls = tls});
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  return address;
}

}  // namespace dray::store
