// SPDX-License-Identifier: Apache-2.0
#include "plane/store_address.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::plane {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kEtcd = "etcd://";
constexpr std::string_view kPrefix = "/dray";

Status CheckEndpoint(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  unsigned port = 0;
  bool fits = colon != endpoint.npos && colon > 0;
  if (fits) {
    const char* const end = endpoint.data() + endpoint.size();
    const auto read = std::from_chars(endpoint.data() + colon + 1, end, port);
    fits = read.ec == std::errc() && read.ptr == end && port > 0 && port < 65536;
  }
  if (fits) return {};
  return base::InvalidArgument(
      fmt::format("\"{}\" must be a host and a port, as in 10.0.0.1:2379", endpoint));
}

StatusOr<StoreAddress> ParseEtcd(std::string_view rest) {
  StoreAddress address{.kind = StoreAddress::Kind::kEtcd};
  const std::size_t slash = rest.find('/');
  std::string_view hosts = rest.substr(0, slash);
  address.prefix = slash == rest.npos ? kPrefix : rest.substr(slash);
  while (address.prefix.ends_with('/')) address.prefix.pop_back();
  if (address.prefix.empty()) address.prefix = kPrefix;
  for (;;) {
    const std::size_t comma = hosts.find(',');
    const std::string_view endpoint = hosts.substr(0, comma);
    DRAY_RETURN_IF_ERROR(CheckEndpoint(endpoint));
    address.endpoints.emplace_back(endpoint);
    if (comma == hosts.npos) return address;
    hosts.remove_prefix(comma + 1);
  }
}

}  // namespace

StatusOr<StoreAddress> StoreAddress::Parse(std::string_view text) {
  if (text == "memory") return Memory();
  if (text.starts_with(kSqlite) && text.size() > kSqlite.size()) {
    return StoreAddress{.kind = Kind::kSqlite, .path = std::string(text.substr(kSqlite.size()))};
  }
  if (text.starts_with(kEtcd)) return ParseEtcd(text.substr(kEtcd.size()));
  return base::InvalidArgument(
      fmt::format("\"{}\" must be sqlite:FILE, memory or etcd://HOST:PORT,HOST:PORT/PREFIX", text));
}

std::string StoreAddress::File(const std::string& data) const {
  if (kind == Kind::kData) return data + "/dray.db";
  return path;
}

std::string StoreAddress::Text(const std::string& data) const {
  switch (kind) {
    case Kind::kMemory:
      return "in memory, ends with this process";
    case Kind::kEtcd:
      return fmt::format("etcd at {}, keys below {}", fmt::join(endpoints, ", "), prefix);
    default:
      return File(data);
  }
}

}  // namespace dray::plane
