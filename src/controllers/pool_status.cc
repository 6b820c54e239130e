// SPDX-License-Identifier: Apache-2.0
#include "controllers/pool_status.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::controllers {
namespace {

using base::Quantity;

struct Device {
  const api::Device* device = nullptr;
  std::string_view attribute;  // tells partitions apart; empty: none
  bool in_use = false;
  std::map<std::string, Quantity, std::less<>> consumed;
};

// [counter set][counter]
using Counters = std::map<std::string, std::map<std::string, Quantity, std::less<>>, std::less<>>;

bool Keeps(const api::DeviceTaint& taint) {
  return taint.effect == api::kTaintEffectNoSchedule || taint.effect == api::kTaintEffectNoExecute;
}

// A rule without a selector selects nothing, one with an empty selector everything.
bool Selects(const api::DeviceTaintRule& rule, std::string_view driver, std::string_view pool,
             std::string_view device) {
  const auto& selector = rule.spec.device_selector;
  if (!selector) return false;
  return (!selector->driver || *selector->driver == driver) &&
         (!selector->pool || *selector->pool == pool) &&
         (!selector->device || *selector->device == device);
}

std::string Cut(std::string text) {
  if (text.size() <= api::kPoolStatusErrorMaxLength) return text;
  text.resize(api::kPoolStatusErrorMaxLength);
  // Not in the middle of a character.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
  return text;
}

// A name in the driver's own domain may be published without it.
const api::DeviceAttribute* FindAttribute(const api::Device& device, std::string_view driver,
                                          std::string_view name) {
  if (const auto* found = device.attributes.Find(name)) return found;
  if (name.size() > driver.size() + 1 && name.starts_with(driver) && name[driver.size()] == '/') {
    return device.attributes.Find(name.substr(driver.size() + 1));
  }
  return nullptr;
}

std::optional<std::string> PartitionType(const Device& device, std::string_view driver) {
  const api::DeviceAttribute* attribute = FindAttribute(*device.device, driver, device.attribute);
  if (attribute == nullptr || !attribute->string_value) return std::nullopt;
  return std::string(attribute->string_value->view());
}

bool Fits(const api::Device& device, const Counters& left) {
  for (const api::DeviceCounterConsumption& use : device.consumes_counters) {
    const auto set = left.find(use.counter_set);
    for (const auto& [name, counter] : use.counters) {
      if (set == left.end()) return false;
      const auto amount = set->second.find(name.view());
      if (amount == set->second.end() || amount->second < counter.value) return false;
    }
  }
  return true;
}

void Take(const api::Device& device, Counters& left) {
  for (const api::DeviceCounterConsumption& use : device.consumes_counters) {
    const auto set = left.find(use.counter_set);
    if (set == left.end()) continue;
    for (const auto& [name, counter] : use.counters) {
      const auto amount = set->second.find(name.view());
      if (amount != set->second.end()) amount->second -= counter.value;
    }
  }
}

// Equal for devices that draw the same on counters.
std::string CostOf(const api::Device& device) {
  std::vector<std::string> parts;
  for (const api::DeviceCounterConsumption& use : device.consumes_counters) {
    for (const auto& [name, counter] : use.counters) {
      parts.push_back(
          fmt::format("{}/{}={}", use.counter_set, name.view(), counter.value.DecimalKey()));
    }
  }
  std::ranges::sort(parts);
  return fmt::format("{}", fmt::join(parts, ","));
}

// One pool at its newest generation.
class Pool {
 public:
  Pool(std::string_view driver, std::string_view name, const PoolContents& contents,
       const std::optional<std::string>& partition_attribute)
      : driver_(driver), name_(name) {
    for (const api::ResourceSlice* slice : contents.slices) {
      generation_ = std::max(generation_, slice->spec.pool.generation);
    }
    for (const api::ResourceSlice* slice : contents.slices) {
      if (slice->spec.pool.generation == generation_) slices_.push_back(slice);
    }
    const bool declared = std::ranges::any_of(slices_, [](const api::ResourceSlice* slice) {
      return slice->spec.partition_type_attribute.has_value();
    });
    for (const api::ResourceSlice* slice : slices_) {
      if (slice->spec.shared_counters) AddCounters(*slice->spec.shared_counters);
      if (!slice->spec.devices) continue;
      std::string_view attribute;
      if (slice->spec.partition_type_attribute) {
        attribute = *slice->spec.partition_type_attribute;
      } else if (!declared && partition_attribute) {
        attribute = *partition_attribute;
      }
      for (const api::Device& device : *slice->spec.devices) {
        by_name_.emplace(device.name, devices_.size());
        devices_.push_back({.device = &device, .attribute = attribute});
      }
    }
    for (const api::ResourceClaim* claim : contents.claims) AddClaim(*claim);
  }

