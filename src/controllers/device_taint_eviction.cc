// SPDX-License-Identifier: Apache-2.0
#include "controllers/device_taint_eviction.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "api/pod_claims.h"
#include "api/taints.h"
#include "base/seconds.h"
#include "controllers/observer.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kEvent = "DeviceTaintManagerEviction";

std::array<const api::KindInfo*, 4> Kinds() {
  return {&KindOf<api::ResourceSlice>(), &KindOf<api::DeviceTaintRule>(),
          &KindOf<api::ResourceClaim>(), &KindOf<api::Pod>()};
}

bool Evicts(const api::DeviceTaint& taint) { return taint.effect == api::kTaintEffectNoExecute; }

bool HasEvictingTaint(const api::ResourceSlice& slice) {
  return slice.spec.devices.has_value() &&
         std::ranges::any_of(*slice.spec.devices, [](const api::Device& device) {
           return std::ranges::any_of(device.taints, Evicts);
         });
}

std::string PoolKey(std::string_view driver, std::string_view pool) {
  return fmt::format("{}/{}", driver, pool);
}
std::string PoolKey(const api::ResourceSlice& slice) {
  return PoolKey(slice.spec.driver, slice.spec.pool.name);
}

std::set<std::string> PoolsOf(const api::Object& claim) {
  std::set<std::string> pools;
  const auto& allocation = claim.As<api::ResourceClaim>()->status.allocation;
  if (!allocation.has_value()) return pools;
  for (const auto& result : allocation->devices.results) {
    pools.insert(PoolKey(result.driver, result.pool));
  }
  return pools;
}

// When the taint drives users of the device away. Nothing: it is tolerated for good.
std::optional<base::Time> DueOf(const api::DeviceTaint& taint,
                                const std::vector<api::DeviceToleration>& tolerations) {
  std::optional<std::int64_t> shortest;
  for (const api::DeviceToleration& toleration : tolerations) {
    if (toleration.effect != api::kTaintEffectNoExecute) continue;
    if (!api::Tolerates(toleration, taint)) continue;
    if (!toleration.toleration_seconds.has_value()) return std::nullopt;
    const std::int64_t seconds = std::max<std::int64_t>(*toleration.toleration_seconds, 0);
    shortest = std::min(shortest.value_or(seconds), seconds);
  }
  return taint.time_added.value_or(base::Time()) + base::BoundedSeconds(shortest.value_or(0));
}

void TakeEarlier(std::optional<base::Time>& due, std::optional<base::Time> other) {
  if (other.has_value()) due = std::min(due.value_or(*other), *other);
}

}  // namespace

bool DeviceTaintEviction::Selects(const api::DeviceTaintRule& rule, std::string_view driver,
                                  std::string_view pool, std::string_view device) {
  const auto& selector = rule.spec.device_selector;
  if (!selector.has_value()) return false;
  const auto is = [](const std::optional<std::string>& wanted, std::string_view name) {
    return !wanted.has_value() || *wanted == name;
  };
  return is(selector->driver, driver) && is(selector->pool, pool) && is(selector->device, device);
}

bool DeviceTaintEviction::DrivesAway(const api::DeviceTaint& taint,
                                     const api::DeviceRequestAllocationResult& result) {
  api::DeviceTaint evicting = taint;
  evicting.effect = api::kTaintEffectNoExecute;
  return controllers::DueOf(evicting, result.tolerations).has_value();
}

std::string DeviceTaintEviction::PoolKeyOf(std::string_view driver, std::string_view pool) {
  return PoolKey(driver, pool);
}

DeviceTaintEviction::DeviceTaintEviction(const Source& source, const base::Clock& clock,
                                         api::FeatureGates gates)
    : Reconciler(source, clock, Kinds()),
      slices_(gates.Enabled(api::Gate::kDRADeviceTaints)),
      rules_counted_(slices_ && gates.Enabled(api::Gate::kDRADeviceTaintRules)) {}

void DeviceTaintEviction::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::ResourceSlice>() != nullptr) return OnSlice(before, after);
  if (either.As<api::ResourceClaim>() != nullptr) return OnClaim(before, after);
  if (either.As<api::DeviceTaintRule>() != nullptr) return OnRule(before, after);
  for (const api::Object* version : {before, after}) {
    if (version == nullptr) continue;
    const std::string_view group = api::GroupNameOf(*version->As<api::Pod>());
    if (group.empty()) continue;
    const api::ObjectMeta& metadata = version->metadata();
    const std::string drawer = fmt::format("{}/{}", metadata.namespace_, group);
    version == after ? pods_of_group_.Add(drawer, metadata.name)
                     : pods_of_group_.Remove(drawer, metadata.name);
  }
  if (after == nullptr) {
    waiting_.erase(before->metadata().uid);
    QueueRulesOf(*before->As<api::Pod>());
  } else if (!after->As<api::Pod>()->spec.node_name.empty()) {
    queue().Add(ObjectKey::Of(*after));
  }
}

