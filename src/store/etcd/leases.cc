// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/leases.h"

#include <algorithm>

namespace dray::store::internal {

std::chrono::seconds Leases::Shared(std::chrono::seconds ttl) {
  // A second at least, so that a request can go out meanwhile.
  return std::clamp(ttl / 20, std::chrono::seconds(1), std::chrono::seconds(60));
}

std::int64_t Leases::Find(std::chrono::seconds ttl, std::size_t keys, Time now) const {
  const auto found = leases_.find(ttl);
  if (found == leases_.end()) return 0;
  const Lease& lease = found->second;
  // However many they are, a lease of their own takes them.
  const bool fits = lease.keys == 0 || lease.keys + keys <= kMostKeys;
  return fits && now < lease.until ? lease.id : 0;
}

void Leases::Use(std::chrono::seconds ttl, std::size_t keys) { leases_[ttl].keys += keys; }

void Leases::Granted(std::chrono::seconds ttl, std::int64_t id, Time asked) {
  leases_[ttl] = {.id = id, .until = asked + Shared(ttl)};
}

}  // namespace dray::store::internal
