// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: whether a node will do, and how well.
#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/hash/hash.h"
#include "allocator/explain.h"
#include "allocator/explain_summary.h"
#include "fmt/format.h"
#include "inventory/node_matching.h"
#include "scheduler/device_shortages.h"
#include "scheduler/plugins/binding_conditions.h"
#include "scheduler/plugins/device_fragmentation.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kOptionalNodeOperations = "DRAOptionalNodeOperations";

// What a profile is limited to is nothing that the claim says: whose it is, is told.
void NameLimit(const std::string& limit, std::string_view scheduler,
               allocator::Explanation& explanation) {
  for (allocator::ClaimReport& claim : explanation.claims) {
    for (allocator::RequestReport& request : claim.requests) {
      for (allocator::AlternativeReport& alternative : request.alternatives) {
        for (allocator::Drop& drop : alternative.drops) {
          if (drop.expression != limit) continue;
          drop.expression = fmt::format("of scheduler {}: {}", scheduler, limit);
          drop.selector.reset();  // none that could be taken from the claim
        }
      }
    }
  }
  explanation.summary = allocator::Summarize(explanation);
}

PluginStatus Refuse(std::string_view code, std::string text) {
  return PluginStatus::Unresolvable({.code = std::string(code), .text = std::move(text)});
}

bool SkipsNodeOperations(const api::AllocationResult& allocation) {
  return std::ranges::any_of(allocation.devices.results, [](const auto& result) {
    return !result.skip_node_operations.empty();
  });
}

// Reasons that the allocator can say more about.
bool IsOfDevices(const Reason& reason) {
  return reason.code == "cannot_allocate_claims" || reason.code == "search_budget" ||
         reason.code == "device_pools";
}

// What the allocator had decided, where the reason says it all.
std::optional<allocator::Decision::Kind> KindOf(const Reason& reason) {
  using Kind = allocator::Decision::Kind;
  if (reason.code == "cannot_allocate_claims") return Kind::kRefused;
  if (reason.code == "search_budget") return Kind::kBudget;
  return std::nullopt;
}

}  // namespace

PluginStatus DynamicResources::Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  State& data = state.Get<State>();
  if (data.claims.empty()) return PluginStatus::Success();
  PluginStatus status;
  const Variant* variant = VariantFor(data, pod, node, &status);
  if (variant == nullptr) return status;
  if (variant->conflict) {
    return Refuse("special_claim_stale", "cannot schedule extended resource claim");
  }
  if (variant->requests.devices > allocator::kMaxDevicesPerClaim) {
    return Refuse("too_many_devices",
                  fmt::format("node(s) would have to give {} devices for extended resources; one "
                              "claim can have at most {}",
                              variant->requests.devices, allocator::kMaxDevicesPerClaim));
  }

  std::vector<State::Claim*> unavailable;
  for (State::Claim& claim : data.claims) {
    if (claim.to_allocate || Available(claim, node, &status)) continue;
    if (!status.ok()) return status;
    unavailable.push_back(&claim);
  }
  if (node_allocatable_) {
    status = CheckSharing(data, pod, node);
    if (!status.ok()) return status;
  }
  if (variant->plan.plan != nullptr) {
    const allocator::Decision decision = Decide(state, pod, *variant->plan.plan, node);
    status = StatusOf(state, pod, decision, *variant, node);
    if (!status.ok()) return status;
  }
  if (node_allocatable_) {
    status = CheckNodeAllocatable(state.worker(), data, *variant, pod, node);
    if (!status.ok()) return status;
  }
  // Only where devices would be there for the rest does it help to give an allocation back. Other
  // workers may find the same.
  for (State::Claim* claim : unavailable) {
    std::atomic_ref(claim->unavailable).store(true, std::memory_order_relaxed);
  }
  if (!unavailable.empty()) {
    return Refuse("claim_elsewhere", "resourceclaim not available on the node");
  }
  return PluginStatus::Success();
}

