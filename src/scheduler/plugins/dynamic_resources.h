// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: gives devices to the claims of pods, and to what pods ask for by names of
// extended resources.
//
// Filter asks the allocator; the devices are taken in Reserve and written down in PreBind, where
// binding may wait for conditions of the devices. What goes wrong after Reserve is taken back in
// Unreserve; an allocation that keeps a pod from every node is given back in PostFilter.
//
// Spec: KEP-4381, 4816 (score), 5007 (binding conditions), 5004; texts as in Kubernetes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/allocator.h"
#include "api/cluster.h"
#include "base/clock.h"
#include "base/generations.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "scheduler/config.h"
#include "scheduler/framework.h"
#include "scheduler/ids.h"
#include "scheduler/observer.h"
#include "scheduler/plugins/claim_writes.h"
#include "scheduler/plugins/device_reach.h"
#include "scheduler/plugins/dynamic_resources_state.h"
#include "scheduler/plugins/plan_cache.h"
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct DynamicResourcesOptions {
  DynamicResourcesArgs args;
  allocator::SearchOptions search;
  std::size_t workers = 1;                      // who may ask about nodes at the same time
  std::string component = "default-scheduler";  // who notes events
  bool preempt = false;                         // pods may be sent away for devices
  Observer* observer = nullptr;                 // outlives the plugin
};

