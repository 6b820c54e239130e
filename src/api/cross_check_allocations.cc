// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of a dump: what the allocations of all claims make of the devices together. No
// scheduler would have written such a thing; a restored backup, two schedulers or a hand can.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/internal/cross_world.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// Driver, pool, device.
using DeviceKey = std::tuple<std::string_view, std::string_view, std::string_view>;

// One result of one claim.
struct Holding {
  const GivenClaim* claim;
  std::size_t result;
  const DeviceRequestAllocationResult* what;
};
using Holdings = std::map<DeviceKey, std::vector<Holding>>;

std::string ShownClaim(const GivenClaim& claim) {
  return fmt::format("ResourceClaim \"{}\"", NamespacedName(claim.namespace_, claim.name));
}

std::string ShownDevice(const DeviceKey& key) {
  return fmt::format("{}/{}/{}", std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

// In the order of the objects. Whoever has admin access takes nothing.
std::vector<std::pair<DeviceKey, Holding>> HoldingsOf(const World& world) {
  std::vector<std::pair<DeviceKey, Holding>> all;
  for (const GivenClaim& claim : world.claims) {
    const auto* object = world.objects[claim.index].As<ResourceClaim>();
    if (object == nullptr || !object->status.allocation) continue;
    // A claim that is given twice is another finding.
    const auto named = world.claims_by_name.find(NamespacedName(claim.namespace_, claim.name));
    if (named != world.claims_by_name.end() && named->second != &claim) continue;
    const auto& results = object->status.allocation->devices.results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const DeviceRequestAllocationResult& result = results[i];
      if (result.admin_access.value_or(false)) continue;
      all.push_back({{result.driver, result.pool, result.device}, {&claim, i, &result}});
    }
  }
  return all;
}

// Somebody has all of the device, and somebody has it, too.
void CheckExclusive(const DeviceKey& key, const std::vector<Holding>& holdings,
                    Findings& findings) {
  const auto owner = std::ranges::find_if(
      holdings, [](const Holding& holding) { return !holding.what->share_id; });
  if (owner == holdings.end() || holdings.size() < 2) return;
  for (const Holding& holding : holdings) {
    if (&holding == &*owner) continue;
    findings.push_back(
        {.object = holding.claim->index,
         .path = ResultPath(holding.result) / "device",
         .severity = Severity::kError,
         .reason = "DeviceGivenTwice",
         .message = fmt::format("device \"{}\" is allocated as a whole to {}", ShownDevice(key),
                                holding.claim == owner->claim ? "another request of this claim"
                                                              : ShownClaim(*owner->claim)),
         .hint = "only one of them can use it: deallocate the other",
         .related = owner->claim->index});
  }
}

void CheckShareIds(const DeviceKey& key, const std::vector<Holding>& holdings, Findings& findings) {
  base::StringMap<const Holding*> first;
  for (const Holding& holding : holdings) {
    if (!holding.what->share_id) continue;
    const auto [it, added] = first.try_emplace(*holding.what->share_id, &holding);
    if (added) continue;
    findings.push_back(
        {.object = holding.claim->index,
         .path = ResultPath(holding.result) / "shareID",
         .severity = Severity::kError,
         .reason = "RepeatedShare",
         .message = fmt::format("{} has a share of device \"{}\" by this id",
                                it->second->claim == holding.claim ? "another request of this claim"
                                                                   : ShownClaim(*it->second->claim),
                                ShownDevice(key)),
         .hint = "share ids must be unique for a device: drivers identify shares by them",
         .related = it->second->claim->index});
  }
}

// Tells of the claim with which more is taken than there is; what comes after it is as guilty.
void CheckCapacity(const DeviceKey& key, const Device& device, const std::vector<Holding>& holdings,
                   Findings& findings) {
  const std::string_view driver = std::get<0>(key);
  for (const auto& [name, capacity] : device.capacity) {
    const std::string wanted = QualifiedCapacity(name, driver);
    base::Quantity sum;
    for (const Holding& holding : holdings) {
      const auto& consumed = holding.what->consumed_capacity;
      const auto taken = std::ranges::find_if(consumed, [&](const auto& entry) {
        return QualifiedCapacity(entry.first, driver) == wanted;
      });
      if (taken == consumed.end()) continue;
      const bool fitted = sum <= capacity.value;
      sum += taken->second;
      if (!fitted || sum <= capacity.value) continue;
      findings.push_back(
          {.object = holding.claim->index,
           .path = (ResultPath(holding.result) / "consumedCapacity").Key(taken->first),
           .severity = Severity::kError,
           .reason = "CapacityOvercommitted",
           .message = fmt::format(
               "with this, {} of capacity \"{}\" of device \"{}\" are allocated, "
               "which has {}",
               sum.ToString(), std::string_view(name), ShownDevice(key), capacity.value.ToString()),
           .hint = "no more shares fit until others are released"});
    }
  }
}

// What the allocated devices of a pool draw on its counters, each device once (KEP-4815).
class CounterCheck {
 public:
  CounterCheck(const GivenPool& pool, Findings& findings) : pool_(pool), findings_(findings) {
    for (const Given<ResourceSlice>& slice : pool.current) {
      if (!slice.object->spec.shared_counters) continue;
      for (const CounterSet& set : *slice.object->spec.shared_counters) {
        for (const auto& [name, counter] : set.counters) {
          left_.emplace(std::pair(std::string_view(set.name), std::string_view(name)),
                        counter.value);
        }
      }
    }
  }

  void Take(const Device& device, const Holding& first) {
    for (const DeviceCounterConsumption& consumption : device.consumes_counters) {
      for (const auto& [name, counter] : consumption.counters) {
        const auto left = left_.find({consumption.counter_set, std::string_view(name)});
        if (left == left_.end()) continue;
        const bool fitted = left->second.Sign() >= 0;
        left->second -= counter.value;
        if (!fitted || left->second.Sign() >= 0) continue;
        findings_.push_back(
            {.object = first.claim->index,
             .path = ResultPath(first.result) / "device",
             .severity = Severity::kError,
             .reason = "CountersOvercommitted",
             .message = fmt::format("with this device, {} more of counter \"{}\" of set \"{}\" in "
                                    "pool \"{}\" are allocated than there are",
                                    (-left->second).ToString(), std::string_view(name),
                                    consumption.counter_set, pool_.name),
             .hint = "the set gives nothing until there is room again"});
      }
    }
  }

 private:
  const GivenPool& pool_;
  Findings& findings_;
  std::map<std::pair<std::string_view, std::string_view>, base::Quantity> left_;
};

}  // namespace

void CheckAllocations(const World& world, Findings& findings) {
  Holdings holdings;
  std::vector<DeviceKey> order;  // of first appearance: findings do not depend on a hash
  std::set<std::pair<std::string_view, std::string_view>> pools;
  for (auto& [key, holding] : HoldingsOf(world)) {
    auto& of_device = holdings[key];
    if (of_device.empty()) order.push_back(key);
    of_device.push_back(holding);
    pools.emplace(std::get<0>(key), std::get<1>(key));
  }
  for (const DeviceKey& key : order) {
    CheckExclusive(key, holdings[key], findings);
    CheckShareIds(key, holdings[key], findings);
  }
  for (const GivenPool& pool : world.pools) {
    if (!pools.contains({pool.driver, pool.name})) continue;
    CounterCheck counters(pool, findings);
    for (const Given<ResourceSlice>& slice : pool.current) {
      if (!slice.object->spec.devices) continue;
      for (const Device& device : *slice.object->spec.devices) {
        const auto held = holdings.find({pool.driver, pool.name, device.name});
        if (held == holdings.end()) continue;
        CheckCapacity(held->first, device, held->second, findings);
        counters.Take(device, held->second.front());
      }
    }
  }
}

}  // namespace dray::api::internal
