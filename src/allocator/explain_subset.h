// SPDX-License-Identifier: Apache-2.0
//
// Subsets: a plan without some of its requests and constraints, for the question whether the rest
// would fit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/plan.h"
#include "base/bit_set.h"

namespace dray::allocator {

// Which of Plan::requests() and Plan::constraints() stay.
struct Kept {
  base::BitSet requests;
  base::BitSet constraints;
  // Instead of what the kept requests ask for.
  std::optional<std::int64_t> count;
  // Compatibility groups do not matter among the devices that are chosen.
  bool ignore_groups = false;
};

// Plans of one Subsets have numbers (filter, shape) of their own, so they need a VerdictCache of
// their own, and the shared Expressions do not grow by questions that are asked once. One thread.
class Subsets {
 public:
  // `plan` must outlive this and what it makes.
  explicit Subsets(const Plan& plan) : plan_(plan) {}

  std::shared_ptr<const Plan> Make(const Kept& kept);

 private:
  std::uint64_t Number(std::vector<std::uint64_t> list);

  const Plan& plan_;
  absl::flat_hash_map<std::vector<std::uint64_t>, std::uint64_t> numbers_;
};

}  // namespace dray::allocator
