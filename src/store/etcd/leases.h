// SPDX-License-Identifier: Apache-2.0
//
// Leases: of keys that etcd is to delete by itself after a while (Operation::ttl). Many keys share a lease, as
// Kubernetes's Events do, so that there are few: whoever comes within a minute of the first one, or within a
// twentieth of its time, lives that much longer. No I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>

namespace dray::store::internal {

class Leases {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMostKeys = 1000;  // of one lease: they go in one revision

  // For `keys` more keys that are to live so long from now on; 0: one must be granted first.
  std::int64_t Find(std::chrono::seconds ttl, std::size_t keys, Time now) const;
  // They were written with it.
  void Use(std::chrono::seconds ttl, std::size_t keys);
  // How long one lasts that is granted for them.
  static std::chrono::seconds Lasts(std::chrono::seconds ttl) { return ttl + Shared(ttl); }
  // `asked`: before it was asked for, and so before it began.
  void Granted(std::chrono::seconds ttl, std::int64_t id, Time asked);
  // Etcd does not know one of them any more.
  void Forget() { leases_.clear(); }

 private:
  struct Lease {
    std::int64_t id = 0;
    Time until;  // nobody joins later
    std::size_t keys = 0;
  };
  static std::chrono::seconds Shared(std::chrono::seconds ttl);

  std::map<std::chrono::seconds, Lease> leases_;  // the latest, by how long its keys live
};

}  // namespace dray::store::internal
