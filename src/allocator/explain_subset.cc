// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain_subset.h"

#include <bit>
#include <utility>

namespace dray::allocator {
namespace {

// Numbers from here on are never those of a plan that was made from claims.
constexpr std::uint64_t kFirstNumber = std::uint64_t{1} << 63;
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

}  // namespace

std::uint64_t Subsets::Number(std::vector<std::uint64_t> list) {
  const std::uint64_t next = kFirstNumber + numbers_.size();
  return numbers_.try_emplace(std::move(list), next).first->second;
}

// A constraint that names a dropped request stays as it is and covers the others that it names.
std::shared_ptr<const Plan> Subsets::Make(const Kept& kept) {
  auto subset = std::make_shared<Plan>();
  subset->features_ = plan_.features_;
  if (kept.ignore_groups) subset->features_.compatibility_groups = false;
  subset->simple_ = plan_.simple_;
  subset->keep_ = plan_.keep_;
  for (const ClaimPlan& claim : plan_.claims()) {
    ClaimPlan reduced = claim;
    reduced.first_request = static_cast<std::uint32_t>(subset->requests_.size());
    reduced.first_constraint = static_cast<std::uint32_t>(subset->constraints_.size());
    // Claims that asked for the same and lost the same ask for the same.
    std::vector<std::uint64_t> shape = {claim.shape};
    std::vector<std::optional<std::uint32_t>> renumbered(claim.constraints);
    for (std::uint32_t i = 0; i < claim.constraints; ++i) {
      if (!kept.constraints.Test(claim.first_constraint + i)) continue;
      renumbered[i] =
          static_cast<std::uint32_t>(subset->constraints_.size()) - reduced.first_constraint;
      subset->constraints_.push_back(plan_.constraints_[claim.first_constraint + i]);
      shape.push_back(i);
    }
    shape.push_back(kEnd);
    for (std::uint32_t i = 0; i < claim.requests; ++i) {
      if (!kept.requests.Test(claim.first_request + i)) continue;
      RequestPlan request = plan_.requests_[claim.first_request + i];
      const auto alternatives = plan_.alternatives(request);
      request.first = static_cast<std::uint32_t>(subset->alternatives_.size());
      shape.push_back(i);
      for (Alternative alternative : alternatives) {
        std::vector<std::uint64_t> filter = {alternative.filter};
        std::vector<ConstraintUse> uses;
        for (std::size_t use = 0; use < alternative.constraints.size(); ++use) {
          const auto constraint = renumbered[alternative.constraints[use].constraint];
          if (!constraint) continue;
          uses.push_back(alternative.constraints[use]);
          uses.back().constraint = *constraint;
          filter.push_back(use);
        }
        alternative.constraints = std::move(uses);
        alternative.filter = Number(std::move(filter));
        if (kept.count) {
          alternative.count = *kept.count;
          shape.push_back(std::bit_cast<std::uint64_t>(*kept.count));
        }
        subset->alternatives_.push_back(std::move(alternative));
      }
      subset->requests_.push_back(std::move(request));
    }
    reduced.requests = static_cast<std::uint32_t>(subset->requests_.size()) - reduced.first_request;
    reduced.constraints =
        static_cast<std::uint32_t>(subset->constraints_.size()) - reduced.first_constraint;
    reduced.shape = Number(std::move(shape));
    subset->claims_.push_back(std::move(reduced));
  }
  return subset;
}

}  // namespace dray::allocator
