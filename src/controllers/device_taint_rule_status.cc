// SPDX-License-Identifier: Apache-2.0
//
// What DeviceTaintRules do, or would do, told in their status: an administrator who wants to know
// whom a taint would drive away creates the rule with the effect None first.
//
// Spec: KEP-5055 "DeviceTaintRule status"; reasons and words are Kubernetes's. But what is said
// depends on what is stored alone, not on what this process has seen: there is no count of pods
// that are gone, which a restart would forget (docs/decisions.md, "the status of a
// DeviceTaintRule").
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/pod_claims.h"
#include "controllers/device_taint_eviction.h"
#include "controllers/pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kEvictionInProgress = "EvictionInProgress";
// How often the numbers of one rule are written: a rule may be about every device of a cluster.
constexpr std::chrono::seconds kPeriod{10};

std::string Counted(std::size_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

const api::Condition* FindCondition(const api::DeviceTaintRule& rule) {
  const auto& conditions = rule.status.conditions;
  const auto it = std::ranges::find(conditions, kEvictionInProgress, &api::Condition::type);
  return it == conditions.end() ? nullptr : &*it;
}

// Of a group that has a claim only those use it that name it.
bool Names(const api::Pod& pod, std::string_view claim) {
  const api::ClaimsOfPod claims(pod);
  return std::ranges::any_of(pod.spec.resource_claims, [&](const api::PodResourceClaim& entry) {
    return claims.NameOf(entry) == claim;
  });
}

}  // namespace

DeviceTaintEviction::Reach DeviceTaintEviction::ReachOf(const api::DeviceTaintRule& rule) const {
  Reach reach;
  std::set<std::pair<std::string, std::string>> pods;
  std::set<std::string> namespaces;
  for (const auto& [key, pool] : pools_) {
    std::int64_t newest = 0;
    for (const auto& [name, slice] : pool.slices) {
      newest = std::max(newest, slice.As<api::ResourceSlice>()->spec.pool.generation);
    }
    for (const auto& [name, object] : pool.slices) {
      const api::ResourceSliceSpec& spec = object.As<api::ResourceSlice>()->spec;
      if (spec.pool.generation != newest || !spec.devices) continue;
      reach.published += static_cast<std::size_t>(
          std::ranges::count_if(*spec.devices, [&](const api::Device& device) {
            return Selects(rule, spec.driver, spec.pool.name, device.name);
          }));
    }
    for (const ObjectKey& at : pool.claims) {
      const auto* claim = view().Find<api::ResourceClaim>(at.namespace_, at.name);
      if (claim == nullptr || !claim->status.allocation) continue;
      bool driven_away = false;
      for (const auto& result : claim->status.allocation->devices.results) {
        // A claim with devices of several pools is come by in each of them.
        if (PoolKeyOf(result.driver, result.pool) != key) continue;
        if (!Selects(rule, result.driver, result.pool, result.device)) continue;
        ++reach.allocated;
        driven_away = driven_away || DrivesAway(rule.spec.taint, result);
      }
      if (!driven_away) continue;
      const auto count = [&](const api::Pod& pod) {
        const bool counts =
            !pod.spec.node_name.empty() && !pod.metadata.deletion_timestamp && !IsTerminal(pod);
        if (!counts) return;
        namespaces.insert(at.namespace_);
        pods.emplace(at.namespace_, pod.metadata.name);
      };
      for (const auto& user : claim->status.reserved_for) {
        if (api::IsGroup(user)) {
          const std::string drawer = fmt::format("{}/{}", at.namespace_, user.name);
          for (const std::string& name : pods_of_group_.At(drawer)) {
            const auto* pod = view().Find<api::Pod>(at.namespace_, name);
            if (pod != nullptr && Names(*pod, at.name)) count(*pod);
          }
        }
        if (!user.api_group.empty() || user.resource != "pods") continue;
        const auto* pod = view().Find<api::Pod>(at.namespace_, user.name);
        if (pod != nullptr && pod->metadata.uid == user.uid) count(*pod);
      }
    }
  }
  reach.pods = pods.size();
  reach.namespaces = namespaces.size();
  return reach;
}

api::Condition DeviceTaintEviction::ConditionOf(const api::DeviceTaintRule& rule) const {
  api::Condition condition{.type = std::string(kEvictionInProgress),
                           .status = "False",
                           .observed_generation = rule.metadata.generation};
  const auto in_namespaces = [](const Reach& reach) {
    return Counted(reach.namespaces, "namespace", "different namespaces");
  };
  if (rule.spec.taint.effect == api::kTaintEffectNoExecute) {
    const Reach reach = ReachOf(rule);
    if (reach.pods > 0) {
      condition.status = "True";
      condition.reason = "PodsPendingEviction";
      condition.message =
          fmt::format("{} to be evicted in {}.", Counted(reach.pods, "pod needs", "pods need"),
                      in_namespaces(reach));
    } else {
      condition.reason = "Completed";
      condition.message = "No pod needs to be evicted.";
    }
  } else if (rule.spec.taint.effect == api::kTaintEffectNone) {
    const Reach reach = ReachOf(rule);
    condition.reason = "NoEffect";
    condition.message = fmt::format(
        "{} selected. {} selected. {} would be evicted in {} if the effect was NoExecute. This "
        "information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
        Counted(reach.published, "published device", "published devices"),
        Counted(reach.allocated, "allocated device", "allocated devices"),
        Counted(reach.pods, "pod", "pods"), in_namespaces(reach));
  } else {
    condition.reason = "OtherEffect";
    condition.message = "Eviction only happens for the NoExecute effect.";
  }
  return condition;
}

Status DeviceTaintEviction::ReconcileRule(const api::Object& object) {
  const auto& rule = *object.As<api::DeviceTaintRule>();
  const base::Time now = clock().Now();
  if (const api::Condition* known = FindCondition(rule);
      known != nullptr && known->observed_generation == rule.metadata.generation &&
      known->last_transition_time) {
    // What a rule without effect would do is looked at once.
    if (rule.spec.taint.effect == api::kTaintEffectNone) return {};
    const auto since = now - *known->last_transition_time;
    if (since < kPeriod) {
      queue().AddAfter(ObjectKey::Of(object), kPeriod - since);
      return {};
    }
  }
  api::Condition condition = ConditionOf(rule);
  return view().EditStatus(object, [&](api::Object& edited) {
    auto& conditions = edited.Mutable<api::DeviceTaintRule>()->status.conditions;
    auto it = std::ranges::find(conditions, kEvictionInProgress, &api::Condition::type);
    if (it == conditions.end()) it = conditions.insert(conditions.end(), api::Condition());
    condition.last_transition_time = it->last_transition_time;
    if (*it == condition) return false;
    condition.last_transition_time = now.TruncateToSeconds();
    *it = condition;
    return true;
  });
}

}  // namespace dray::controllers
