// SPDX-License-Identifier: Apache-2.0
//
// Places in the data that an expression walks to, kept as a tree of steps, and the sizes known for
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cel/cost_estimate.h"
#include "cel/environment.h"

namespace dray::cel::internal {

// The sizes that entries of a list or map can have.
struct EntrySizes {
  bool is_list = false;
  CostRange key;
  CostRange value;

  EntrySizes Union(const EntrySizes& other) const {
    return {is_list, key.Union(other.key), value.Union(other.value)};
  }
};

// Texts of steps are borrowed. One thread.
class Paths {
 public:
  using Id = std::int32_t;
  static constexpr Id kNone = -1;

  // `limits` must outlive this.
  explicit Paths(const SizeLimits& limits) : limits_(limits) {}

  // One step further. From kNone: the name of a variable.
  Id Below(Id path, std::string_view step);
  std::optional<CostRange> SizeAt(Id path) const;

 private:
  struct Step {
    Id parent = kNone;
    std::string_view name;
  };

  const SizeLimits& limits_;
  std::vector<Step> steps_;
};

}  // namespace dray::cel::internal
