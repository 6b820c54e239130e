// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: which changes may help a pod that it refused.
#include <algorithm>
#include <set>

#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

Hint QueueIf(bool may_help) { return may_help ? Hint::kQueue : Hint::kSkip; }

// Whether the amount of one of the resources is another now.
bool AnyAmountDiffers(const std::vector<ExtendedResource>& resources, const api::Node& a,
                      const api::Node& b) {
  return std::ranges::any_of(resources, [&](const ExtendedResource& resource) {
    const base::Quantity* x = a.status.allocatable.Find(resource.name);
    const base::Quantity* y = b.status.allocatable.Find(resource.name);
    return (x == nullptr) != (y == nullptr) || (x != nullptr && *x != *y);
  });
}

bool Asks(const api::Pod& pod, std::string_view resource) {
  const auto asks = [&](const api::Container& container) {
    return container.resources.requests.contains(resource);
  };
  return std::ranges::any_of(pod.spec.init_containers, asks) ||
         std::ranges::any_of(pod.spec.containers, asks);
}

bool Names(const api::ResourceClaim& claim, std::string_view device_class) {
  return std::ranges::any_of(claim.spec.devices.requests, [&](const api::DeviceRequest& request) {
    return (request.exactly.has_value() && request.exactly->device_class_name == device_class) ||
           std::ranges::find(request.first_available, device_class,
                             &api::DeviceSubRequest::device_class_name) !=
               request.first_available.end();
  });
}

}  // namespace

Hint DynamicResources::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  if (node_allocatable_ && AfterRoomChange(change, old, pod) == Hint::kQueue) return Hint::kQueue;
  const bool gone = change.kind == api::Change::Kind::kDeleted;
  const api::Object* now = gone ? nullptr : &change.object;
  const api::Object* before = gone ? &change.object : old;
  const auto as = [](const api::Object* object, auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return object == nullptr ? nullptr : object->As<T>();
  };
  if (change.object.As<api::ResourceClaim>() != nullptr) {
    constexpr api::ResourceClaim* kType = nullptr;
    return AfterClaimChange(pod, as(now, kType), as(before, kType));
  }
  if (change.object.As<api::ResourceSlice>() != nullptr) {
    constexpr api::ResourceSlice* kType = nullptr;
    return AfterSliceChange(pod, as(now, kType), as(before, kType));
  }
  if (change.object.As<api::DeviceClass>() != nullptr) {
    constexpr api::DeviceClass* kType = nullptr;
    return AfterClassChange(pod, as(now, kType), as(before, kType));
  }
  if (change.object.As<api::Node>() != nullptr) {
    constexpr api::Node* kType = nullptr;
    return AfterNodeChange(pod, as(now, kType), as(before, kType));
  }
  if (change.object.As<api::DeviceTaintRule>() != nullptr) {
    // A new rule only takes devices away.
    if (before == nullptr || !world_.features().device_taints) return Hint::kSkip;
    return QueueIf(Needs(pod).plan != nullptr);
  }
  if (const auto* changed = as(now, static_cast<api::Pod*>(nullptr))) {
    // The pod itself: the claims that it waits for have been made.
    if (changed->metadata.uid != pod.pod->metadata.uid) return Hint::kSkip;
    return QueueIf(ClaimsOf(*changed, world_).problem.empty());
  }
  // A pod that was not bound after all gives back what was kept for it and never written: no claim
  // tells of that.
  if (gone && old == nullptr) {
    // Or devices that were held for a pod are not any more, and claims stay where they are.
    return QueueIf(options_.preempt || Needs(pod).plan != nullptr);
  }
  // A pod that has ended still has its claims; when they are given back, they change.
  return Hint::kSkip;
}

Hint DynamicResources::AfterClaimChange(const PodInfo& pod, const api::ResourceClaim* now,
                                        const api::ResourceClaim* before) {
  const api::ResourceClaim& claim = now != nullptr ? *now : *before;
  // Asked of every pod that waits and every claim that changes: the index knows.
  if (world_.NamesClaim(pod.key, claim.metadata.namespace_, claim.metadata.name) ||
      IsForExtendedResourcesOf(*pod.pod, claim)) {
    if (now == nullptr) return QueueIf(api::ExtendedResourcePod(claim) != nullptr);
    if (before != nullptr && before->metadata.uid == now->metadata.uid &&
        before->status == now->status) {
      return Hint::kSkip;
    }
    return QueueIf(ClaimsOf(*pod.pod, world_).problem.empty());
  }
  // Devices of another claim that are free now.
  if (before == nullptr || !before->status.allocation.has_value()) return Hint::kSkip;
  // After a gap in what is seen it may have others instead.
  if (now != nullptr && now->status.allocation == before->status.allocation) return Hint::kSkip;
  const KnownPlan needs = Needs(pod);
  if (needs.plan == nullptr) return Hint::kSkip;
  std::set<std::pair<std::string_view, std::string_view>> pools;
  for (const auto& result : before->status.allocation->devices.results) {
    if (!result.admin_access.value_or(false)) pools.insert({result.driver, result.pool});
  }
  return QueueIf(std::ranges::any_of(
      pools, [&](const auto& pool) { return AnyUsableIn(pool.first, pool.second, needs); }));
}