void DeviceTaintEviction::QueueUsers(const ObjectKey& key) {
  const auto* claim = view().Find<api::ResourceClaim>(key.namespace_, key.name);
  if (claim == nullptr) return;
  for (const auto& user : claim->status.reserved_for) {
    if (api::IsGroup(user)) {
      // All pods of a group use what is reserved for it.
      for (const std::string& pod :
           pods_of_group_.At(fmt::format("{}/{}", key.namespace_, user.name))) {
        queue().Add(ObjectKey::Of<api::Pod>(key.namespace_, pod));
      }
    }
    if (!user.api_group.empty() || user.resource != "pods") continue;
    queue().Add(ObjectKey::Of<api::Pod>(key.namespace_, user.name));
  }
}

void DeviceTaintEviction::OnSlice(const api::Object* before, const api::Object* after) {
  std::set<std::string> touched;
  if (before != nullptr) {
    const auto& slice = *before->As<api::ResourceSlice>();
    Pool& pool = pools_[PoolKey(slice)];
    pool.indexed = false;
    pool.slices.erase(slice.metadata.name);
    if (HasEvictingTaint(slice)) {
      --pool.tainted;
      touched.insert(PoolKey(slice));
    }
  }
  if (after != nullptr) {
    const auto& slice = *after->As<api::ResourceSlice>();
    Pool& pool = pools_[PoolKey(slice)];
    // A new generation takes the taints of the old one away, too.
    if (pool.tainted > 0 || HasEvictingTaint(slice)) touched.insert(PoolKey(slice));
    pool.indexed = false;
    pool.slices.insert_or_assign(slice.metadata.name, *after);
    if (HasEvictingTaint(slice)) ++pool.tainted;
  }
  for (const std::string& key : touched) {
    for (const ObjectKey& claim : pools_[key].claims) QueueUsers(claim);
  }
  if (before != nullptr) DropIfEmpty(PoolKey(*before->As<api::ResourceSlice>()));
}

void DeviceTaintEviction::DropIfEmpty(const std::string& key) {
  const auto pool = pools_.find(key);
  if (pool == pools_.end()) return;
  if (pool->second.slices.empty() && pool->second.claims.empty()) pools_.erase(pool);
}

void DeviceTaintEviction::OnClaim(const api::Object* before, const api::Object* after) {
  for (const api::Object* object : {before, after}) {
    if (object != nullptr) QueueRulesOf(*object->As<api::ResourceClaim>());
  }
  if (before != nullptr) {
    for (const std::string& key : PoolsOf(*before)) {
      pools_[key].claims.erase(ObjectKey::Of(*before));
      if (after == nullptr) DropIfEmpty(key);
    }
  }
  if (after == nullptr) return;
  const ObjectKey claim = ObjectKey::Of(*after);
  bool tainted = !rules_.empty();
  for (const std::string& key : PoolsOf(*after)) {
    Pool& pool = pools_[key];
    pool.claims.insert(claim);
    tainted = tainted || pool.tainted > 0;
  }
  if (tainted) QueueUsers(claim);
}

void DeviceTaintEviction::OnRule(const api::Object* before, const api::Object* after) {
  if (rules_counted_ && after != nullptr) queue().Add(ObjectKey::Of(*after));
  const auto evicts = [](const api::Object* rule) {
    return rule != nullptr && Evicts(rule->As<api::DeviceTaintRule>()->spec.taint);
  };
  if (!evicts(before) && !evicts(after)) return;
  // A status that was written changes nothing.
  if (before != nullptr && after != nullptr &&
      before->As<api::DeviceTaintRule>()->spec == after->As<api::DeviceTaintRule>()->spec) {
    rules_.insert_or_assign(after->metadata().name, *after);
    return;
  }
  const api::Object& either = after != nullptr ? *after : *before;
  rules_.erase(either.metadata().name);
  if (evicts(after)) rules_.emplace(either.metadata().name, *after);
  // Rules are few and seldom change; a rule may be about any pool.
  for (const auto& [key, pool] : pools_) {
    for (const ObjectKey& claim : pool.claims) QueueUsers(claim);
  }
}

