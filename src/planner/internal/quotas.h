// SPDX-License-Identifier: Apache-2.0
//
// Quotas: what the ResourceQuotas of a plan's cluster let come in. A server counts in the same
// transaction; here everything is on one thread, and the count is kept beside the cluster.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/extended_resources.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "api/map.h"
#include "api/memory_cluster.h"
#include "api/quota.h"
#include "base/quantity.h"
#include "base/status.h"
#include "base/time.h"

namespace dray::planner::internal {

// One thread.
class Quotas {
 public:
  Quotas(api::FeatureGates gates, base::Time now) : gates_(std::move(gates)), now_(now) {}

  // Takes in the quotas of a cluster and what is used of them: as a stored quota's status says, which
  // also counts objects that were not given, or else as the cluster's pods and claims sum up to.
  void Read(const api::MemoryCluster& cluster);

  // Whether a pod or claim may be created, and counts it if so. FailedPrecondition with Kubernetes's
  // sentence otherwise: "exceeded quota: NAME, requested: ..., used: ..., limited: ...", or "failed
  // quota: NAME: must specify ...".
  Status Admit(const api::Object& object, const api::MemoryCluster& cluster);
  // It is gone.
  void Release(const api::Object& object, const api::MemoryCluster& cluster);

  // Quotas as a server would show them by now.
  void WriteStatus(std::vector<api::Object>& objects) const;

 private:
  using Amounts = api::Map<base::Quantity>;
  struct Counted {
    api::Object quota;
    Amounts hard;
    Amounts used;
  };

  Amounts UsageOf(const api::Object& object, const api::MemoryCluster& cluster) const;
  std::vector<std::string> NamesOf(const Counted& counted, const api::Object& object) const;
  bool Counts(const Counted& counted, const api::Object& object) const;

  const api::FeatureGates gates_;
  const base::Time now_;
  api::ExtendedResourceIndex classes_;
  std::map<std::string, std::vector<Counted>, std::less<>> quotas_;  // by namespace
};

}  // namespace dray::planner::internal
