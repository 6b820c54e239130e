// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_resources_fit.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/device_class.h"
#include "api/extended_resources.h"
#include "api/gates.h"
#include "api/node.h"
#include "api/pod_resources.h"
#include "base/quantity.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {
namespace {

using base::Quantity;
using Look = FitState::Look;

bool Listed(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// Bytes read best in powers of two.
bool InBytes(std::string_view name) {
  return name == api::kResourceMemory || name == api::kResourceEphemeralStorage ||
         name.starts_with(api::kHugePagesPrefix);
}

std::string Written(std::string_view name, std::int64_t amount) {
  if (name == api::kResourceCpu) return Quantity::FromMilli(amount).ToString();
  return Quantity::FromInt(
             amount, InBytes(name) ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI)
      .ToString();
}

// Whether `after` leaves less of something that `waiting` asks for.
bool Released(const api::Pod& waiting, const api::Pod& before, const api::Pod& after) {
  const auto asked = api::PodRequests(waiting);
  const auto had = api::PodRequests(before, {.use_status = true});
  const auto has = api::PodRequests(after, {.use_status = true});
  return std::ranges::any_of(asked, [&](const auto& entry) {
    const Quantity* old_amount = had.Find(entry.first.view());
    const Quantity* new_amount = has.Find(entry.first.view());
    if (entry.second.IsZero() || old_amount == nullptr) return false;
    return new_amount == nullptr || *new_amount < *old_amount;
  });
}

// Whether the pod itself asks for less of anything.
bool AsksLess(const api::Pod& before, const api::Pod& after) {
  return Released(before, before, after);
}

// Whether by this change the class serves a resource that the pod asks for.
bool Serves(const PodInfo& pod, const api::DeviceClass& now, const api::DeviceClass* before) {
  const auto asked = api::PodRequests(*pod.pod);
  const auto& explicit_name = now.spec.extended_resource_name;
  if (before != nullptr && before->spec.extended_resource_name == explicit_name) return false;
  if (before == nullptr && asked.contains(api::ImplicitResourceName(now.metadata.name))) {
    return true;
  }
  return explicit_name.has_value() && asked.contains(*explicit_name);
}

}  // namespace

NodeResourcesFit::NodeResourcesFit(const FitArgs& args, World& world)
    : args_(args),
      world_(world),
      amounts_(args.resources, ResourceAmounts::Missing::kAsDefault, world) {}

FitState NodeResourcesFit::Plan(const PodInfo& pod) const {
  FitState state;
  const bool classes_serve = world_.gates().Enabled(api::Gate::kDRAExtendedResource);
  for (const Resources::Scalar& scalar : pod.requests.scalars) {
    const std::string_view name = world_.resource_names().View(scalar.name);
    Look look = Look::kAlways;
    if (api::IsExtendedResourceName(name) &&
        (Listed(args_.ignored_resources, name) ||
         Listed(args_.ignored_resource_groups, name.substr(0, name.find('/'))))) {
      look = Look::kNever;
    } else if (classes_serve && world_.extended_resources().FindClass(name) != nullptr) {
      look = Look::kUnlessClass;
    }
    state.scalars.push_back(look);
  }
  return state;
}

PluginStatus NodeResourcesFit::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  state.Get<FitState>() = Plan(pod);
  return PluginStatus::Success();
}

PluginStatus NodeResourcesFit::Check(const FitState& state, const PodInfo& pod,
                                     const Room& room) const {
  PluginStatus status;
  const auto refuse = [&](std::string_view what, std::int64_t needed, std::int64_t allocatable,
                          std::int64_t used) {
    const bool never = needed > allocatable;
    if (status.code != PluginStatus::Code::kUnresolvable) {
      status.code = never ? PluginStatus::Code::kUnresolvable : PluginStatus::Code::kUnschedulable;
    }
    Reason reason{.code = "insufficient_resource", .text = "Insufficient " + std::string(what)};
    reason.shortages.push_back(
        {.what = std::string(what),
         .needed = Written(what, needed),
         .free = Written(what, std::max<std::int64_t>(0, allocatable - used))});
    status.reasons.push_back(std::move(reason));
  };
  const auto check = [&](std::string_view what, std::int64_t needed, std::int64_t allocatable,
                         std::int64_t used) {
    if (needed > 0 && needed > allocatable - used) refuse(what, needed, allocatable, used);
  };

  if (static_cast<std::int64_t>(room.pods) + 1 > room.allocatable.pods) {
    status.code = PluginStatus::Code::kUnschedulable;
    Reason reason{.code = "too_many_pods", .text = "Too many pods"};
    reason.shortages.push_back(
        {.what = std::string(api::kResourcePods), .needed = "1", .free = "0"});
    status.reasons.push_back(std::move(reason));
  }
  const Resources& asked = pod.requests;
  check(api::kResourceCpu, asked.milli_cpu, room.allocatable.milli_cpu, room.requested.milli_cpu);
  check(api::kResourceMemory, asked.memory, room.allocatable.memory, room.requested.memory);
  check(api::kResourceEphemeralStorage, asked.ephemeral_storage, room.allocatable.ephemeral_storage,
        room.requested.ephemeral_storage);
  for (std::size_t i = 0; i < asked.scalars.size(); ++i) {
    const auto [name, amount] = asked.scalars[i];
    const std::int64_t allocatable = room.allocatable.At(name);
    if (state.scalars[i] == Look::kNever) continue;
    // None at all and zero are the same here: a device plugin that has gone leaves a zero behind.
    if (state.scalars[i] == Look::kUnlessClass && allocatable <= 0) continue;
    check(world_.resource_names().View(name), amount, allocatable, room.requested.At(name));
  }
  return status;
}