const api::Device* DeviceTaintEviction::FindDevice(
    const api::DeviceRequestAllocationResult& result) {
  const auto it = pools_.find(PoolKey(result.driver, result.pool));
  if (it == pools_.end() || it->second.tainted == 0) return nullptr;
  Pool& pool = it->second;
  if (!std::exchange(pool.indexed, true)) {
    pool.devices.clear();
    std::int64_t newest = 0;
    for (const auto& [name, slice] : pool.slices) {
      newest = std::max(newest, slice.As<api::ResourceSlice>()->spec.pool.generation);
    }
    for (const auto& [name, object] : pool.slices) {
      const auto& spec = object.As<api::ResourceSlice>()->spec;
      if (spec.pool.generation != newest || !spec.devices.has_value()) continue;
      for (const api::Device& device : *spec.devices) pool.devices.emplace(device.name, &device);
    }
  }
  const auto found = pool.devices.find(result.device);
  return found == pool.devices.end() ? nullptr : found->second;
}

std::optional<base::Time> DeviceTaintEviction::DueOf(const api::ResourceClaim& claim) {
  std::optional<base::Time> due;
  if (!slices_ || !claim.status.allocation.has_value()) return due;
  for (const auto& result : claim.status.allocation->devices.results) {
    if (const api::Device* device = FindDevice(result)) {
      for (const api::DeviceTaint& taint : device->taints) {
        if (Evicts(taint)) TakeEarlier(due, controllers::DueOf(taint, result.tolerations));
      }
    }
    if (!rules_counted_) continue;
    for (const auto& [name, object] : rules_) {
      const auto& rule = *object.As<api::DeviceTaintRule>();
      if (!Selects(rule, result.driver, result.pool, result.device)) continue;
      TakeEarlier(due, controllers::DueOf(rule.spec.taint, result.tolerations));
    }
  }
  return due;
}

template <typename F>
void DeviceTaintEviction::ForEachClaim(const api::Pod& pod, F f) const {
  const auto look = [&](std::string_view name, bool owned) {
    const auto* claim = view().Find<api::ResourceClaim>(pod.metadata.namespace_, name);
    if (claim == nullptr || !api::ReservedFor(*claim, pod)) return;
    if (owned && !api::OwnedBy(*claim, pod)) return;
    f(*claim);
  };
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto name = claims.NameOf(entry);
    if (name.has_value()) look(*name, !entry.resource_claim_name.has_value());
  }
  if (const auto& special = pod.status.extended_resource_claim_status) {
    look(special->resource_claim_name, true);
  }
}

std::optional<base::Time> DeviceTaintEviction::DueOf(const api::Pod& pod) {
  std::optional<base::Time> due;
  if (pod.spec.node_name.empty()) return due;
  ForEachClaim(pod, [&](const api::ResourceClaim& claim) { TakeEarlier(due, DueOf(claim)); });
  return due;
}

void DeviceTaintEviction::QueueRulesOf(const api::Pod& pod) {
  if (rules_.empty()) return;
  ForEachClaim(pod, [&](const api::ResourceClaim& claim) { QueueRulesOf(claim); });
}

void DeviceTaintEviction::QueueRulesOf(const api::ResourceClaim& claim) {
  if (!rules_counted_ || rules_.empty() || !claim.status.allocation.has_value()) return;
  for (const auto& result : claim.status.allocation->devices.results) {
    for (const auto& [name, object] : rules_) {
      const auto& rule = *object.As<api::DeviceTaintRule>();
      if (!Selects(rule, result.driver, result.pool, result.device)) continue;
      if (DrivesAway(rule.spec.taint, result)) queue().Add(ObjectKey::Of(object));
    }
  }
}

Status DeviceTaintEviction::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  const api::Object object = *found;
  if (key.Is<api::DeviceTaintRule>()) return ReconcileRule(object);
  const api::Pod& pod = *object.As<api::Pod>();
  const auto due = IsTerminal(pod) ? std::nullopt : DueOf(pod);
  if (!due.has_value()) {
    if (waiting_.erase(pod.metadata.uid) > 0) {
      Tell(view(), object,
           {.component = name(), .reason = kEvent, .message = "Cancelling deletion"});
    }
    return {};
  }
  const base::Time now = clock().Now();
  if (*due <= now) return Evict(object, *due);
  if (waiting_.insert(pod.metadata.uid).second) QueueRulesOf(pod);
  queue().AddAfter(key, *due - now);
  return {};
}

Status DeviceTaintEviction::Evict(const api::Object& pod, base::Time due) {
  Tell(view(), pod, {.component = name(), .reason = kEvent, .message = "Marking for deletion"});
  const Status marked =
      MarkDisrupted(view(), pod,
                    {.reason = "DeletionByDeviceTaintManager",
                     .message = "Device Taint manager: deleting due to NoExecute taint",
                     .now = clock().Now()});
  if (marked.code() == StatusCode::kNotFound) return {};
  DRAY_RETURN_IF_ERROR(marked);
  DRAY_RETURN_IF_ERROR(view().Delete(pod));
  QueueRulesOf(*pod.As<api::Pod>());
  if (observer() != nullptr) observer()->OnTaintEviction(clock().Now() - due);
  return {};
}

}  // namespace dray::controllers
