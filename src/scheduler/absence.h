// SPDX-License-Identifier: Apache-2.0
//
// Absence: what would be if some pods were gone, for questions that all nodes answer together: where would a
// group go? The world itself is changed, so that everything that decides can be asked, and changed back.
// What concerns one node is asked of a copy of that node instead (plugins/preemption_victims.h).
//
// Where devices count, a claim is given back with the last of its users that may go, and not at all where one
// stays, as in DeviceView.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "base/string_map.h"
#include "scheduler/device_holds.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct AbsenceOptions {
  std::int32_t below = 0;  // the priority of those for whom others go
  bool devices = false;    // claims are given back
  // Claims, "namespace/name", that somebody else will go on using.
  base::StringSet kept;
};

// One thread. Nothing is taken in by the world, and nothing is stored, while it lives.
class Absence {
 public:
  // Who may be taken: all of them are on nodes. The world outlives it.
  Absence(World& world, std::span<const std::shared_ptr<const PodInfo>> possible,
          AbsenceOptions options);
  ~Absence();  // everybody is back
  Absence(const Absence&) = delete;
  Absence& operator=(const Absence&) = delete;

  // One of those who may be. Idempotent.
  void Take(const PodInfo& pod);
  void PutBack(const PodInfo& pod);
  // Claims with devices of the node that nobody uses are given back.
  void TakeIdle(NodeInfo& node);

  // Whether the pod has devices that can be used on several nodes.
  bool HoldsWide(const PodInfo& pod) const;
  // What is given back, by name.
  std::vector<DeviceHold::Leaving> Leaving() const;

 private:
  struct Claim {
    std::shared_ptr<const api::ResourceClaim> claim;
    std::size_t staying = 0;
    bool kept = false;  // somebody stays, whoever goes
    bool out = false;
    bool wide = false;
  };
  Claim* ClaimOf(const std::shared_ptr<const api::ResourceClaim>& claim);
  void SetOut(Claim& claim, bool out);

  World& world_;
  const AbsenceOptions options_;
  base::StringMap<std::unique_ptr<Claim>> claims_;  // by the ledger's key
  base::StringMap<std::vector<Claim*>> claims_of_;  // by key of the pod
  base::StringSet gone_;                            // keys
};

}  // namespace dray::scheduler
