// SPDX-License-Identifier: Apache-2.0
//
// World: everything that scheduling decides on, kept from changes of objects, plus what has been
// decided and is not stored yet. Nothing in it is ever computed anew as a whole.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/expressions.h"
#include "allocator/plan.h"
#include "api/cluster.h"
#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/extended_resources.h"
#include "api/gates.h"
#include "api/namespace.h"
#include "api/pod_group.h"
#include "api/resource_claim.h"
#include "base/string_map.h"
#include "inventory/inventory.h"
#include "ledger/ledger.h"
#include "scheduler/device_holds.h"
#include "scheduler/node_info.h"
#include "scheduler/pod_info.h"
#include "scheduler/volumes.h"

namespace dray::scheduler {

struct WorldOptions {
  api::FeatureGates gates;
};

// One thread changes it. While it does not, several may read it, and RefreshDevices different
// nodes.
class World final : public allocator::ClassLister {
 public:
  explicit World(WorldOptions options);
  ~World();

  // Takes in a change; kinds that do not matter are ignored. A change that says what is known
  // already changes no version.
  void Apply(const api::Change& change);

  const api::FeatureGates& gates() const { return options_.gates; }
  const inventory::Features& features() const { return features_; }

  // By name. Nodes that only pods mention are left out.
  std::span<NodeInfo* const> nodes() const;
  NodeInfo* FindNode(std::string_view name) const;
  // Null when there is no such node any more.
  NodeInfo* node(NodeIndex index) const;
  // How many nodes have a taint that only costs points (PreferNoSchedule).
  std::size_t nodes_with_soft_taints() const;
  // NodeIndex is always below this.
  std::size_t node_indices() const;
  // Changes when a node comes or goes.
  std::uint64_t nodes_version() const { return nodes_version_; }
  // Gathers the node's devices and brings its usage up to date, where something has changed, and
  // changes no version. InvalidArgument when some slice's node selector cannot be read: then no pod
  // with claims can be scheduled. For a node that nobody else looks at meanwhile.
  Status RefreshDevices(NodeInfo& node);

