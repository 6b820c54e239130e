// SPDX-License-Identifier: Apache-2.0
#include "plane/store_address.h"

#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::plane {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

}  // namespace

StoreAddress StoreAddress::In(const store::EtcdAddress& etcd) {
  StoreAddress address{.kind = Kind::kEtcd, .prefix = etcd.prefix};
  for (const rpc::EtcdEndpoint& endpoint : etcd.endpoints) {
    address.endpoints.push_back(endpoint.address);
    address.tls |= endpoint.tls;
  }
  return address;
}

store::EtcdAddress StoreAddress::Etcd() const {
  store::EtcdAddress etcd{.prefix = prefix};
  for (const std::string& endpoint : endpoints) {
    etcd.endpoints.push_back({.address = endpoint, .tls = tls});
  }
  return etcd;
}

StatusOr<StoreAddress> StoreAddress::Parse(std::string_view text) {
  if (text == "memory") return Memory();
  if (text.starts_with(kSqlite) && text.size() > kSqlite.size()) {
    return StoreAddress{.kind = Kind::kSqlite, .path = std::string(text.substr(kSqlite.size()))};
  }
  if (text.starts_with("etcd://") || text.starts_with("etcds://")) {
    DRAY_ASSIGN_OR_RETURN(const store::EtcdAddress etcd, store::ParseEtcdAddress(text));
    return In(etcd);
  }
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
      return fmt::format("etcd at {}{}, keys below {}", fmt::join(endpoints, ", "),
                         tls ? " over TLS" : "", prefix);
    default:
      return File(data);
  }
}

}  // namespace dray::plane