// A resource that the node's allocatable has is its device plugin's affair: one node never has
// both.
const DynamicResources::Variant* DynamicResources::VariantFor(State& data, const PodInfo& pod,
                                                              const NodeInfo& node,
                                                              PluginStatus* status) {
  std::vector<bool> by_class(data.resources.size());
  for (std::size_t i = 0; i < data.resources.size(); ++i) {
    const ExtendedResource& resource = data.resources[i];
    const base::Quantity* amount = node.node->status.allocatable.Find(resource.name);
    if (!resource.device_class.empty() && (amount == nullptr || amount->IsZero())) {
      by_class[i] = true;
    } else if (amount == nullptr) {
      *status = Refuse("resource_missing", "cannot fit resource");
      return nullptr;
    }
  }
  if (data.usual != nullptr && data.usual->by_class == by_class) return data.usual;
  const base::MutexLock lock(variants_);
  for (const auto& variant : data.variants) {
    if (variant->by_class == by_class) return variant.get();
  }
  return &MakeVariant(data, pod, std::move(by_class));
}

const DynamicResources::Variant& DynamicResources::MakeVariant(State& data, const PodInfo& pod,
                                                               std::vector<bool> by_class) {
  auto variant = std::make_unique<Variant>();
  if (const State::Claim* special = data.special()) {
    std::vector<const ExtendedResource*> resources;
    for (std::size_t i = 0; i < by_class.size(); ++i) {
      if (by_class[i]) resources.push_back(&data.resources[i]);
    }
    variant->requests = RequestsFor(*pod.pod, resources);
    if (Stored(*special->claim)) {
      variant->claim = special->claim;
      variant->conflict = special->claim->metadata.deletion_timestamp.has_value() ||
                          special->claim->spec.devices.requests != variant->requests.requests;
    } else if (!variant->requests.requests.empty()) {
      api::ResourceClaim claim = *special->claim;
      claim.spec.devices.requests = variant->requests.requests;
      variant->claim = std::make_shared<const api::ResourceClaim>(std::move(claim));
    }
  }
  variant->by_class = std::move(by_class);
  if (const auto claims = ToAllocate(data, *variant); !claims.empty()) {
    variant->plan = plans_.Get(claims, world_);
  }
  return *data.variants.emplace_back(std::move(variant));
}

std::vector<ClaimPointer> DynamicResources::ToAllocate(const State& data,
                                                       const Variant& variant) const {
  std::vector<ClaimPointer> claims;
  for (const State::Claim& claim : data.claims) {
    if (!claim.to_allocate) continue;
    if (!claim.special) {
      claims.push_back(claim.claim);
    } else if (variant.claim != nullptr) {
      claims.push_back(variant.claim);
    }
  }
  return claims;
}

// An allocation is for some nodes only, may need something of the node, and may have failed for
// good.
bool DynamicResources::Available(const State::Claim& claim, const NodeInfo& node,
                                 PluginStatus* status) const {
  const api::AllocationResult& allocation = *claim.claim->status.allocation;
  if (allocation.node_selector.has_value()) {
    const StatusOr<bool> matches = inventory::Matches(*allocation.node_selector, *node.node);
    if (!matches.ok()) {
      *status = PluginStatus::Error(fmt::format("claim {}: node selector of the allocation: {}",
                                                KeyOf(claim.claim->metadata),
                                                base::Message(matches.status())));
      return false;
    }
    if (!*matches) return false;
  }
  if (SkipsNodeOperations(allocation) &&
      std::ranges::find(node.node->status.declared_features, kOptionalNodeOperations) ==
          node.node->status.declared_features.end()) {
    return false;
  }
  if (!binding_conditions_) return true;
  switch (BindingStateOf(*claim.claim).kind) {
    case BindingState::Kind::kReady:
      return true;
    case BindingState::Kind::kFailed:
      return false;
    case BindingState::Kind::kPending:
      break;
  }
  const auto deadline = BindingDeadline(*claim.claim, options_.args.binding_timeout);
  return !deadline.has_value() || *deadline >= clock_.Now();
}

allocator::Decision DynamicResources::Decide(CycleState& state, const PodInfo& pod,
                                             const allocator::Plan& plan, const NodeInfo& node) {
  allocator::SearchOptions search = options_.search;
  // An order costs time. It changes no answer, but for which alternatives of prioritized lists are
  // had, and those do not depend on it either: the first that fits is taken.
  if (search.policy == allocator::Policy::kFragmentation) {
    search.policy = allocator::Policy::kFirstFit;
  }
  return DecideBy(search, state, pod, plan, node);
}

allocator::Decision DynamicResources::Choose(CycleState& state, const PodInfo& pod,
                                             const allocator::Plan& plan, const NodeInfo& node) {
  allocator::SearchOptions search = options_.search;
  if (search.policy == allocator::Policy::kFragmentation) {
    search.preference = PreferenceFor(state, node);
  }
  return DecideBy(search, state, pod, plan, node);
}

