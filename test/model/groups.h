// SPDX-License-Identifier: Apache-2.0
//
// Compatibility groups on one counter set: who may join those that are there.
// Spec: KEP-5963 "Scheduler Changes"; kubernetes-allocator.md 9.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dray::model {

// The groups that all devices on a counter set have in common. A device without groups only goes
// with others without.
class CommonGroups {
 public:
  bool Admits(const std::vector<std::string>& groups) const;
  // Of devices that were there before and contradict each other, the first decides whether it is a
  // set of devices with or without groups.
  void Add(const std::vector<std::string>& groups);

 private:
  bool occupied_ = false;
  bool grouped_ = false;
  std::set<std::string> common_;
};

}  // namespace dray::model
