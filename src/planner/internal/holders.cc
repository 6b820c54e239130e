// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/holders.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/explain_summary.h"
#include "allocator/explanation.h"
#include "api/device_class.h"
#include "api/extended_resources.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/human_duration.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "scheduler/plugins/special_claim.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

constexpr std::size_t kShownPods = 3;

// A claim that has devices.
struct Held {
  std::string namespace_;
  std::string claim;
  std::vector<std::string> pods;
  std::string since;     // how long the first of them has been there: "for 3h"; empty: not known
  std::string priority;  // "priority 100"; empty: none
  bool planned = false;
  const api::AllocationResult* allocation = nullptr;
};

class Namer {
 public:
  Namer(const Before& before, const api::MemoryCluster& cluster, base::Time now)
      : cluster_(cluster),
        claims_(cluster.All(KindOf<api::ResourceClaim>())),
        slices_(cluster.All(KindOf<api::ResourceSlice>())) {
    for (const api::Object& object : claims_) {
      const auto& claim = *object.As<api::ResourceClaim>();
      if (!claim.status.allocation) continue;
      const std::string key = KeyOf(claim.metadata);
      Held& held = held_[key];
      held.namespace_ = claim.metadata.namespace_;
      held.claim = claim.metadata.name;
      held.planned = !before.allocated_claims.contains(key);
      held.allocation = &*claim.status.allocation;
      for (const auto& user : claim.status.reserved_for) {
        if (user.resource == "pods") held.pods.push_back(user.name);
      }
      Describe(held.namespace_, now, held);
    }
  }

  // Of the devices of an explanation for a pod of this namespace.
  void Name(std::string_view namespace_, scheduler::PodExplanation& why) const {
    for (scheduler::NodeGroup& group : why.groups) Name(namespace_, why.pod, group.reasons);
    if (why.closest) Name(namespace_, why.pod, why.closest->reasons);
  }

 private:
  void Name(std::string_view namespace_, std::string_view pod,
            std::vector<scheduler::Reason>& reasons) const {
    for (scheduler::Reason& reason : reasons) {
      if (reason.devices == nullptr) continue;
      auto devices = std::make_shared<allocator::Explanation>(*reason.devices);
      Name(namespace_, *devices);
      NameExtended(pod, *devices);
      devices->summary = allocator::Summarize(*devices);
      reason.devices = std::move(devices);
    }
  }

  void Name(std::string_view namespace_, allocator::Explanation& devices) const {
    for (allocator::ClaimReport& claim : devices.claims) {
      for (allocator::RequestReport& request : claim.requests) {
        for (allocator::AlternativeReport& alternative : request.alternatives) {
          for (allocator::Drop& drop : alternative.drops) Name(namespace_, drop);
        }
      }
    }
  }

  void Name(std::string_view namespace_, allocator::Drop& drop) const {
    if (drop.reason == allocator::Reason::kGroups || drop.reason == allocator::Reason::kCounters) {
      drop.holders = OnCounterSet(drop.pool, drop.counter_set);
    }
    for (allocator::Holding& holding : drop.holders) {
      const auto found = held_.find(holding.claim);
      if (found == held_.end()) continue;
      holding.who = Called(found->second, namespace_);
      holding.about = About(found->second);
      holding.planned = found->second.planned;
    }
  }

  // A claim that only the scheduler has, made from what containers ask for by other names.
  void NameExtended(std::string_view pod_key, allocator::Explanation& devices) const {
    const auto slash = pod_key.find('/');
    for (allocator::ClaimReport& claim : devices.claims) {
      if (!claim.name.ends_with(scheduler::kUnstoredClaimName)) continue;
      const auto pod =
          cluster_.Stored(KindOf<api::Pod>(), pod_key.substr(0, slash), pod_key.substr(slash + 1));
      if (!pod) continue;
      api::ExtendedResourceIndex classes;
      for (const api::Object& object : cluster_.All(KindOf<api::DeviceClass>())) {
        classes.OnAdd(*object.As<api::DeviceClass>());
      }
      const auto resources = scheduler::ExtendedResourcesOf(*pod->As<api::Pod>(), classes);
      std::vector<const scheduler::ExtendedResource*> served;
      for (const auto& resource : resources) {
        if (!resource.device_class.empty()) served.push_back(&resource);
      }
      claim.who = "the pod's extended resources";
      for (const auto& mapping : scheduler::RequestsFor(*pod->As<api::Pod>(), served).mappings) {
        const auto request = std::ranges::find(claim.requests, mapping.request_name,
                                               &allocator::RequestReport::name);
        if (request == claim.requests.end()) continue;
        request->who =
            fmt::format("container {}: {}", mapping.container_name, mapping.resource_name);
      }
    }
  }