PluginStatus NodeResourcesFit::Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  const Room room{node.allocatable, node.requested, node.pods.size()};
  const FitState* planned = state.Find<FitState>();
  return planned != nullptr ? Check(*planned, pod, room) : Check(Plan(pod), pod, room);
}

PluginStatus NodeResourcesFit::PreScore(CycleState&, const PodInfo&, World&) {
  return PluginStatus::Success();
}

std::int64_t NodeResourcesFit::Score(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  const ResourceLoads loads = amounts_.LoadsOf(pod, node);
  switch (args_.strategy) {
    case ScoringStrategy::kLeastAllocated:
      return LeastAllocated(loads);
    case ScoringStrategy::kMostAllocated:
      return MostAllocated(loads);
    case ScoringStrategy::kRequestedToCapacityRatio:
      return RequestedToCapacityRatio(loads, args_.shape);
  }
  return 0;
}

bool NodeResourcesFit::FitsEmpty(const PodInfo& pod, const Resources& allocatable) const {
  static const Resources kNothing;
  return Check(Plan(pod), pod, {allocatable, kNothing, 0}).ok();
}

bool NodeResourcesFit::MoreOfAsked(const PodInfo& pod, const Resources& before,
                                   const Resources& after) const {
  const Resources& asked = pod.requests;
  if (after.pods > before.pods || (asked.milli_cpu > 0 && after.milli_cpu > before.milli_cpu) ||
      (asked.memory > 0 && after.memory > before.memory) ||
      (asked.ephemeral_storage > 0 && after.ephemeral_storage > before.ephemeral_storage)) {
    return true;
  }
  const FitState plan = Plan(pod);
  for (std::size_t i = 0; i < asked.scalars.size(); ++i) {
    const base::Symbol name = asked.scalars[i].name;
    if (after.At(name) > before.At(name)) return true;
    // The node had too few by a device plugin; now that it has none, devices may serve.
    if (plan.scalars[i] == Look::kUnlessClass && after.At(name) <= 0 && before.At(name) > 0) {
      return true;
    }
  }
  return false;
}

Hint NodeResourcesFit::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const auto hint = [](bool queue) { return queue ? Hint::kQueue : Hint::kSkip; };
  const PodChange seen = ReadPodChange(pod, change, old);
  switch (seen.kind) {
    case PodChange::Kind::kOwn:
      return hint(seen.before != nullptr && seen.after != nullptr &&
                  AsksLess(*seen.before, *seen.after));
    case PodChange::Kind::kGone:
      return Hint::kQueue;
    case PodChange::Kind::kChanged:
      return hint(Released(*pod.pod, *seen.before, *seen.after));
    case PodChange::Kind::kPlaced:
      return Hint::kSkip;
    case PodChange::Kind::kNone:
      break;
  }
  if (const NodeChange node = ReadNodeChange(change, old); node.after != nullptr) {
    const Resources after =
        Resources::From(node.after->status.allocatable, world_.resource_names());
    if (!FitsEmpty(pod, after)) return Hint::kSkip;
    if (node.before == nullptr) return Hint::kQueue;
    const Resources before =
        Resources::From(node.before->status.allocatable, world_.resource_names());
    return hint(MoreOfAsked(pod, before, after));
  }
  const auto* device_class = change.object.As<api::DeviceClass>();
  if (device_class == nullptr || change.kind == api::Change::Kind::kDeleted) return Hint::kSkip;
  return hint(world_.gates().Enabled(api::Gate::kDRAExtendedResource) &&
              Serves(pod, *device_class, old == nullptr ? nullptr : old->As<api::DeviceClass>()));
}

}  // namespace dray::scheduler