  api::PoolStatus Status(std::span<const api::DeviceTaintRule* const> rules) const {
    api::PoolStatus status;
    status.driver = driver_;
    status.pool_name = name_;
    status.generation = generation_;
    if (const auto& node = slices_.front()->spec.node_name; node && !node->empty()) {
      const bool same = std::ranges::all_of(
          slices_, [&](const api::ResourceSlice* slice) { return slice->spec.node_name == node; });
      if (same) status.node_name = *node;
    }
    const std::int64_t wanted = slices_.front()->spec.pool.resource_slice_count;
    if (static_cast<std::int64_t>(slices_.size()) < wanted) {
      status.validation_error =
          Cut(fmt::format("{} pool {}/{} is incomplete: observed {}/{} slices at generation {}",
                          kPoolIncomplete, driver_, name_, slices_.size(), wanted, generation_));
      return status;
    }
    CountDevices(rules, status);
    std::string problem = Partitions(status);
    if (std::string shares = Shares(status); problem.empty()) problem = std::move(shares);
    if (!problem.empty()) {
      status.partition_summary.clear();
      status.validation_error = Cut(std::move(problem));
    }
    return status;
  }

 private:
  void AddCounters(const std::vector<api::CounterSet>& sets) {
    for (const api::CounterSet& set : sets) {
      auto& counters = counters_[set.name];
      for (const auto& [name, counter] : set.counters) {
        counters[std::string(name.view())] = counter.value;
      }
    }
  }

