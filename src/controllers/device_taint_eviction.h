// SPDX-License-Identifier: Apache-2.0
//
// Pods whose devices are tainted with NoExecute are deleted, at once or when the toleration of
// their claim runs out. Taints come with slices and from DeviceTaintRules, whose status tells how
// far that is, or whom it would concern.
//
// Spec: KEP-5055 "Eviction".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "api/cluster.h"
#include "api/device_class.h"
#include "api/gates.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/time.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class DeviceTaintEviction final : public Reconciler {
 public:
  // Cluster and clock outlive it.
  DeviceTaintEviction(const Source& source, const base::Clock& clock, api::FeatureGates gates);

  std::string_view name() const override { return "device-taint-eviction-controller"; }

 private:
  // The slices of one pool, and the claims that have devices of it.
  struct Pool {
    absl::btree_map<std::string, api::Object> slices;
    absl::btree_set<ObjectKey> claims;
    std::size_t tainted = 0;  // slices with a taint that evicts
    // Devices of the newest generation, by name; made when somebody asks after a slice changed. Of
    // two with one name the one in the slice with the smaller name.
    bool indexed = false;
    absl::flat_hash_map<absl::string_view, const api::Device*> devices;
  };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnSlice(const api::Object* before, const api::Object* after);
  void OnClaim(const api::Object* before, const api::Object* after);
  void OnRule(const api::Object* before, const api::Object* after);
  void QueueUsers(const ObjectKey& claim);
  // The rules that drive the pod, or the claim's users, away may have something new to tell.
  void QueueRulesOf(const api::Pod& pod);
  void QueueRulesOf(const api::ResourceClaim& claim);
  template <typename F>
  void ForEachClaim(const api::Pod& pod, F look) const;

  Status Reconcile(const ObjectKey& key) override;
  Status Evict(const api::Object& pod, base::Time due);
  // When the pod has to go. Nothing: it may stay.
  std::optional<base::Time> DueOf(const api::Pod& pod);
  std::optional<base::Time> DueOf(const api::ResourceClaim& claim);
  const api::Device* FindDevice(const api::DeviceRequestAllocationResult& result);
  // A pool of which nothing is left takes no room.
  void DropIfEmpty(const std::string& pool);

  // device_taint_rule_status.cc: whom and what a rule is about.
  struct Reach {
    std::size_t published = 0;   // devices
    std::size_t allocated = 0;   // results of claims
    std::size_t pods = 0;        // that have to go, now or later
    std::size_t namespaces = 0;  // of these
  };
  Reach ReachOf(const api::DeviceTaintRule& rule) const;
  api::Condition ConditionOf(const api::DeviceTaintRule& rule) const;
  Status ReconcileRule(const api::Object& rule);
  static bool Selects(const api::DeviceTaintRule& rule, std::string_view driver,
                      std::string_view pool, std::string_view device);
  static bool DrivesAway(const api::DeviceTaint& taint,
                         const api::DeviceRequestAllocationResult& result);
  static std::string PoolKeyOf(std::string_view driver, std::string_view pool);

  const bool slices_;  // whether their taints count
  const bool rules_counted_;
  absl::btree_map<std::string, Pool> pools_;         // by "driver/pool"
  absl::btree_map<std::string, api::Object> rules_;  // those that evict, by name
  Index pods_of_group_;                              // names by "namespace/name" of their group
  absl::flat_hash_set<std::string> waiting_;         // uids of pods whose time is set
};

}  // namespace dray::controllers