// One thread, but for Filter, Score and DetailGroup: see FilterPlugin.
class DynamicResources final : public PreEnqueuePlugin,
                               public HintPlugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public DetailPlugin,
                               public PostFilterPlugin,
                               public ScorePlugin,
                               public ReservePlugin,
                               public PreBindPlugin,
                               public CountingPlugin,
                               public DevicePreemptionPlugin {
 public:
  // All outlive it.
  DynamicResources(World& world, api::Cluster& cluster, const base::Clock& clock, Ids& ids,
                   DynamicResourcesOptions options);

  std::string_view name() const override { return "DynamicResources"; }

  PluginStatus PreEnqueue(const PodInfo& pod) override;
  // How exact it is: dynamic_resources.md, "What wakes a pod".
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;

  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState& state, const PodInfo& pod) const override;
  std::uint64_t ClassOf(const CycleState& state, const PodInfo& pod) const override;
  std::uint64_t ConcernedAt(const CycleState& state, const PodInfo& pod) override;
  bool Lasts(std::span<const Reason> reasons) const override;
  std::uint64_t DetailGroup(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  std::vector<Reason> Detail(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  PostFilterResult PostFilter(CycleState& state, const PodInfo& pod, World& world) override;

  // Earlier entries of prioritized lists are better.
  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return true; }
  bool LocalScore(const CycleState& state, const PodInfo& pod) const override {
    return Local(state, pod);
  }
  void Normalize(CycleState& state, const PodInfo& pod, std::span<std::int64_t> scores) override;

  PluginStatus Reserve(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                       World& world) override;
  void Unreserve(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus PreBind(CycleState& state, const PodInfo& pod, std::string_view node,
                       World& world) override;

  // Preemption, dynamic_resources_preempt.cc.
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override;
  bool Preempts(const CycleState& state) const override;
  void Begin(CycleState& state) override;
  Pods Elsewhere(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  void TakeIdle(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  const DeviceHold* Hold(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                         const Pods& victims) override;

  std::uint64_t allocator_steps() const;

  // dynamic_resources_groups.cc: several pods of a group. Each with the state of its PreFilter.
  struct Member {
    CycleState* state = nullptr;
    const PodInfo* pod = nullptr;
  };
  enum class Together : std::uint8_t { kFit, kDoNot, kUnknown };
  // The claims that a member still needs, those for extended resources left out.
  std::vector<ClaimPointer> ClaimsNeeded(const CycleState& state) const;
  // What a member asks for beyond its shape: equal for pods that nothing tells apart, if `shared` are the
  // claims that several pods of the group name ("namespace/name"). Nothing: like no other.
  std::optional<std::string> WhatIsAsked(const CycleState& state, const PodInfo& pod,
                                         const base::StringSet& shared);
  // Whether the member may take devices, or counters, that pods on other nodes may take too. Of the claims
  // in `apart` nothing is asked, here and below.
  bool UsesWidePools(const Member& member, const base::StringSet& apart);
  // Claims that several pods of a group name, and of these the ones that are not asked about, by IdOf.
  struct SharedIds {
    base::StringSet shared;
    base::StringSet apart;
  };
  // Whether what all of them still need can be had at once. What is shared is had once; every other claim
  // as often as members come with it, who may stand for others like them.
  Together FitTogether(std::span<const Member> members, const NodeInfo& node, const SharedIds& ids);
  // What they get then, for Reserve.
  StatusOr<PresetDevices> ChooseTogether(std::span<const Member> members, const NodeInfo& node,
                                         const SharedIds& ids);
  // The same for pods on several nodes, with claims that some of them share: devices of these reach all
  // of the domain, a set of nodes by rank. `pod`: one of the group.
  struct Placed {
    const NodeInfo* node = nullptr;
    std::vector<Member> members;
  };
  struct SharedClaims {
    std::vector<ClaimPointer> claims;
    base::BitSet domain;
  };
  Together FitAcross(const PodInfo& pod, std::span<const Placed> placed,
                     std::span<const SharedClaims> shared, DeviceReach& reach);
  StatusOr<PresetDevices> ChooseAcross(const PodInfo& pod, std::span<const Placed> placed,
                                       std::span<const SharedClaims> shared, DeviceReach& reach);
  // Of what was chosen for all of them, the member's, by its state of a PreFilter since.
  static PresetDevices PresetFor(const CycleState& state, const PresetDevices& all);
  // Whether pods may be sent away for devices.
  bool preempts() const { return options_.preempt; }
  // What the member has taken and is not stored yet, by claim.
  static std::vector<DeviceHold::Kept> TakenBy(const CycleState& state);
  // From now on it is another attempt at a group: within one, pods join allocations that others of it have
  // taken and that are not stored.
  void BeginGroup() { ++group_attempt_, in_group_ = true; }
  void EndGroup() { in_group_ = false; }
  // Gives back claims of a group whose pods have no nodes and do not fit where these claims are. How many
  // claims; a status of the first that could not be.
  StatusOr<std::size_t> GiveBackOfGroup(const api::PodGroup& group,
                                        std::span<const std::shared_ptr<const PodInfo>> pods);

 private:
  using State = DynamicResourcesState;
  using Variant = State::Variant;

  // PreFilter.
  std::optional<PluginStatus> CheckAllocated(const api::ResourceClaim& claim, const PodInfo& pod);
  std::optional<PluginStatus> CheckPending(const api::ResourceClaim& claim);
  std::optional<PluginStatus> CheckClass(std::string_view device_class, std::string_view request);
  // Whether the profile gives away devices of that class at all.
  bool Serves(std::string_view device_class) const;
  void AddSpecial(State& data, const api::Pod& pod);
  void FitShards();
  // Of a node without device plugins.
  static std::vector<bool> AllByClass(const State& data);

  // The claims of all members that are to be allocated, those that they share once. False: the node does not
  // have what one of them asks for by name.
  bool ClaimsOfAll(std::span<const Member> members, const NodeInfo& node, const SharedIds& ids,
                   std::vector<ClaimPointer>& claims);
  // A question about several nodes.
  struct Across;
  Together AskAcross(const PodInfo& pod, std::span<const Placed> placed,
                     std::span<const SharedClaims> shared, DeviceReach& reach, Across& asked);
  allocator::Decision DecideTogether(std::span<const Member> members, const allocator::Plan& plan,
                                     const NodeInfo& node);
  // Filter. What the special claim is on a node; null with a status when the node has no such
  // resource at all.
  const Variant* VariantFor(State& data, const PodInfo& pod, const NodeInfo& node,
                            PluginStatus* status);
  const Variant& MakeVariant(State& data, const PodInfo& pod, std::vector<bool> by_class)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(variants_);
  bool Available(const State::Claim& claim, const NodeInfo& node, PluginStatus* status) const;
  // The claims that are to be allocated, as the variant has them.
  std::vector<ClaimPointer> ToAllocate(const State& data, const Variant& variant) const;
  // Whether there are devices; which ones they are is Reserve's affair (Choose), and does not matter
  // here.
  allocator::Decision Decide(CycleState& state, const PodInfo& pod, const allocator::Plan& plan,
                             const NodeInfo& node);
  allocator::Decision DecideBy(const allocator::SearchOptions& search, CycleState& state,
                               const PodInfo& pod, const allocator::Plan& plan,
                               const NodeInfo& node);
  // By the policy.
  allocator::Decision Choose(CycleState& state, const PodInfo& pod, const allocator::Plan& plan,
                             const NodeInfo& node);
  // What is in use on a node whose devices are up to date, as the framework wants to have it seen:
  // HeldDevices, and who is counted out.
  const ledger::NodeUsage& UsageOf(CycleState& state, const PodInfo& pod, const NodeInfo& known);
  DeviceView& ViewFor(State& data, const PodInfo& pod);
  // Users of claims in pools of several nodes that a pod's plan can use, if all of a claim's may go.
  void FindWideUsers(State& data, const PodInfo& pod);
  // The same without searching, for a plan that the node is known to refuse.
  allocator::Decision Refused(std::size_t worker, const allocator::Plan& plan,
                              const NodeInfo& node);
  PluginStatus StatusOf(CycleState& state, const PodInfo& pod, const allocator::Decision& decision,
                        const Variant& variant, const NodeInfo& node);
  std::int64_t AllocatorScore(std::size_t worker, const allocator::Plan& plan) const;
  // dynamic_resources_node.cc: what devices take of the node's own resources. After a decision of
  // this worker about the variant's plan, if it has one.
  PluginStatus CheckNodeAllocatable(std::size_t worker, const State& data, const Variant& variant,
                                    const PodInfo& pod, const NodeInfo& node);
  // Of claims that are allocated: those that stand for a part of the node are one pod's.
  PluginStatus CheckSharing(const State& data, const PodInfo& pod, const NodeInfo& node);
  // Takes it, with the devices.
  PluginStatus ReserveNodeAllocatable(State& data, const PodInfo& pod, const NodeInfo& node);
  Status WriteNodeAllocatable(State& data, const PodInfo& pod);
  // What an answer depends on beyond the plan and the pod's shape, with the plan as one number.
  std::uint64_t FootprintOf(const State& data, const api::Pod& pod);
  Hint AfterRoomChange(const api::Change& change, const api::Object* old, const PodInfo& pod) const;

  // Groups. The allocation that another pod has taken in this attempt, if there is one.
  std::shared_ptr<SharedAllocation> FindShared(const api::ResourceClaim& claim) const;
  // For whom the claim is reserved.
  api::ResourceClaimConsumerReference ConsumerFor(const CycleState& state,
                                                  const api::ResourceClaim& claim,
                                                  const PodInfo& pod) const;

  // PreBind.
  Status BindClaim(CycleState& state, State::Claim& claim, const PodInfo& pod);
  PluginStatus AwaitConditions(State& data, const PodInfo& pod, std::string_view node);
  // Waiting is over, for all claims of the pod.
  void ConditionsOver(const State& data, std::string_view status) const;

  // Hints.
  Hint AfterClaimChange(const PodInfo& pod, const api::ResourceClaim* now,
                        const api::ResourceClaim* before);
  Hint AfterSliceChange(const PodInfo& pod, const api::ResourceSlice* now,
                        const api::ResourceSlice* before);
  Hint AfterClassChange(const PodInfo& pod, const api::DeviceClass* now,
                        const api::DeviceClass* before) const;
  Hint AfterNodeChange(const PodInfo& pod, const api::Node* now, const api::Node* before) const;
  // The plan of what the pod still needs. Null when it needs nothing, or cannot be scheduled
  // anyway.
  KnownPlan Needs(const PodInfo& pod);
  KnownPlan FindNeeds(const PodInfo& pod);
  bool AnyUsableIn(std::string_view driver, std::string_view pool, const KnownPlan& needs);
  bool AnyUsableIn(inventory::PoolId pool, const allocator::Plan& plan);

  // What a plan has to do with pools that every node may use.
  struct Concern {
    std::uint64_t seen = 0;       // World::global_version, of what is counted in
    std::uint64_t concerned = 0;  // of the last change that may have changed an answer
    // Whether a pool that has changed could be of use after that.
    absl::flat_hash_map<inventory::PoolId, bool> usable;
  };
  // Whether the changes may have changed what the plan's pods are answered.
  bool Concerns(std::span<const World::PoolChange> changes, const allocator::Plan& plan,
                Concern& concern);

  World& world_;
  api::Cluster& cluster_;
  const base::Clock& clock_;
  Ids& ids_;
  const DynamicResourcesOptions options_;
  const bool extended_resources_;  // gates
  const bool binding_conditions_;
  const bool prioritized_list_;
  const bool node_allocatable_;
  const bool group_claims_;
  ClaimWrites writes_;
  base::Mutex variants_;  // several workers find State::variants
  static constexpr std::size_t kPlans = 1024;
  PlanCache plans_ ABSL_GUARDED_BY(variants_);
  // The last answer of Needs.
  struct Needed {
    std::shared_ptr<const api::Pod> pod;
    std::uint64_t claims_version = 0;
    KnownPlan plan;
  };
  Needed needed_;
  // What one worker decides with. The scheduling thread is the first.
  struct alignas(64) Worker {
    allocator::Allocator allocator;
    std::uint64_t steps = 0;
  };
  std::vector<std::unique_ptr<Worker>> workers_;
  // What is kept of the nodes of a shard. In all shards together: 256 verdicts a node up to so many,
  // then 64 a node; and 1,024 scores a node up to so many. Of all of these at most about twice that.
  static constexpr std::size_t kVerdicts = std::size_t{1} << 15;
  static constexpr std::size_t kScores = std::size_t{1} << 17;
  struct alignas(64) Shard {
    allocator::VerdictCache verdicts;
    // Raw scores by plan, version of a node, and World::global_version.
    using ScoreKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
    base::Generations<absl::flat_hash_map<ScoreKey, std::int64_t>> scores{kScores / kNodeShards};
  };
  std::vector<Shard> shards_;
  std::size_t fitted_ = 0;  // to so many nodes
  std::uint64_t group_attempt_ = 0;
  bool in_group_ = false;
  base::StringMap<std::weak_ptr<SharedAllocation>> shared_;  // by uid
  allocator::VerdictCache across_verdicts_;
  allocator::VerdictCache hint_verdicts_;                 // of slices, whichever node they are for
  absl::flat_hash_map<std::uint64_t, Concern> concerns_;  // by number of the plan
  // Numbers that no plan has: they count down. By plan and footprint.
  absl::flat_hash_map<std::string, std::uint64_t> footprints_;
  std::uint64_t next_footprint_ = ~std::uint64_t{0};
};

}  // namespace dray::scheduler
