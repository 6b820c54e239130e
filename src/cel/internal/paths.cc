// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/paths.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace dray::cel::internal {

Paths::Id Paths::Below(Id path, std::string_view step) {
  steps_.push_back({path, step});
  return static_cast<Id>(steps_.size() - 1);
}

std::optional<CostRange> Paths::SizeAt(Id path) const {
  if (path == kNone || !limits_) return std::nullopt;
  absl::InlinedVector<std::string_view, 8> names;
  for (Id at = path; at != kNone; at = steps_[static_cast<std::size_t>(at)].parent) {
    names.push_back(steps_[static_cast<std::size_t>(at)].name);
  }
  std::ranges::reverse(names);
  const auto limit = limits_(names);
  if (!limit) return std::nullopt;
  return CostRange{0, *limit};
}

}  // namespace dray::cel::internal