allocator::Decision DynamicResources::DecideBy(const allocator::SearchOptions& search,
                                               CycleState& state, const PodInfo& pod,
                                               const allocator::Plan& plan, const NodeInfo& node) {
  // `node` may be a copy on which some pods are left out; what that means for devices the view knows.
  NodeInfo& known = *world_.node(node.index);
  if (Status refreshed = world_.RefreshDevices(known); !refreshed.ok()) {
    return {.kind = allocator::Decision::Kind::kFault, .fault = {std::move(refreshed), false}};
  }
  Worker& own = *workers_[state.worker()];
  allocator::Decision decision = own.allocator.Decide(plan, UsageOf(state, pod, known), search,
                                                      shards_[ShardOf(known)].verdicts);
  own.steps += decision.steps;
  return decision;
}

allocator::Decision DynamicResources::Refused(std::size_t worker, const allocator::Plan& plan,
                                              const NodeInfo& node) {
  using Kind = allocator::Decision::Kind;
  NodeInfo& known = *world_.node(node.index);
  if (Status refreshed = world_.RefreshDevices(known); !refreshed.ok()) {
    return {.kind = Kind::kFault, .fault = {std::move(refreshed), false}};
  }
  return workers_[worker]->allocator.Repeat(plan, known.usage, Kind::kRefused,
                                            shards_[ShardOf(known)].verdicts);
}

std::uint64_t DynamicResources::allocator_steps() const {
  std::uint64_t steps = 0;
  for (const auto& worker : workers_) steps += worker->steps;
  return steps;
}

PluginStatus DynamicResources::StatusOf(CycleState& state, const PodInfo& pod,
                                        const allocator::Decision& decision, const Variant& variant,
                                        const NodeInfo& node) {
  using Kind = allocator::Decision::Kind;
  switch (decision.kind) {
    case Kind::kFits:
      return PluginStatus::Success();
    case Kind::kRefused: {
      PluginStatus refused = Refuse("cannot_allocate_claims", "cannot allocate all claims");
      // [differs] Kubernetes never sends pods away for devices. docs/decisions.md #900.
      if (options_.preempt) refused.code = PluginStatus::Code::kUnschedulable;
      return refused;
    }
    case Kind::kBudget:
      return Refuse("search_budget",
                    "gave up looking for devices: whether the claims fit is not known");
    case Kind::kFault:
      break;
  }
  Status fault = decision.fault.status;
  // The plan may be that of other claims that ask for the same, and a fault names claims.
  const auto plan = allocator::MakePlan(ToAllocate(state.Get<State>(), variant), world_,
                                        world_.features(), world_.expressions());
  if (allocator::Decision own = Decide(state, pod, *plan, node); own.kind == Kind::kFault) {
    fault = own.fault.status;
  }
  std::string text(base::Message(fault));
  if (decision.fault.only_this_node) return Refuse("device_pools", std::move(text));
  return PluginStatus::Error(std::move(text));
}

std::uint64_t DynamicResources::DetailGroup(CycleState& state, const PodInfo& pod,
                                            const NodeInfo& node) {
  State& data = state.Get<State>();
  PluginStatus status;
  const Variant* variant = VariantFor(data, pod, node, &status);
  if (variant == nullptr || variant->conflict || variant->plan.plan == nullptr) return 0;
  // What was decided is told apart by the refusal; here it is what the node has for the claims.
  const allocator::Decision decision = Refused(state.worker(), *variant->plan.plan, node);
  std::size_t group = absl::HashOf(variant->plan.number, static_cast<int>(decision.kind),
                                   base::StringHash{}(base::Message(decision.fault.status)));
  if (decision.kind != allocator::Decision::Kind::kRefused) return group;
  // Nodes without any devices are not told together with nodes whose devices do not match.
  group = absl::HashOf(group, world_.node(node.index)->devices->devices().size());
  const allocator::Attempt& attempt = workers_[state.worker()]->allocator.attempt();
  for (std::size_t i = 0; i < variant->plan.plan->alternatives().size(); ++i) {
    const allocator::Candidates& candidates = attempt.candidates(i);
    std::size_t matching = 0;
    for (const allocator::Verdicts* verdicts : candidates.verdicts)
      matching += verdicts->pass.Count();
    group = absl::HashOf(group, candidates.devices.Count(), matching);
  }
  return group;
}