  // Who only looks on (admin access) has nothing.
  void AddClaim(const api::ResourceClaim& claim) {
    if (!claim.status.allocation) return;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.driver != driver_ || result.pool != name_ || result.admin_access.value_or(false)) {
        continue;
      }
      const auto found = by_name_.find(result.device);
      if (found == by_name_.end()) continue;
      Device& device = devices_[found->second];
      device.in_use = true;
      for (const auto& [name, amount] : result.consumed_capacity) {
        device.consumed[std::string(name.view())] += amount;
      }
    }
  }

  void CountDevices(std::span<const api::DeviceTaintRule* const> rules,
                    api::PoolStatus& status) const {
    std::int32_t in_use = 0;
    std::int32_t tainted = 0;
    for (const Device& device : devices_) {
      if (device.in_use) {
        ++in_use;
        continue;
      }
      const bool kept =
          std::ranges::any_of(device.device->taints, Keeps) ||
          std::ranges::any_of(rules, [&](const api::DeviceTaintRule* rule) {
            return Keeps(rule->spec.taint) && Selects(*rule, driver_, name_, device.device->name);
          });
      if (kept) ++tainted;
    }
    const auto total = static_cast<std::int32_t>(devices_.size());
    status.resource_slice_count = static_cast<std::int32_t>(slices_.size());
    status.total_devices = total;
    status.allocated_devices = in_use;
    status.unavailable_devices = tainted;
    status.available_devices = total - in_use - tainted;
  }

  // How many more of each type fit, each type for itself. The text: why that cannot be said.
  std::string Partitions(api::PoolStatus& status) const {
    const bool grouped =
        std::ranges::any_of(devices_, [](const Device& d) { return !d.attribute.empty(); });
    if (!grouped) return {};
    if (counters_.empty()) {
      return fmt::format(
          "PartitionTypeMissing: pool {}/{} declares partitionTypeAttribute but publishes no "
          "sharedCounters",
          driver_, name_);
    }
    struct Group {
      std::int32_t total = 0;
      std::string cost;
      std::vector<const api::Device*> free;
    };
    std::map<std::pair<std::string_view, std::string>, Group> groups;
    Counters left = counters_;
    for (const Device& device : devices_) {
      if (device.in_use) Take(*device.device, left);
      if (device.device->consumes_counters.empty() || device.attribute.empty()) continue;
      const auto type = PartitionType(device, driver_);
      if (!type) {
        return fmt::format(
            "PartitionTypeMissing: device \"{}\" in pool {}/{} does not carry partition type "
            "attribute \"{}\"",
            device.device->name, driver_, name_, device.attribute);
      }
      Group& group = groups[{device.attribute, *type}];
      const std::string cost = CostOf(*device.device);
      if (group.total++ == 0) {
        group.cost = cost;
      } else if (group.cost != cost) {
        return fmt::format(
            "PartitionCostMismatch: devices of partition type \"{}\" in pool {}/{} consume "
            "different counters",
            *type, driver_, name_);
      }
      if (!device.in_use) group.free.push_back(device.device);
    }
    if (groups.size() > api::kPoolStatusListMax) {
      return fmt::format(
          "PartitionSummaryOverCap: pool {}/{} has {} partition types, exceeding the maximum of {}",
          driver_, name_, groups.size(), api::kPoolStatusListMax);
    }
    for (const auto& [key, group] : groups) {
      Counters rest = left;
      std::int32_t fitting = 0;
      for (const api::Device* device : group.free) {
        if (!Fits(*device, rest)) continue;
        Take(*device, rest);
        ++fitting;
      }
      status.partition_summary.push_back({.type = key.second,
                                          .total = group.total,
                                          .allocatable = fitting,
                                          .attribute = std::string(key.first)});
    }
    return {};
  }

  // Of a device in use something is left while there is some of each capacity.
  static bool SomeLeft(const Device& device) {
    return std::ranges::all_of(device.device->capacity, [&](const auto& entry) {
      const auto consumed = device.consumed.find(entry.first.view());
      return consumed == device.consumed.end() || consumed->second < entry.second.value;
    });
  }

  std::string Shares(api::PoolStatus& status) const {
    api::ShareableSummaryStatus summary{.fully_available_devices = 0,
                                        .partially_available_devices = 0};
    std::map<std::string, std::pair<Quantity, Quantity>, std::less<>> capacities;
    bool any = false;
    for (const Device& device : devices_) {
      if (!device.device->allow_multiple_allocations.value_or(false)) continue;
      any = true;
      if (!device.in_use) {
        ++*summary.fully_available_devices;
      } else if (SomeLeft(device)) {
        ++*summary.partially_available_devices;
      }
      for (const auto& [name, capacity] : device.device->capacity) {
        auto& [total, consumed] = capacities[std::string(name.view())];
        total += capacity.value;
        const auto taken = device.consumed.find(name.view());
        if (taken != device.consumed.end()) consumed += taken->second;
      }
    }
    if (!any) return {};
    if (capacities.size() > api::kPoolStatusListMax) {
      return fmt::format(
          "ShareableSummaryOverCap: pool {}/{} has {} shareable capacity keys, exceeding the "
          "maximum of {}",
          driver_, name_, capacities.size(), api::kPoolStatusListMax);
    }
    for (auto& [name, amounts] : capacities) {
      auto& [total, consumed] = amounts;
      Quantity available = total - consumed;
      if (available.Sign() < 0) available = Quantity::FromInt(0, total.format());
      summary.capacity.push_back({.name = name,
                                  .total = std::move(total),
                                  .consumed = std::move(consumed),
                                  .available = std::move(available)});
    }
    status.shareable_summary = std::move(summary);
    return {};
  }

  const std::string driver_;
  const std::string name_;
  std::int64_t generation_ = 0;
  std::vector<const api::ResourceSlice*> slices_;
  std::vector<Device> devices_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  Counters counters_;
};

}  // namespace

api::PoolStatus PoolStatusOf(std::string_view driver, std::string_view pool,
                             const PoolContents& contents,
                             const std::optional<std::string>& partition_attribute) {
  return Pool(driver, pool, contents, partition_attribute).Status(contents.rules);
}

}  // namespace dray::controllers
