// SPDX-License-Identifier: Apache-2.0
//
// Index: which objects have to do with another one, kept from changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/string_map.h"

namespace dray::controllers {

// Names in drawers, each once, in order of the alphabet. Thread-compatible.
class Index {
 public:
  void Add(std::string_view drawer, std::string_view name) {
    drawers_[std::string(drawer)].insert(std::string(name));
  }
  void Remove(std::string_view drawer, std::string_view name) {
    const auto it = drawers_.find(drawer);
    if (it == drawers_.end()) return;
    it->second.erase(std::string(name));
    if (it->second.empty()) drawers_.erase(it);
  }
  // A copy: who walks it may change the index on the way.
  std::vector<std::string> At(std::string_view drawer) const {
    const auto it = drawers_.find(drawer);
    if (it == drawers_.end()) return {};
    return {it->second.begin(), it->second.end()};
  }

 private:
  base::StringMap<absl::btree_set<std::string>> drawers_;
};

}  // namespace dray::controllers
