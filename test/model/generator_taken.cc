// SPDX-License-Identifier: Apache-2.0
//
// Random claims that were allocated before.
#include <map>

#include "fmt/format.h"
#include "model/generator_internal.h"
#include "model/groups.h"

namespace dray::model::generator {
namespace {

api::Map<std::vector<std::string>> Snapshot(const api::Device& device) {
  api::Map<std::vector<std::string>> groups;
  for (const auto& use : device.consumes_counters) {
    groups[use.counter_set] = use.compatibility_groups;
  }
  return groups;
}

std::string ShareId(std::size_t number) {
  return fmt::format("00000000-0000-4000-8000-{:012}", number);
}

// Keeps those who hold a counter set together compatible.
class Placed {
 public:
  bool Admits(const std::string& pool, const api::Map<std::vector<std::string>>& groups,
              const api::Device& device) {
    for (const auto& use : device.consumes_counters) {
      if (!sets_[pool + "/" + use.counter_set].Admits(GroupsOn(groups, use))) {
        return false;
      }
    }
    for (const auto& use : device.consumes_counters) {
      sets_[pool + "/" + use.counter_set].Add(GroupsOn(groups, use));
    }
    return true;
  }

 private:
  static std::vector<std::string> GroupsOn(const api::Map<std::vector<std::string>>& groups,
                                           const api::DeviceCounterConsumption& use) {
    const auto* found = groups.Find(use.counter_set);
    return found == nullptr ? use.compatibility_groups : *found;
  }
  std::map<std::string, CommonGroups> sets_;
};

}  // namespace

void AddTaken(Dice& dice, const Themes& themes, const GeneratorOptions& options,
              Instance& instance) {
  if (!themes.taken) return;
  Placed placed;
  const double often = dice.Chance(0.5) ? 0.15 : 0.4;
  const auto hold = [&](api::DeviceRequestAllocationResult result) {
    api::ResourceClaim claim;
    claim.metadata.name = fmt::format("taken-{}", instance.allocated_claims.size());
    claim.metadata.namespace_ = "default";
    claim.metadata.uid = claim.metadata.name;
    claim.status.allocation.emplace();
    claim.status.allocation->devices.results.push_back(std::move(result));
    instance.allocated_claims.push_back(std::move(claim));
  };
  for (const api::ResourceSlice& slice : instance.slices) {
    if (!slice.spec.devices) continue;
    for (const api::Device& device : *slice.spec.devices) {
      if (!dice.Chance(often)) continue;
      api::Map<std::vector<std::string>> groups = Snapshot(device);
      const bool remembered = dice.Chance(0.6);
      if (themes.odd_snapshots && remembered && dice.Chance(0.5)) {
        // Groups that it no longer has, none although it has some now, or of a set that is renamed.
        for (auto& [set, names] : groups) {
          names.clear();
          if (dice.Chance(0.7)) names = {dice.Pick({"mig", "vgpu", "mps", "shared"})};
        }
        if (dice.Chance(0.2)) groups = {{"set-before", {"mig"}}};
      }
      if (!dice.Chance(options.contradictions) &&
          !placed.Admits(slice.spec.driver + "/" + slice.spec.pool.name, groups, device)) {
        continue;
      }
      const bool multi = device.allow_multiple_allocations.value_or(false);
      // Sometimes the device was something else when it was given away.
      const bool shares = dice.Chance(0.1) ? !multi : multi;
      const int n = shares ? dice.Range(1, 2) : 1;
      for (int i = 0; i < n; ++i) {
        api::DeviceRequestAllocationResult result{.request = "r0",
                                                  .driver = slice.spec.driver,
                                                  .pool = slice.spec.pool.name,
                                                  .device = device.name};
        if (shares) {
          result.share_id = ShareId(instance.allocated_claims.size());
          for (const auto& [name, capacity] : device.capacity) {
            // Sometimes the capacity was published under its other name.
            const bool otherwise = dice.Chance(0.1);
            const std::string domain = slice.spec.driver + "/";
            const std::string other = name.starts_with(domain)
                                          ? std::string(name.substr(domain.size()))
                                          : domain + name.str();
            result.consumed_capacity[otherwise ? other : name.str()] =
                Amount(dice.Pick({"0", "1", "2", "500m"}));
          }
        }
        if (remembered) result.compatibility_groups = groups;
        if (themes.admin && dice.Chance(0.2)) result.admin_access = true;
        hold(std::move(result));
      }
    }
  }
  if (themes.odd_snapshots && dice.Chance(0.3)) {
    // A device that is no longer published.
    api::DeviceRequestAllocationResult gone{
        .request = "r0", .driver = kGpu, .pool = "pool-0", .device = "gone"};
    api::Device like;
    like.consumes_counters.push_back({.counter_set = "set-0"});
    gone.compatibility_groups["set-0"] = {dice.Pick({"mig", "vgpu"})};
    if (placed.Admits(std::string(kGpu) + "/pool-0", gone.compatibility_groups, like)) {
      hold(std::move(gone));
    }
  }
}

}  // namespace dray::model::generator