Hint DynamicResources::AfterSliceChange(const PodInfo& pod, const api::ResourceSlice* now,
                                        const api::ResourceSlice* before) {
  const KnownPlan needs = Needs(pod);
  if (needs.plan == nullptr) return Hint::kSkip;
  // All devices are wanted: a pool that is in order now may be what was missing, whatever is in it.
  if (std::ranges::any_of(needs.plan->alternatives(), &allocator::Alternative::all)) {
    return Hint::kQueue;
  }
  const auto usable = [&](const api::ResourceSlice* slice) {
    return slice != nullptr && AnyUsableIn(slice->spec.driver, slice->spec.pool.name, needs);
  };
  return QueueIf(usable(now) || usable(before));
}

Hint DynamicResources::AfterClassChange(const PodInfo& pod, const api::DeviceClass* now,
                                        const api::DeviceClass* before) const {
  const std::string& name = (now != nullptr ? now : before)->metadata.name;
  if (now != nullptr) {
    for (const ClaimPointer& claim : ClaimsOf(*pod.pod, world_).claims) {
      if (!claim->status.allocation.has_value() && Names(*claim, name)) return Hint::kQueue;
    }
  }
  if (!extended_resources_) return Hint::kSkip;
  if (now != nullptr && Asks(*pod.pod, api::ImplicitResourceName(name))) return Hint::kQueue;
  // A name that the class gets, or gives free for another class.
  const auto asks_for = [&](const api::DeviceClass* device_class) {
    return device_class != nullptr && device_class->spec.extended_resource_name.has_value() &&
           Asks(*pod.pod, *device_class->spec.extended_resource_name);
  };
  return QueueIf(asks_for(now) || asks_for(before));
}

Hint DynamicResources::AfterNodeChange(const PodInfo& pod, const api::Node* now,
                                       const api::Node* before) const {
  if (now == nullptr) return Hint::kSkip;
  if (before == nullptr || before->metadata.labels != now->metadata.labels ||
      before->status.declared_features != now->status.declared_features) {
    return Hint::kQueue;
  }
  if (!extended_resources_) return Hint::kSkip;
  return QueueIf(
      AnyAmountDiffers(ExtendedResourcesOf(*pod.pod, world_.extended_resources()), *before, *now));
}

// Asked again for every change of a batch, and a pod may have thousands of claims.
KnownPlan DynamicResources::Needs(const PodInfo& pod) {
  if (needed_.pod != pod.pod || needed_.claims_version != world_.claims_version()) {
    needed_ = {pod.pod, world_.claims_version(), FindNeeds(pod)};
  }
  return needed_.plan;
}

KnownPlan DynamicResources::FindNeeds(const PodInfo& pod) {
  PodClaims found = ClaimsOf(*pod.pod, world_);
  if (!found.problem.empty()) return {};
  State data;
  for (ClaimPointer& claim : found.claims) {
    const bool allocated = claim->status.allocation.has_value();
    data.claims.push_back({.claim = std::move(claim), .to_allocate = !allocated});
  }
  if (extended_resources_) AddSpecial(data, *pod.pod);
  const base::MutexLock lock(variants_);
  return MakeVariant(data, pod, AllByClass(data)).plan;
}

// Counters are shared within a pool, so that a device that is given back may make room for another
// one of the same pool, and for no other.
bool DynamicResources::AnyUsableIn(std::string_view driver, std::string_view pool,
                                   const KnownPlan& needs) {
  const auto id = world_.expressions().dictionary().FindPool(driver, pool);
  return id.has_value() && AnyUsableIn(*id, *needs.plan);
}

bool DynamicResources::AnyUsableIn(inventory::PoolId pool, const allocator::Plan& plan) {
  inventory::Dictionary& dictionary = world_.expressions().dictionary();
  for (const auto& slice : world_.inventory().snapshot().OfPool(pool)) {
    for (const allocator::ClaimPlan& claim : plan.claims()) {
      for (const allocator::RequestPlan& request : plan.requests(claim)) {
        for (const allocator::Alternative& alternative : plan.alternatives(request)) {
          if (!alternative.error.ok()) return true;
          const allocator::Verdicts& verdicts =
              hint_verdicts_.Get(alternative, plan, plan.constraints(claim), *slice, dictionary);
          if (verdicts.any_error || verdicts.pass.Any()) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace dray::scheduler
