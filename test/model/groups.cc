// SPDX-License-Identifier: Apache-2.0
#include "model/groups.h"

#include <algorithm>
#include <iterator>

namespace dray::model {
namespace {

std::set<std::string> Intersect(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  return both;
}

}  // namespace

bool CommonGroups::Admits(const std::vector<std::string>& groups) const {
  if (!grouped_ && !ungrouped_) return true;
  if (grouped_ && ungrouped_) return false;
  if (groups.empty() || !grouped_) return groups.empty() && !grouped_;
  return !Intersect(common_, {groups.begin(), groups.end()}).empty();
}

void CommonGroups::Add(const std::vector<std::string>& groups) {
  const std::set<std::string> set(groups.begin(), groups.end());
  if (set.empty()) {
    ungrouped_ = true;
  } else {
    common_ = grouped_ ? Intersect(common_, set) : set;
    grouped_ = true;
  }
}

}  // namespace dray::model
