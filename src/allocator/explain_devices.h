// SPDX-License-Identifier: Apache-2.0
//
// Why each device of a node can or cannot serve an alternative, one at a time and with nothing else
// chosen.
#pragma once

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "allocator/attempt.h"
#include "allocator/explain_words.h"
#include "allocator/explanation.h"
#include "allocator/rules.h"
#include "allocator/state.h"
#include "base/bit_set.h"

namespace dray::allocator {

// Of one attempt that is prepared. One thread.
class DeviceReports {
 public:
  DeviceReports(const Attempt& attempt, std::size_t examples);

  // What the devices are to `alternative` of `claim`. `usable` becomes those that it could have.
  AlternativeReport Report(const ClaimPlan& claim, std::size_t alternative, base::BitSet& usable);
  // Those that it could have if only `constraints`, of Plan::constraints(), were there.
  base::BitSet UsableUnder(const ClaimPlan& claim, std::size_t alternative,
                           const base::BitSet& constraints);

  DeviceName NameOf(std::size_t device) const;

 private:
  // Adds to the finding of devices with the same reason, or as another one.
  void Add(std::size_t device, Finding finding, std::vector<Finding>& gathered) const;
  void AddHolders(std::size_t device, Drop& drop) const;

  const Attempt& attempt_;
  const inventory::NodeDevices& devices_;
  State state_;  // nothing chosen
  std::size_t examples_;
  // How often a device is called so on this node.
  absl::flat_hash_map<std::string, int> names_;
};

}  // namespace dray::allocator
