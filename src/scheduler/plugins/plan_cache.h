// SPDX-License-Identifier: Apache-2.0
//
// PlanCache: plans by what claims ask for. Pods of one template have claims of their own that all
// ask for the same; what the allocator answers depends on that alone, and so one plan serves them
// all. A class that changes makes the plans that use it useless: they are made anew, under a new
// number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/plan.h"
#include "api/resource_claim.h"
#include "base/generations.h"

namespace dray::scheduler {

class World;

using ClaimList = std::span<const std::shared_ptr<const api::ResourceClaim>>;

struct KnownPlan {
  // Never given twice, so that whatever is kept by it ends with the plan.
  std::uint64_t number = 0;
  std::shared_ptr<const allocator::Plan> plan;  // null: nothing is to be allocated
};

// Forgets what nobody has asked for in a long time. One thread.
class PlanCache {
 public:
  // At most about twice so many. `limit` is an expression that every device must pass besides those
  // of its request; empty: there is none.
  explicit PlanCache(std::size_t capacity = 1024, std::string limit = {})
      : limit_(std::move(limit)), entries_(capacity) {}

  // The plan's claims are the first ones that asked for this, so names in it may be others.
  KnownPlan Get(ClaimList claims, World& world);
  // A plan of these very claims, that is not kept.
  std::shared_ptr<const allocator::Plan> Make(ClaimList claims, World& world) const;
  const std::string& limit() const { return limit_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
    KnownPlan known;
  };
  static bool Same(const Entry& entry, ClaimList claims);
  static bool Current(const allocator::Plan& plan, const World& world);

  const std::string limit_;
  std::uint64_t next_ = 1;
  // By a hash of what is asked for; equal in full decides. Of two that have the same hash by
  // accident the later one stays.
  base::Generations<absl::flat_hash_map<std::size_t, Entry>> entries_;
};

}  // namespace dray::scheduler