  // Which nodes have changed since a version of the world, leaving aside what concerned every node
  // (global_version). `all`: it is too long ago to tell, or there were more than `most` changes.
  struct ChangedNodes {
    bool all = false;
    std::vector<NodeIndex> nodes;  // may repeat
  };
  std::uint64_t version() const { return version_; }
  ChangedNodes ChangedSince(std::uint64_t version,
                            std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  // Of the last change that may concern every node: taint rules, slices without a node and what is
  // in use of them. Only those who look at devices need to ask, and most of them only about some
  // pools: PoolChangesSince. Classes are not among it: what is remembered of a pod whose claims name one is
  // remembered by its plan, which changes with them; nor are namespaces, which only filters look at
  // that are asked anew for every pod.
  std::uint64_t global_version() const { return global_version_; }
  // A change of a pool whose devices every node may use.
  struct PoolChange {
    enum class Kind : std::uint8_t {
      kNew,  // it had no slices before
      kSlices,
      kUsage,  // what is taken of it; its slices are the same
    };
    std::uint64_t version = 0;
    inventory::PoolId pool;
    Kind kind = Kind::kSlices;
  };
  // Those after a version of the world, oldest first. Nothing: there was another change that
  // concerns every node, or it is too long ago to tell.
  std::optional<std::vector<PoolChange>> PoolChangesSince(std::uint64_t version) const;
  // Of the classes, all together: which resource names they serve, and with which devices.
  std::uint64_t classes_version() const { return classes_version_; }

  // Pods. Bound ones count on their node; an assumed one counts as if it were bound, until it is,
  // or is forgotten.
  std::shared_ptr<const PodInfo> FindPod(std::string_view key) const;
  void Assume(const std::shared_ptr<const PodInfo>& pod, NodeInfo& node);
  void Forget(std::string_view pod_key);
  // For questions about the whole cluster: a pod that is on a node counts nowhere until it is brought back.
  // Nothing is taken in meanwhile. What its claims hold is Absence's affair (absence.h).
  void SetAside(std::string_view pod_key);
  void BringBack(std::string_view pod_key);
  // What the pod's claims take of the node's own resources where it is about to go (the gate
  // DRANodeAllocatableResources): counted with what it asks for until it is stored with a status
  // that says so. Empty: nothing.
  using NodeAllocatable = std::vector<api::NodeAllocatableResourceClaimStatus>;
  void SetNodeAllocatable(std::string_view pod_key, NodeAllocatable claims_take);
  bool Assumed(std::string_view pod_key) const;
  // The node that it counts on; empty: none.
  std::string_view NodeOf(std::string_view pod_key) const;
  // All that are known, and those that are assumed.
  std::size_t pods() const;
  std::size_t assumed_pods() const;
  // How many pods on nodes have affinity of any kind to other pods, or required anti-affinity.
  std::size_t pods_with_affinity() const;
  std::size_t pods_with_anti_affinity() const;

  // Claims. What is assumed (an allocation that is being stored) goes before what is stored, until
  // the stored claim is as new.
  std::shared_ptr<const api::ResourceClaim> FindClaim(std::string_view namespace_,
                                                      std::string_view name) const;
  // Another one whenever a claim or a class may be another.
  std::uint64_t claims_version() const { return claims_version_; }
  // The pods that use a claim, by key: those whose spec or status names it.
  std::vector<std::string> PodsOfClaim(std::string_view namespace_, std::string_view name) const;
  // Whether the pod is one of them.
  bool NamesClaim(std::string_view pod_key, std::string_view namespace_,
                  std::string_view name) const;
  void AssumeClaim(std::shared_ptr<const api::ResourceClaim> claim);
  void ForgetClaim(std::string_view namespace_, std::string_view name);
  // Claims that were assumed although no change has told of them yet: made by the scheduler, as those for
  // extended resources are. One that comes and goes while nothing can be followed is never told of, and has
  // its devices until somebody finds out.
  std::size_t unseen_claims() const;
  std::vector<std::shared_ptr<const api::ResourceClaim>> UnseenClaims() const;
  // Devices of an allocation that other claims have too, although somebody wants them alone: never
  // by reservations alone, but what is stored counts, whoever decided it.
  struct GivenTwice {
    std::string device;               // driver/pool/device
    std::vector<std::string> claims;  // the others, "namespace/name"
  };
  std::vector<GivenTwice> FindGivenTwice(const api::ResourceClaim& claim,
                                         const api::AllocationResult& allocation) const;
  // Whether its allocation was stored by this scheduler, as far as that is remembered: until the claim
  // has none, or is gone.
  void SetAllocatedHere(std::string_view claim_uid);
  bool AllocatedHere(std::string_view claim_uid) const;
  // The claim that was made for a pod's extended resources, if there is one.
  std::shared_ptr<const api::ResourceClaim> FindExtendedResourceClaim(const api::Pod& pod) const;

  std::shared_ptr<const api::DeviceClass> FindClass(std::string_view name) const override;
  std::shared_ptr<const api::Namespace> FindNamespace(std::string_view name) const;
  // The pod's group, with the gate GenericWorkload; null: it has none, or the group is not there.
  std::shared_ptr<const api::PodGroup> GroupOf(const api::Pod& pod) const;
  // All pods of that pod's group that count on nodes, in order of their keys.
  std::vector<std::shared_ptr<const PodInfo>> PlacedOfGroup(const api::Pod& pod) const;
  const api::ExtendedResourceIndex& extended_resources() const { return extended_resources_; }
  std::int32_t PriorityOf(const api::Pod& pod) const;
  // The same of a group: in files nobody has filled in the number.
  std::int32_t PriorityOf(const api::PodGroup& group) const;
  // Whether its policy, or where nobody has filled that in either that of its PriorityClass, is Never.
  bool NeverPreempts(const api::Pod& pod) const;
  bool NeverPreempts(const api::PodGroup& group) const;
  // Claims, volumes and classes of storage.
  const Volumes& volumes() const;
  // What may be disturbed of which pods, of one namespace, by name.
  using Budgets = std::vector<std::shared_ptr<const api::PodDisruptionBudget>>;
  Budgets BudgetsOf(std::string_view namespace_) const;

  // Gives back the memory of names and values that nobody has any more. To be called between two
  // attempts, when nobody else is at work: devices and usages of nodes that are not up to date are
  // forgotten, and what NodeInfo has of them. Mostly there is nothing to do; when there is, it
  // costs what there is, and a constant share of what has changed since the last time.
  void Reclaim();

  // Devices that are kept for pods until those that were sent away for them have gone.
  DeviceHolds& holds() { return holds_; }
  const DeviceHolds& holds() const { return holds_; }
  // Pools with devices, or counters, of more than one node. By number.
  std::vector<inventory::PoolId> WidePools() const;
  bool IsWide(inventory::PoolId pool) const;

  inventory::Inventory& inventory() { return inventory_; }
  ledger::Ledger& ledger() { return ledger_; }
  allocator::Expressions& expressions() { return expressions_; }
  ResourceNames& resource_names() { return resource_names_; }

 private:
  struct Impl;
  void PutClass(std::shared_ptr<const api::DeviceClass> device_class, bool gone);
  void PutNamespace(std::shared_ptr<const api::Namespace> space, bool gone);

  // Layout is the implementation's affair; see internal/world_impl.h.
  WorldOptions options_;
  inventory::Features features_;
  std::shared_ptr<inventory::Dictionary> dictionary_;
  inventory::Inventory inventory_;
  ledger::Ledger ledger_;
  allocator::Expressions expressions_;
  ResourceNames resource_names_;
  api::ExtendedResourceIndex extended_resources_;
  DeviceHolds holds_;
  std::uint64_t nodes_version_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t global_version_ = 0;
  std::uint64_t classes_version_ = 0;
  std::uint64_t claims_version_ = 0;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dray::scheduler
