// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: devices for several pods of a group. The allocator searches for all their claims at
// once, so that none of them takes what another one alone could do with. A claim that several of them
// name is had once.
//
// Where pods on several nodes may want the same devices, or share a claim, the question is about the
// devices of all these nodes: each claim is limited to those that its pod's node can use, and one that
// pods share to those that reach every node where one of them may be.
#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "inventory/node_matching.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

using base::BitSet;
using Kind = allocator::Decision::Kind;

class UidsForShares final : public allocator::ShareIds {
 public:
  explicit UidsForShares(Ids& ids) : ids_(ids) {}
  std::string Next() override { return ids_.Uid(); }

 private:
  Ids& ids_;
};

bool Has(std::span<const ClaimPointer> claims, const ClaimPointer& claim) {
  const std::string id = IdOf(*claim);
  return std::ranges::any_of(claims, [&](const ClaimPointer& one) { return IdOf(*one) == id; });
}

// Of those devices that several nodes have together, the ones that one of them can use.
BitSet UsableOn(const NodeInfo& node, const inventory::NodeDevices& together) {
  absl::flat_hash_map<const inventory::SliceTable*, std::uint32_t> first;
  for (const auto& range : together.slices()) first.emplace(range.slice, range.first_device);
  BitSet usable(together.devices().size());
  for (const auto& range : node.devices->slices()) {
    const auto found = first.find(range.slice);
    if (found == first.end()) continue;
    for (std::size_t row = 0; row < range.slice->devices().size(); ++row) {
      const auto& device = node.devices->devices()[range.first_device + row];
      if (device.on_node && !device.operations_missing) usable.Set(found->second + row);
    }
  }
  return usable;
}

// A pool that a node sees in another state than all of them do, for which one answer cannot stand.
bool SeenAlike(const NodeInfo& node, const inventory::NodeDevices& together) {
  return std::ranges::all_of(node.devices->pools(), [&](const inventory::PoolOnNode& pool) {
    const auto same = std::ranges::find(together.pools(), pool.id, &inventory::PoolOnNode::id);
    return same != together.pools().end() && same->state == pool.state;
  });
}

}  // namespace

std::vector<ClaimPointer> DynamicResources::ClaimsNeeded(const CycleState& state) const {
  std::vector<ClaimPointer> needed;
  const State* data = state.Find<State>();
  if (data == nullptr) return needed;
  for (const State::Claim& claim : data->claims) {
    if (claim.to_allocate && !claim.special) needed.push_back(claim.claim);
  }
  return needed;
}

std::optional<std::string> DynamicResources::WhatIsAsked(const CycleState& state,
                                                         const PodInfo& pod,
                                                         const base::StringSet& shared) {
  const State* data = state.Find<State>();
  if (data == nullptr || data->claims.empty()) return "";
  std::string kind = fmt::format("{}", ClassOf(state, pod));
  for (const State::Claim& claim : data->claims) {
    const bool stored = !claim.special || Stored(*claim.claim);
    if (claim.special && stored) return std::nullopt;
    // The very claim counts where it is not the pod's alone, or says where the pod can be.
    const std::string key = IdOf(*claim.claim);
    if (stored && (!claim.to_allocate || shared.contains(key))) kind.append(" ").append(key);
  }
  return kind;
}

bool DynamicResources::UsesWidePools(const Member& member, const base::StringSet& apart) {
  State& data = member.state->Get<State>();
  if (data.claims.empty()) return false;
  // Which resources a node serves by classes is a matter of the node.
  if (!data.resources.empty()) return !world_.WidePools().empty();
  std::vector<ClaimPointer> own;
  for (ClaimPointer& claim : ClaimsNeeded(*member.state)) {
    if (!apart.contains(IdOf(*claim))) own.push_back(std::move(claim));
  }
  if (own.empty()) return false;
  KnownPlan known;
  {
    const base::MutexLock lock(variants_);
    known = plans_.Get(own, world_);
  }
  return std::ranges::any_of(
      world_.WidePools(), [&](inventory::PoolId pool) { return AnyUsableIn(pool, *known.plan); });
}

bool DynamicResources::ClaimsOfAll(std::span<const Member> members, const NodeInfo& node,
                                   const SharedIds& ids, std::vector<ClaimPointer>& claims) {
  for (const Member& member : members) {
    State& data = member.state->Get<State>();
    if (data.claims.empty()) continue;
    PluginStatus status;
    const Variant* variant = VariantFor(data, *member.pod, node, &status);
    if (variant == nullptr || variant->conflict) return false;
    for (ClaimPointer& claim : ToAllocate(data, *variant)) {
      const std::string id = IdOf(*claim);
      if (ids.apart.contains(id) || (ids.shared.contains(id) && Has(claims, claim))) continue;
      claims.push_back(std::move(claim));
    }
  }
  return true;
}

// What is held for others is left alone.
allocator::Decision DynamicResources::DecideTogether(std::span<const Member> members,
                                                     const allocator::Plan& plan,
                                                     const NodeInfo& node) {
  CycleState& state = *members.front().state;
  state.Get<HeldDevices>().view = HeldDevices::View::kTaken;
  const allocator::Decision decision = Decide(state, *members.front().pod, plan, node);
  state.Get<HeldDevices>().view = HeldDevices::View::kIgnored;
  state.Get<State>().view = nullptr;
  return decision;
}

