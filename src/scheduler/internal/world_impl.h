// SPDX-License-Identifier: Apache-2.0
//
// What World keeps, by subject: versions, nodes, pods, claims and the rest.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "api/node.h"
#include "api/priority_class.h"
#include "base/string_map.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct World::Impl {
  explicit Impl(World& owner) : world(owner) {}

  // A node and what is known of it besides. Exists while the node does or pods mention it.
  struct NodeEntry {
    NodeInfo info;
    std::string name;
    inventory::NameId name_id;
    bool devices_stale = true;
    std::uint64_t gathered = 0;  // how often all nodes' devices had become stale by then
  };
  struct PodEntry {
    std::shared_ptr<const PodInfo> info;
    NodeEntry* on = nullptr;  // where it counts
    bool assumed = false;
    // What its claims will take of the node's own resources, until the pod is stored with that.
    NodeAllocatable claims_take;
  };
  struct ClaimEntry {
    std::shared_ptr<const api::ResourceClaim> stored;
    std::shared_ptr<const api::ResourceClaim> assumed;
    const std::shared_ptr<const api::ResourceClaim>& current() const {
      return assumed != nullptr ? assumed : stored;
    }
  };
  // The nodes that a pool's slices are bound to; every node when one of them is not. Neither: it has
  // no slices.
  struct PoolNodes {
    bool all = false;
    absl::InlinedVector<inventory::NameId, 1> nodes;
    bool empty() const { return !all && nodes.empty(); }
  };

  // Versions.
  // `eases`: who did not fit on the node may fit now.
  void Touch(NodeInfo& node, bool eases = true);
  void TouchAll();
  void TouchAllFor(inventory::PoolId pool, PoolChange::Kind kind);
  std::optional<std::vector<PoolChange>> PoolChangesSince(std::uint64_t version) const;
  void TouchPools(const ledger::Change& change);
  ChangedNodes ChangedSince(std::uint64_t version, std::size_t most) const;

  // Nodes.
  NodeEntry& EntryOf(std::string_view name);
  void DropIfUnused(NodeEntry& entry);
  void PutNode(std::shared_ptr<const api::Node> node);
  void RemoveNode(std::string_view name);
  void Sort() const;

  // Devices.
  void Take(const inventory::Change& change);
  PoolNodes NodesOf(inventory::PoolId pool) const;
  Status RefreshDevices(NodeInfo& info);
  bool DevicesStale(const NodeEntry& entry) const {
    return entry.devices_stale || entry.gathered != all_stale;
  }
  void Reclaim();

  // Pods.
  void PutPod(std::shared_ptr<const api::Pod> pod);
  // The pod's info with what is known only here.
  std::shared_ptr<const PodInfo> InfoOf(std::shared_ptr<const api::Pod> pod,
                                        const NodeAllocatable& claims_take);
  void SetAssumed(PodEntry& entry, bool assumed);
  void RemovePod(std::string_view key);
  void PlacePod(PodEntry& entry, std::shared_ptr<const PodInfo> info, NodeEntry* to);
  void Count(NodeEntry& node, const std::shared_ptr<const PodInfo>& pod);
  void Discount(NodeEntry& node, const PodInfo& pod);
  void IndexPod(const api::Pod& pod, const std::string& key, bool add);
  void PriorityClassesChanged();
  // Of a class by name; empty: the default.
  // The class of that name; of no name: the one that is the default. Null: none is given.
  const api::PriorityClass* FindPriority(const std::string& name) const;
  std::int32_t PriorityOf(const std::string& name) const;
  // Of the pod's group, "namespace/name"; empty: it has none, or the gate is off.
  std::string GroupKeyOf(const api::Pod& pod) const;

  // Claims.
  void PutClaim(std::shared_ptr<const api::ResourceClaim> claim);
  void RemoveClaim(const api::ResourceClaim& claim);
  // A change tells of the claim by that name.
  void Saw(const std::string& key, const api::ResourceClaim& told);
  void IndexClaim(const api::ResourceClaim& claim, const std::string& key, bool add);

  World& world;
  base::StringSet allocated_here;  // uids of claims

  // Node versions in the order in which they were given; bounded.
  std::size_t nodes_with_soft_taints = 0;
  std::deque<std::pair<std::uint64_t, NodeIndex>> log;
  std::uint64_t log_begin = 0;  // what is not newer than this may have been dropped

  std::vector<std::unique_ptr<NodeEntry>> nodes;  // by NodeIndex; null: free
  std::vector<NodeIndex> free_indices;
  base::StringMap<NodeEntry*> nodes_by_name;
  absl::flat_hash_map<inventory::NameId, NodeEntry*> nodes_by_id;
  mutable std::vector<NodeInfo*> sorted;
  mutable bool sorted_stale = false;

  std::vector<PoolNodes> pool_nodes;  // by PoolId
  // Changes of pools of every node, in the order in which they came; bounded.
  std::deque<PoolChange> pool_log;
  std::uint64_t pool_log_begin = 0;  // what is not newer than this may have been dropped
  std::uint64_t all_stale = 0;       // how often the devices of all nodes have become stale

  base::StringMap<PodEntry> pods;
  std::size_t assumed_pods = 0;
  std::size_t with_affinity = 0;
  std::size_t with_anti_affinity = 0;
  // Claim "namespace/name" to the keys of the pods that name it.
  base::StringMap<std::set<std::string, std::less<>>> pods_of_claim;

  // Group "namespace/name" to the keys of the pods that name it; with the gate.
  base::StringMap<std::set<std::string, std::less<>>> pods_of_group;
  base::StringMap<std::shared_ptr<const api::PodGroup>> groups;
  // Pods that are set aside, to the node that they are on; and the order of such a node's pods.
  base::StringMap<std::string> aside;
  base::StringMap<std::vector<std::shared_ptr<const PodInfo>>> order_before;

  base::StringMap<ClaimEntry> claims;
  base::StringMap<std::shared_ptr<const api::ResourceClaim>> unseen;  // assumed, and never told of
  // Uid of a pod to the claims made for its extended resources, "namespace/name".
  base::StringMap<std::set<std::string>> extended_claims;

  base::StringMap<std::shared_ptr<const api::DeviceClass>> classes;
  base::StringMap<std::shared_ptr<const api::Namespace>> namespaces;
  std::map<std::string, std::shared_ptr<const api::PriorityClass>, std::less<>> priorities;
  Volumes volumes;
  // By namespace and name.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const api::PodDisruptionBudget>>
      budgets;
};

}  // namespace dray::scheduler