  // Claims with devices that draw on a counter set of a pool, which is called "driver/pool".
  std::vector<allocator::Holding> OnCounterSet(std::string_view pool, std::string_view set) const {
    std::set<std::string_view> drawing;
    for (const api::Object& object : slices_) {
      const auto& spec = object.As<api::ResourceSlice>()->spec;
      if (!spec.devices || KeyOf(spec.driver, spec.pool.name) != pool) continue;
      for (const api::Device& device : *spec.devices) {
        if (std::ranges::find(device.consumes_counters, set,
                              &api::DeviceCounterConsumption::counter_set) !=
            device.consumes_counters.end()) {
          drawing.insert(device.name);
        }
      }
    }
    std::vector<allocator::Holding> holders;
    for (const auto& [key, held] : held_) {
      allocator::Holding holding{.claim = key};
      for (const auto& result : held.allocation->devices.results) {
        if (KeyOf(result.driver, result.pool) != pool || !drawing.contains(result.device)) continue;
        ++holding.devices;
        holding.examples.push_back({.driver = result.driver,
                                    .pool = result.pool,
                                    .device = result.device,
                                    .label = result.device});
      }
      if (holding.devices > 0) holders.push_back(std::move(holding));
    }
    return holders;
  }

  // "pod a", "pods a, b and 3 more", "claim c".
  static std::string Called(const Held& held, std::string_view namespace_) {
    const std::string space = held.namespace_ == namespace_ ? "" : held.namespace_ + "/";
    if (held.pods.empty()) return fmt::format("claim {}{}", space, held.claim);
    std::vector<std::string> pods;
    for (const std::string& pod : held.pods) pods.push_back(space + pod);
    const std::size_t n = pods.size();
    pods.resize(std::min(n, kShownPods));
    return fmt::format("{} {}", n == 1 ? "pod" : "pods", allocator::Join(pods, n));
  }

  // "claim c, for 3h, priority 100"
  static std::string About(const Held& held) {
    std::string text;
    const auto add = [&](const std::string& part) {
      if (!part.empty()) text.append(text.empty() ? "" : ", ").append(part);
    };
    // The name of a claim that was made for one pod says nothing that the pod's does not.
    if (!held.pods.empty() && !held.claim.starts_with(held.pods.front() + "-")) {
      add(fmt::format("claim {}", held.claim));
    }
    add(held.since);
    add(held.priority);
    return text;
  }

  // How long it runs, and how important it is.
  void Describe(const std::string& namespace_, base::Time now, Held& held) const {
    if (held.pods.empty()) return;
    const auto found = cluster_.Stored(KindOf<api::Pod>(), namespace_, held.pods.front());
    if (!found) return;
    const api::Pod& pod = *found->As<api::Pod>();
    if (pod.spec.priority.value_or(0) != 0) {
      held.priority = fmt::format("priority {}", *pod.spec.priority);
    }
    const auto& since =
        pod.status.start_time ? pod.status.start_time : pod.metadata.creation_timestamp;
    if (held.planned || !since || *since >= now.TruncateToSeconds()) return;
    held.since = "for " + base::HumanDuration((now - *since) / std::chrono::seconds(1));
  }

  const api::MemoryCluster& cluster_;
  const std::vector<api::Object> claims_;
  const std::vector<api::Object> slices_;
  std::map<std::string, Held, std::less<>> held_;
};

}  // namespace

void NameHolders(const Before& before, const api::MemoryCluster& cluster, base::Time now,
                 Plan& plan) {
  const auto refused = [](const auto& outcome) { return outcome.explanation.has_value(); };
  if (std::ranges::none_of(plan.pods, refused) && std::ranges::none_of(plan.claims, refused)) {
    return;
  }
  const Namer namer(before, cluster, now);
  for (PodOutcome& pod : plan.pods) {
    if (pod.explanation) namer.Name(pod.namespace_, *pod.explanation);
  }
  for (ClaimOutcome& claim : plan.claims) {
    if (claim.explanation) namer.Name(claim.namespace_, *claim.explanation);
  }
}

}  // namespace dray::planner::internal