DynamicResources::Together DynamicResources::FitTogether(std::span<const Member> members,
                                                         const NodeInfo& node,
                                                         const SharedIds& ids) {
  std::vector<ClaimPointer> claims;
  if (!ClaimsOfAll(members, node, ids, claims)) return Together::kDoNot;
  if (claims.empty()) return Together::kFit;
  KnownPlan known;
  {
    const base::MutexLock lock(variants_);
    known = plans_.Get(claims, world_);
  }
  switch (DecideTogether(members, *known.plan, node).kind) {
    case Kind::kFits:
      return Together::kFit;
    case Kind::kRefused:
      return Together::kDoNot;
    default:
      return Together::kUnknown;
  }
}

StatusOr<PresetDevices> DynamicResources::ChooseTogether(std::span<const Member> members,
                                                         const NodeInfo& node,
                                                         const SharedIds& ids) {
  std::vector<ClaimPointer> claims;
  if (!ClaimsOfAll(members, node, ids, claims)) {
    return base::FailedPrecondition(fmt::format("node {} cannot fit resource", node.name()));
  }
  PresetDevices preset;
  if (claims.empty()) return preset;
  std::shared_ptr<const allocator::Plan> plan;
  {
    const base::MutexLock lock(variants_);
    plan = plans_.Make(claims, world_);
  }
  if (DecideTogether(members, *plan, node).kind != Kind::kFits) {
    return base::FailedPrecondition(
        fmt::format("node {}: the claims of {} pods cannot be allocated together", node.name(),
                    members.size()));
  }
  UidsForShares share_ids(ids_);
  DRAY_ASSIGN_OR_RETURN(std::vector<api::AllocationResult> results,
                        workers_[0]->allocator.Build(share_ids));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    preset.by_claim[IdOf(*claims[i])] = std::move(results[i]);
  }
  return preset;
}

// Everything that the last answer was made from, as long as something is asked of it.
struct DynamicResources::Across {
  std::vector<ClaimPointer> claims;
  std::shared_ptr<const allocator::Plan> plan;
  std::shared_ptr<const inventory::NodeDevices> devices;
  std::unique_ptr<DeviceView> view;
  ledger::NodeUsage usage;
  std::deque<BitSet> masks;
  std::vector<allocator::ClaimScope> scopes;
};

DynamicResources::Together DynamicResources::AskAcross(const PodInfo& pod,
                                                       std::span<const Placed> placed,
                                                       std::span<const SharedClaims> shared,
                                                       DeviceReach& reach, Across& asked) {
  // Whose devices: the nodes of pods, and for each claim that is shared one from which all that it may
  // have can be seen.
  std::vector<NodeInfo*> nodes;
  const auto add_node = [&](const NodeInfo& node) {
    NodeInfo* known = world_.node(node.index);
    if (std::ranges::find(nodes, known) == nodes.end()) nodes.push_back(known);
  };
  for (const Placed& one : placed) add_node(*one.node);
  SharedIds ids;
  for (const SharedClaims& one : shared) {
    add_node(*world_.nodes()[one.domain.First()]);
    for (const ClaimPointer& claim : one.claims) ids.apart.insert(IdOf(*claim));
  }
  std::vector<const api::Node*> objects;
  for (NodeInfo* node : nodes) {
    if (!world_.RefreshDevices(*node).ok()) return Together::kUnknown;
    objects.push_back(node->node.get());
  }
  auto devices =
      inventory::GatherTogether(world_.inventory().snapshot(), objects, world_.features());
  if (!devices.ok()) return Together::kUnknown;
  asked.devices = *std::move(devices);
  for (const NodeInfo* node : nodes) {
    if (!SeenAlike(*node, *asked.devices)) return Together::kUnknown;
  }

  const auto limit = [&](const BitSet& mask, std::string_view node) {
    asked.scopes.resize(asked.claims.size(), {.devices = &mask, .node = node});
  };
  for (const SharedClaims& one : shared) {
    BitSet& mask = asked.masks.emplace_back();
    const bool alone = one.domain.Count() == 1;
    const NodeInfo& first = *world_.nodes()[one.domain.First()];
    mask = UsableOn(first, *asked.devices);
    for (std::size_t d = mask.First(); d != BitSet::kNone && !alone; d = mask.Next(d)) {
      const inventory::NodeDevice& device = asked.devices->devices()[d];
      const auto reached = reach.Of(*device.slice, *device.row);
      if (!reached.ok()) return Together::kUnknown;
      if (device.row->binds_to_node || !one.domain.IsSubsetOf(*reached)) mask.Reset(d);
    }
    std::ranges::copy(one.claims, std::back_inserter(asked.claims));
    limit(mask, first.name());
  }
  for (const Placed& one : placed) {
    std::vector<ClaimPointer> own;
    if (!ClaimsOfAll(one.members, *one.node, ids, own)) return Together::kDoNot;
    if (own.empty()) continue;
    BitSet& mask =
        asked.masks.emplace_back(UsableOn(*world_.node(one.node->index), *asked.devices));
    std::ranges::move(own, std::back_inserter(asked.claims));
    limit(mask, one.node->name());
  }
  if (asked.claims.empty()) return Together::kFit;
  {
    const base::MutexLock lock(variants_);
    asked.plan = plans_.Make(asked.claims, world_);
  }
  // Mode All counts pools whether or not a claim's own node sees them.
  if (!asked.plan->simple() && (asked.devices->any_incomplete() || asked.devices->any_invalid())) {
    return Together::kUnknown;
  }
  const ledger::Snapshot* taken = &world_.ledger().snapshot();
  if (options_.preempt && !world_.holds().empty()) {
    asked.view = std::make_unique<DeviceView>(world_, pod);
    taken = &asked.view->SnapshotOf(HeldDevices::View::kTaken);
  }
  asked.usage.Update(asked.devices, *taken);
  allocator::SearchOptions search = options_.search;
  if (search.policy == allocator::Policy::kFragmentation) {
    search.policy = allocator::Policy::kFirstFit;
  }
  Worker& own = *workers_[0];
  const allocator::Decision decision =
      own.allocator.Decide(*asked.plan, asked.usage, search, across_verdicts_, asked.scopes);
  own.steps += decision.steps;
  switch (decision.kind) {
    case Kind::kFits:
      return Together::kFit;
    case Kind::kRefused:
      return Together::kDoNot;
    default:
      return Together::kUnknown;
  }
}

