// SPDX-License-Identifier: Apache-2.0
//
// How much of each quota is used: pods, claims and numbers of objects, in status.used.
//
// Spec: KEP-5004 "Resource Quota"; what an object takes is in api/quota.h. Sums are kept: an object
// that changes is taken out and put in again. An object that cannot be read still takes what it
// took: that is what the quota's status says beyond what can be counted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "api/cluster.h"
#include "api/extended_resources.h"
#include "api/gates.h"
#include "api/quota.h"
#include "api/resource_quota.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class QuotaController final : public Reconciler, private api::QuotaObjects {
 public:
  // Cluster and clock outlive it.
  QuotaController(const Source& source, const base::Clock& clock, api::FeatureGates gates);

  std::string_view name() const override { return "resourcequota-controller"; }

 private:
  using Amounts = api::Map<base::Quantity>;
  struct Sums {
    absl::flat_hash_map<ObjectKey, Amounts> parts;
    Amounts total;
    // What is there and cannot be read, in order, and what it is taken to take.
    std::vector<ObjectKey> unread;
    Amounts assumed;
  };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnQuota(const api::Object* before, const api::Object* after);
  void OnClass(const api::DeviceClass* after, const api::DeviceClass* before);
  void MarkClaimsOf(std::string_view namespace_, std::string_view pod_uid);
  // Its part of the sums is to be looked at again.
  void Mark(const ObjectKey& key);

  Status Reconcile(const ObjectKey& key) override;
  void Recount(const std::string& namespace_);
  void Charge(const ObjectKey& quota, const ObjectKey& object);
  Amounts PartOf(const api::ResourceQuotaSpec& quota, const ObjectKey& object);
  // What is in the namespace, counts, and was never told.
  std::vector<ObjectKey> UnreadIn(std::string_view namespace_) const;
  void Assume(const ObjectKey& key, const api::ResourceQuota& quota);
  Status WriteStatus(const api::Object& quota);

  const api::Pod* FindPod(std::string_view namespace_, std::string_view name) const override;
  std::vector<const api::ResourceClaim*> ExtendedResourceClaimsOf(
      std::string_view namespace_, std::string_view pod_uid) const override;

  const api::FeatureGates gates_;
  api::ExtendedResourceIndex classes_;
  absl::flat_hash_map<ObjectKey, Sums> sums_;            // by quota
  base::StringMap<absl::btree_set<ObjectKey>> quotas_;   // by namespace
  base::StringMap<absl::btree_set<ObjectKey>> objects_;  // by namespace
  base::StringMap<absl::btree_set<ObjectKey>> marked_;   // by namespace
  Index claims_of_pod_;                                  // for extended resources, by the pod's uid
};

}  // namespace dray::controllers
