// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: which pods have devices that another one needs, whether it would get them if some
// of them were gone, and holding them for it until they are.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "scheduler/cycle_data.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

using View = HeldDevices::View;

// A share is one by having an id; which one it will be is not known yet.
class NoShareIds final : public allocator::ShareIds {
 public:
  std::string Next() override { return {}; }
};

View ViewIn(const CycleState& state) {
  const auto* held = state.Find<HeldDevices>();
  return held == nullptr ? View::kIgnored : held->view;
}

}  // namespace

bool DynamicResources::Preempts(const CycleState& state) const {
  const State* data = state.Find<State>();
  return options_.preempt && data != nullptr &&
         std::ranges::any_of(data->claims, &State::Claim::to_allocate);
}

DeviceView& DynamicResources::ViewFor(State& data, const PodInfo& pod) {
  if (data.view == nullptr) data.view = std::make_unique<DeviceView>(world_, pod);
  return *data.view;
}

const ledger::NodeUsage& DynamicResources::UsageOf(CycleState& state, const PodInfo& pod,
                                                   const NodeInfo& known) {
  // Mostly nobody is counted out and nothing is held; several workers ask then.
  if (!options_.preempt) return known.usage;
  const View view = ViewIn(state);
  State& data = state.Get<State>();
  const bool nothing = data.view == nullptr || !data.view->changed();
  if (nothing && (view == View::kIgnored || world_.holds().empty())) return known.usage;
  return ViewFor(data, pod).UsageOf(known, view);
}

void DynamicResources::Count(CycleState& state, const PodInfo& pod, const PodInfo& other,
                             const NodeInfo&, int delta) {
  if (!Preempts(state)) return;
  DeviceView& view = ViewFor(state.Get<State>(), pod);
  delta < 0 ? view.Take(other) : view.PutBack(other);
}

void DynamicResources::Begin(CycleState& state) {
  State& data = state.Get<State>();
  data.view = nullptr;
  data.wide.reset();
}

void DynamicResources::TakeIdle(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  NodeInfo& known = *world_.node(node.index);
  if (!world_.RefreshDevices(known).ok()) return;
  ViewFor(state.Get<State>(), pod).TakeIdle(known);
}

void DynamicResources::FindWideUsers(State& data, const PodInfo& pod) {
  data.wide.emplace();
  const ledger::Snapshot& taken = world_.ledger().snapshot();
  for (const inventory::PoolId pool : world_.WidePools()) {
    const ledger::PoolUsage* usage = taken.Find(pool);
    if (usage == nullptr) continue;
    // Where nodes serve extended resources in different ways, what most of them need is not all.
    if (data.resources.empty() && data.usual->plan.plan != nullptr &&
        !AnyUsableIn(pool, *data.usual->plan.plan)) {
      continue;
    }
    std::set<std::string_view> claims;
    for (const ledger::DeviceUsage& device : usage->devices) {
      for (const ledger::Holder holder : device.holders) claims.insert(taken.NameOf(holder));
    }
    std::map<std::string_view, std::shared_ptr<const PodInfo>> users;
    for (const std::string_view name : claims) {
      const std::size_t slash = name.find('/');
      const auto claim = world_.FindClaim(name.substr(0, slash), name.substr(slash + 1));
      if (claim == nullptr) continue;
      const ClaimUsers of_claim = UsersOf(*claim, world_);
      const auto may_go = [&](const auto& user) {
        return user->priority < pod.priority || user->pod->metadata.deletion_timestamp.has_value();
      };
      if (of_claim.others || !ClaimWrites::IsGivenBack(*claim) ||
          !std::ranges::all_of(of_claim.pods, may_go))
        continue;
      for (const auto& user : of_claim.pods) {
        if (user->priority < pod.priority) users.emplace(user->key, user);
      }
    }
    if (users.empty()) continue;
    State::WideUsers& found = data.wide->emplace_back();
    found.pool = pool;
    for (const auto& [key, user] : users) found.pods.push_back(user);
  }
}

DevicePreemptionPlugin::Pods DynamicResources::Elsewhere(CycleState& state, const PodInfo& pod,
                                                         const NodeInfo& node) {
  State& data = state.Get<State>();
  if (!data.wide) FindWideUsers(data, pod);
  Pods pods;
  if (data.wide->empty()) return pods;
  NodeInfo& known = *world_.node(node.index);
  if (!world_.RefreshDevices(known).ok()) return pods;
  for (const State::WideUsers& users : *data.wide) {
    if (std::ranges::find(known.devices->pools(), users.pool, &inventory::PoolOnNode::id) ==
        known.devices->pools().end()) {
      continue;
    }
    std::ranges::copy_if(users.pods, std::back_inserter(pods), [&](const auto& user) {
      const std::string_view on = world_.NodeOf(user->key);
      return !on.empty() && on != node.name();
    });
  }
  std::ranges::sort(pods, {}, &PodInfo::key);
  pods.erase(std::unique(pods.begin(), pods.end()), pods.end());
  return pods;
}

const DeviceHold* DynamicResources::Hold(CycleState& state, const PodInfo& pod,
                                         const NodeInfo& node, const Pods& victims) {
  State& data = state.Get<State>();
  PluginStatus status;
  const Variant* variant = VariantFor(data, pod, node, &status);
  if (variant == nullptr || variant->plan.plan == nullptr) return nullptr;
  state.Get<HeldDevices>().view = View::kAfterwards;
  const allocator::Decision decision = Decide(state, pod, *variant->plan.plan, node);
  state.Get<HeldDevices>().view = View::kIgnored;
  if (decision.kind != allocator::Decision::Kind::kFits) return nullptr;
  NoShareIds ids;
  auto results = workers_[state.worker()]->allocator.Build(ids);
  if (!results.ok()) return nullptr;

  DeviceHold hold{
      .pod = pod.key, .uid = pod.pod->metadata.uid, .priority = pod.priority, .node = node.name()};
  auto result = results->begin();
  for (const State::Claim& claim : data.claims) {
    if (!claim.to_allocate || (claim.special && variant->claim == nullptr)) continue;
    hold.devices.push_back({KeyOf(claim.claim->metadata), std::move(*result++)});
    for (const auto& device : hold.devices.back().allocation.devices.results) {
      const auto pool = world_.expressions().dictionary().FindPool(device.driver, device.pool);
      hold.wide |= pool.has_value() && world_.IsWide(*pool);
    }
  }
  const DeviceView& view = ViewFor(data, pod);
  for (const auto& claim : view.Released()) {
    hold.leaving.push_back({claim->metadata.namespace_, claim->metadata.name, claim->metadata.uid});
  }
  for (const auto& victim : victims) {
    hold.victims.push_back({victim->key, victim->pod->metadata.uid});
  }
  for (const DeviceHold* other : view.before()) {
    if (other->node != node.name() && !(other->wide && hold.wide)) continue;
    std::ranges::copy(other->leaving, std::back_inserter(hold.others_leaving));
    std::ranges::copy(other->victims, std::back_inserter(hold.others_victims));
  }
  world_.holds().Put(std::move(hold));
  return world_.holds().Find(pod);
}

}  // namespace dray::scheduler
