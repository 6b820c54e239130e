// SPDX-License-Identifier: Apache-2.0
//
// WriteGuard: what a server has against writes of controllers and scheduler in a plan, and an end
// to those that never have enough.
//
// A controller whose work is never done (a ReplicaSet that does not find the pods that it makes)
// writes for ever, in one call or in many. Counting its calls is no bound; counting writes is: the
// one beyond the limit is refused, and so is every other after it, and everybody comes to rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "base/status.h"
#include "base/string_map.h"
#include "planner/internal/quotas.h"

namespace dray::planner::internal {

// A workload by what it is: "ReplicaSet", its namespace and its name.
struct Owner {
  std::string kind;
  std::string namespace_;
  std::string name;
  friend auto operator<=>(const Owner&, const Owner&) = default;
};

// One thread.
class WriteGuard {
 public:
  WriteGuard(api::FeatureGates gates, base::Time now, std::size_t most_writes)
      : quotas_(std::move(gates), now), most_writes_(most_writes) {}
  WriteGuard(const WriteGuard&) = delete;
  WriteGuard& operator=(const WriteGuard&) = delete;

  // The next writes are those to this cluster, which it outlives; the counts go on.
  void Watch(api::MemoryCluster& cluster);
  // Before the first write.
  Quotas& quotas() { return quotas_; }
  const Quotas& quotas() const { return quotas_; }

  // Not OK when the limit was reached: who made most, and why that may be.
  Status Verdict() const;
  // Pods that were refused to workloads, and why: the first reason of each.
  const std::map<Owner, std::string>& refused() const { return refused_; }

 private:
  Status OnWrite(api::Verb verb, const api::Object& object, const api::MemoryCluster& cluster);
  Status OnCreate(const api::Object& object, const api::MemoryCluster& cluster);

  Quotas quotas_;
  const std::size_t most_writes_;
  std::size_t writes_ = 0;
  std::map<Owner, std::size_t> made_;  // pods
  std::map<Owner, std::string> refused_;
};

// Names that are completed from generateName: the same for the same name and number, whatever else
// there is, so that what is planned is called the same in every run.
class PlannedNames {
 public:
  std::string operator()(const api::Object& object);

 private:
  base::StringMap<std::uint64_t> next_;
};

}  // namespace dray::planner::internal
