// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: devices for several pods of a group on one node. The allocator searches for all
// their claims at once, so that none of them takes what another one alone could do with.
#include <iterator>
#include <utility>

#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

class UidsForShares final : public allocator::ShareIds {
 public:
  explicit UidsForShares(Ids& ids) : ids_(ids) {}
  std::string Next() override { return ids_.Uid(); }

 private:
  Ids& ids_;
};

}  // namespace

bool DynamicResources::ClaimsOfAll(std::span<const Member> members, const NodeInfo& node,
                                   std::vector<ClaimPointer>& claims,
                                   std::vector<std::size_t>& counts) {
  for (const Member& member : members) {
    State& data = member.state->Get<State>();
    counts.push_back(0);
    if (data.claims.empty()) continue;
    PluginStatus status;
    const Variant* variant = VariantFor(data, *member.pod, node, &status);
    if (variant == nullptr || variant->conflict) return false;
    std::vector<ClaimPointer> own = ToAllocate(data, *variant);
    counts.back() = own.size();
    std::move(own.begin(), own.end(), std::back_inserter(claims));
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
                                                         const NodeInfo& node) {
  std::vector<ClaimPointer> claims;
  std::vector<std::size_t> counts;
  if (!ClaimsOfAll(members, node, claims, counts)) return Together::kDoNot;
  if (claims.empty()) return Together::kFit;
  KnownPlan known;
  {
    const base::MutexLock lock(variants_);
    known = plans_.Get(claims, world_);
  }
  switch (DecideTogether(members, *known.plan, node).kind) {
    case allocator::Decision::Kind::kFits:
      return Together::kFit;
    case allocator::Decision::Kind::kRefused:
      return Together::kDoNot;
    default:
      return Together::kUnknown;
  }
}

StatusOr<std::vector<PresetDevices>> DynamicResources::ChooseTogether(
    std::span<const Member> members, const NodeInfo& node) {
  std::vector<ClaimPointer> claims;
  std::vector<std::size_t> counts;
  if (!ClaimsOfAll(members, node, claims, counts)) {
    return base::FailedPrecondition(fmt::format("node {} cannot fit resource", node.name()));
  }
  std::vector<PresetDevices> presets(members.size());
  if (claims.empty()) return presets;
  std::shared_ptr<const allocator::Plan> plan;
  {
    const base::MutexLock lock(variants_);
    plan = plans_.Make(claims, world_);
  }
  if (DecideTogether(members, *plan, node).kind != allocator::Decision::Kind::kFits) {
    return base::FailedPrecondition(
        fmt::format("node {}: the claims of {} pods cannot be allocated together", node.name(),
                    members.size()));
  }
  UidsForShares share_ids(ids_);
  DRAY_ASSIGN_OR_RETURN(std::vector<api::AllocationResult> results,
                        workers_[0]->allocator.Build(share_ids));
  auto next = results.begin();
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t n = counts[i]; n-- > 0; ++next) {
      presets[i].results.push_back(std::move(*next));
    }
  }
  return presets;
}

}  // namespace dray::scheduler