std::vector<Reason> DynamicResources::Detail(CycleState& state, const PodInfo& pod,
                                             const NodeInfo& node) {
  std::vector<Reason> reasons = Filter(state, pod, node).reasons;
  if (reasons.size() != 1) return reasons;
  State& data = state.Get<State>();
  PluginStatus status;
  const Variant* variant = VariantFor(data, pod, node, &status);
  Reason& reason = reasons.front();
  if (variant == nullptr || variant->plan.plan == nullptr || !IsOfDevices(reason)) return reasons;
  // A plan of the pod's own claims: the kept one may name those of another pod.
  std::shared_ptr<const allocator::Plan> plan;
  std::string limit;
  {
    const base::MutexLock lock(variants_);
    plan = plans_.Make(ToAllocate(data, *variant), world_);
    limit = plans_.limit();
  }
  auto explanation = std::make_shared<allocator::Explanation>(allocator::Explain(
      *plan, world_.node(node.index)->usage,
      {.search = options_.search, .decided = KindOf(reason), .allowance = &data.explaining}));
  if (!limit.empty()) NameLimit(limit, options_.component, *explanation);
  reason.shortages = ShortagesOf(*explanation);
  reason.devices = std::move(explanation);
  return reasons;
}

PluginStatus DynamicResources::PreScore(CycleState& state, const PodInfo&, World&) {
  const State* data = state.Find<State>();
  const auto has_list = [](const State::Claim& claim) {
    return std::ranges::any_of(claim.claim->spec.devices.requests, [](const auto& request) {
      return !request.first_available.empty();
    });
  };
  if (!prioritized_list_ || data == nullptr || std::ranges::none_of(data->claims, has_list)) {
    return PluginStatus::Skip();
  }
  return PluginStatus::Success();
}

std::int64_t DynamicResources::AllocatorScore(std::size_t worker,
                                              const allocator::Plan& plan) const {
  const allocator::Search& search = workers_[worker]->allocator.search();
  const auto best = static_cast<std::int64_t>(api::kFirstAvailableDeviceRequestMaxSize);
  std::int64_t score = 0;
  for (std::size_t i = 0; i < plan.requests().size(); ++i) {
    const allocator::RequestPlan& request = plan.requests()[i];
    if (request.prioritized) score += best - (search.chosen_alternatives()[i] - request.first);
  }
  return score;
}

std::int64_t DynamicResources::Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  const auto best = static_cast<std::int64_t>(api::kFirstAvailableDeviceRequestMaxSize);
  State& data = state.Get<State>();
  std::int64_t score = 0;
  for (const State::Claim& claim : data.claims) {
    if (claim.to_allocate) continue;
    const auto& results = claim.claim->status.allocation->devices.results;
    for (const api::DeviceRequest& request : claim.claim->spec.devices.requests) {
      for (std::size_t i = 0; i < request.first_available.size(); ++i) {
        const std::string chosen =
            fmt::format("{}/{}", request.name, request.first_available[i].name);
        if (std::ranges::find(results, chosen, &api::DeviceRequestAllocationResult::request) !=
            results.end()) {
          score += best - static_cast<std::int64_t>(i);
        }
      }
    }
  }
  PluginStatus status;
  const Variant* variant = VariantFor(data, pod, node, &status);
  if (variant == nullptr || variant->plan.plan == nullptr) return score;
  auto& scores = shards_[ShardOf(node)].scores;
  const Shard::ScoreKey key(variant->plan.number, node.version, world_.global_version());
  if (const std::int64_t* known = scores.Find(key)) return score + *known;
  std::int64_t of_plan = 0;
  if (Decide(state, pod, *variant->plan.plan, node).kind == allocator::Decision::Kind::kFits) {
    of_plan = AllocatorScore(state.worker(), *variant->plan.plan);
  }
  scores.Trim();
  scores.Put(key, of_plan);
  return score + of_plan;
}

void DynamicResources::Normalize(CycleState&, const PodInfo&, std::span<std::int64_t> scores) {
  const std::int64_t highest = scores.empty() ? 0 : std::ranges::max(scores);
  if (highest == 0) return;
  for (std::int64_t& score : scores) score = kMaxNodeScore * score / highest;
}

}  // namespace dray::scheduler