PresetDevices DynamicResources::PresetFor(const CycleState& state, const PresetDevices& all) {
  PresetDevices own;
  const State* data = state.Find<State>();
  if (data == nullptr) return own;
  for (const State::Claim& claim : data->claims) {
    if (!claim.to_allocate) continue;
    const auto found = all.by_claim.find(IdOf(*claim.claim));
    if (found != all.by_claim.end()) own.by_claim.insert(*found);
  }
  return own;
}

DynamicResources::Together DynamicResources::FitAcross(const PodInfo& pod,
                                                       std::span<const Placed> placed,
                                                       std::span<const SharedClaims> shared,
                                                       DeviceReach& reach) {
  Across asked;
  return AskAcross(pod, placed, shared, reach, asked);
}

StatusOr<PresetDevices> DynamicResources::ChooseAcross(const PodInfo& pod,
                                                       std::span<const Placed> placed,
                                                       std::span<const SharedClaims> shared,
                                                       DeviceReach& reach) {
  Across asked;
  if (AskAcross(pod, placed, shared, reach, asked) != Together::kFit) {
    return base::FailedPrecondition(
        fmt::format("the claims of pods on {} nodes cannot be allocated together", placed.size()));
  }
  PresetDevices preset;
  if (asked.claims.empty()) return preset;
  UidsForShares share_ids(ids_);
  DRAY_ASSIGN_OR_RETURN(std::vector<api::AllocationResult> results,
                        workers_[0]->allocator.Build(share_ids));
  for (std::size_t i = 0; i < asked.claims.size(); ++i) {
    preset.by_claim[IdOf(*asked.claims[i])] = std::move(results[i]);
  }
  return preset;
}

std::vector<DeviceHold::Kept> DynamicResources::TakenBy(const CycleState& state) {
  std::vector<DeviceHold::Kept> taken;
  const State* data = state.Find<State>();
  if (data == nullptr) return taken;
  for (const State::Claim& claim : data->claims) {
    if (claim.allocation.has_value()) taken.push_back({IdOf(*claim.claim), *claim.allocation});
  }
  return taken;
}

StatusOr<std::size_t> DynamicResources::GiveBackOfGroup(
    const api::PodGroup& group, std::span<const std::shared_ptr<const PodInfo>> pods) {
  base::StringSet uids = {group.metadata.uid};
  for (const auto& pod : pods) uids.insert(pod->pod->metadata.uid);
  base::StringSet seen;
  std::size_t given_back = 0;
  for (const auto& pod : pods) {
    for (const ClaimPointer& claim : ClaimsOf(*pod->pod, world_).claims) {
      if (!claim->status.allocation.has_value() || !seen.insert(KeyOf(claim->metadata)).second) {
        continue;
      }
      // Only where pods of this group alone use it, and where it keeps them from some node.
      const auto own = [&](const api::ResourceClaimConsumerReference& user) {
        return uids.contains(user.uid);
      };
      const auto& selector = claim->status.allocation->node_selector;
      if (!selector || !std::ranges::all_of(claim->status.reserved_for, own)) continue;
      const bool pins = std::ranges::any_of(world_.nodes(), [&](const NodeInfo* node) {
        const auto matches = inventory::Matches(*selector, *node->node);
        return !matches.ok() || !*matches;
      });
      if (!pins) continue;
      DRAY_RETURN_IF_ERROR(writes_.Deallocate(*claim));
      ++given_back;
    }
  }
  return given_back;
}

}  // namespace dray::scheduler
