// SPDX-License-Identifier: Apache-2.0
//
// Compatibility groups on one counter set: who may join those that are there.
// Spec: KEP-5963 "Scheduler Changes"; docs/spec/allocator.md 9.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dray::model {

// The groups that all devices on a counter set have in common. A device without groups only goes
// with others without; where both kinds are there already, nobody joins them.
class CommonGroups {
 public:
  bool Admits(const std::vector<std::string>& groups) const;
  void Add(const std::vector<std::string>& groups);

 private:
  bool grouped_ = false;    // some device there has groups
  bool ungrouped_ = false;  // some device there has none
  std::set<std::string> common_;
};

}  // namespace dray::model
