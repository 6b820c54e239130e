// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_allocatable.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/numeric/int128.h"
#include "api/extended_resources.h"
#include "api/node.h"
#include "api/pod_claims.h"
#include "api/pod_resources.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::scheduler {
namespace {

using base::Quantity;
using Devices = inventory::NodeDevices;
using Taken = api::Map<api::NodeAllocatableResource>;

constexpr std::int64_t kNanos = 1'000'000'000;

const inventory::NodeDevice* FindDevice(const Devices& devices,
                                        const api::DeviceRequestAllocationResult& result) {
  const inventory::Dictionary& names = devices.dictionary();
  const auto pool = names.FindPool(result.driver, result.pool);
  const auto device = names.Find(result.device);
  if (!pool || !device) return nullptr;
  for (std::uint32_t i = 0; i < devices.pools().size(); ++i) {
    if (devices.pools()[i].id != *pool) continue;
    const auto found = devices.FindDevice(i, *device);
    return found ? &devices.devices()[*found] : nullptr;
  }
  return nullptr;
}

const Taken* TakenBy(const inventory::NodeDevice& device) {
  return device.slice->FindNodeAllocatable(*device.row);
}

void AddTo(std::optional<Quantity>& sum, const std::optional<Quantity>& amount) {
  if (!amount) return;
  sum = sum ? *sum + *amount : *amount;
}

// What one claim takes, resource by resource.
struct Sums {
  std::map<std::string, Quantity, std::less<>> mapped;
  std::map<std::string, api::NodeAllocatableOverhead, std::less<>> overhead;

  // False: the device is mapped by a capacity of which nobody knows how much is consumed.
  bool Add(const Taken& taken, const api::DeviceRequestAllocationResult& result) {
    for (const auto& [name, resource] : taken) {
      const std::string resource_name(name.view());
      if (const api::NodeAllocatableMapping* mapping = resource.mapping.get()) {
        if (mapping->capacity_key && !mapping->capacity_key->empty()) {
          if (result.consumed_capacity.empty()) return false;
          // A capacity that this share takes nothing of maps to nothing.
          const Quantity* consumed = result.consumed_capacity.Find(*mapping->capacity_key);
          if (consumed != nullptr) {
            mapped[resource_name] += mapping->capacity_multiplier
                                         ? Product(*consumed, *mapping->capacity_multiplier)
                                         : *consumed;
          }
        } else if (mapping->device_multiplier) {
          mapped[resource_name] += *mapping->device_multiplier;
        }
      }
      if (const api::NodeAllocatableOverhead* more = resource.overhead.get();
          more != nullptr && (more->per_pod || more->per_container)) {
        api::NodeAllocatableOverhead& sum = overhead[resource_name];
        AddTo(sum.per_pod, more->per_pod);
        AddTo(sum.per_container, more->per_container);
      }
    }
    return true;
  }
};

// The containers that use the claim, each once, in the order in which they start.
std::vector<std::string> ContainersOf(const api::Pod& pod, const api::ClaimsOfPod& entries,
                                      std::string_view claim) {
  base::StringSet names;
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (entries.NameOf(entry) == claim) names.insert(entry.name);
  }
  std::vector<std::string> containers;
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (const api::Container& container : *list) {
      const bool uses = std::ranges::any_of(
          container.resources.claims, [&](const auto& used) { return names.contains(used.name); });
      if (uses) containers.push_back(container.name);
    }
  }
  return containers;
}

std::int64_t AmountOf(std::string_view name, const Quantity& amount) {
  return name == api::kResourceCpu ? amount.MilliValue() : amount.Value();
}

std::int64_t AmountIn(std::string_view name, const Resources& resources,
                      const ResourceNames& names) {
  if (name == api::kResourceCpu) return resources.milli_cpu;
  if (name == api::kResourceMemory) return resources.memory;
  for (const Resources::Scalar& scalar : resources.scalars) {
    if (names.View(scalar.name) == name) return scalar.amount;
  }
  return 0;
}

std::string Written(std::string_view name, std::int64_t amount) {
  if (name == api::kResourceCpu) return Quantity::FromMilli(amount).ToString();
  return Quantity::FromInt(amount, Quantity::Format::kBinarySI).ToString();
}

bool IsNodeResource(std::string_view name) {
  return name == api::kResourceCpu || name == api::kResourceMemory ||
         name.starts_with(api::kHugePagesPrefix);
}

// What is set for the pod as a whole has to cover its containers and their devices. Whoever wrote
// it could not know the devices, so nobody has checked that before.
std::string WhyPodLevelIsTooSmall(const api::Pod& pod) {
  if (!pod.spec.resources) return {};
  const api::ResourceRequirements& whole = *pod.spec.resources;
  api::Pod parts = pod;
  parts.spec.resources.reset();
  parts.spec.overhead = {};
  const api::PodResourcesOptions options{.node_allocatable = true};
  const auto requests = api::PodRequests(parts, options);
  for (const auto& [name, amount] : whole.requests) {
    const Quantity* sum = requests.Find(name.view());
    if (IsNodeResource(name.view()) && sum != nullptr && *sum > amount) {
      return fmt::format(
          "pod level request for {} is insufficient to cover the aggregated container and "
          "node-allocatable DRA requests",
          name.view());
    }
  }
  const auto limits = api::PodLimits(parts, options);
  for (const auto& [name, amount] : whole.limits) {
    if (!name.view().starts_with(api::kHugePagesPrefix)) continue;
    const Quantity* sum = limits.Find(name.view());
    if (sum != nullptr && *sum > amount) {
      return fmt::format(
          "pod level limit for {} is insufficient to cover the aggregated container and "
          "node-allocatable DRA limits",
          name.view());
    }
  }
  for (const api::Container& container : pod.spec.containers) {
    const auto of_devices = api::NodeAllocatableOf(pod, container.name);
    for (const auto& [name, limit] : container.resources.limits) {
      const Quantity* most = whole.limits.Find(name.view());
      if (most == nullptr || name.view().starts_with(api::kHugePagesPrefix)) continue;
      const Quantity* more = of_devices.Find(name.view());
      if ((more == nullptr ? limit : limit + *more) > *most) {
        return fmt::format(
            "pod level limit for {} is insufficient to cover the limit and DRA overhead for "
            "container {}",
            name.view(), container.name);
      }
    }
  }
  return {};
}

}  // namespace

NodeAllocatableUse NodeAllocatableUseOf(const api::Pod& pod,
                                        std::span<const ClaimWithDevices> claims,
                                        const inventory::NodeDevices& devices) {
  NodeAllocatableUse use;
  const api::ClaimsOfPod entries(pod);
  for (const auto& [claim, allocation] : claims) {
    Sums sums;
    const api::DeviceRequestAllocationResult* unknown = nullptr;
    bool takes = false;
    for (const auto& result : allocation->devices.results) {
      const inventory::NodeDevice* device = FindDevice(devices, result);
      if (device == nullptr) {
        unknown = &result;
        continue;
      }
      const Taken* taken = TakenBy(*device);
      if (taken == nullptr) continue;
      takes = true;
      if (!sums.Add(*taken, result)) {
        use.problem = fmt::format(
            "claim {}: device {}/{}/{} stands for node resources by a capacity, and the claim "
            "does not say how much it consumes",
            claim->metadata.name, result.driver, result.pool, result.device);
        return use;
      }
    }
    if (takes && unknown != nullptr) {
      use.problem = fmt::format(
          "claim {}: device {}/{}/{} is not published, so that it is not known what it takes of "
          "the node",
          claim->metadata.name, unknown->driver, unknown->pool, unknown->device);
      return use;
    }
    if (sums.mapped.empty() && sums.overhead.empty()) continue;
    api::NodeAllocatableResourceClaimStatus status;
    status.resource_claim_name = claim->metadata.name;
    status.containers = ContainersOf(pod, entries, claim->metadata.name);
    for (auto& [name, amount] : sums.mapped) {
      status.mapping.push_back({.name = name, .quantity = std::move(amount)});
    }
    for (auto& [name, more] : sums.overhead) {
      status.overhead.push_back({.name = name,
                                 .per_pod = std::move(more.per_pod),
                                 .per_container = std::move(more.per_container)});
    }
    use.claims.push_back(std::move(status));
  }
  std::ranges::sort(use.claims, {}, &api::NodeAllocatableResourceClaimStatus::resource_claim_name);
  return use;
}

bool AnyNodeAllocatable(const inventory::NodeDevices& devices) {
  return std::ranges::any_of(devices.slices(), [](const Devices::SliceRange& range) {
    return range.slice->has_node_allocatable();
  });
}

bool HasMappedDevice(const api::AllocationResult& allocation,
                     const inventory::NodeDevices& devices) {
  return std::ranges::any_of(allocation.devices.results, [&](const auto& result) {
    const inventory::NodeDevice* device = FindDevice(devices, result);
    const Taken* taken = device == nullptr ? nullptr : TakenBy(*device);
    return taken != nullptr && std::ranges::any_of(*taken, [](const auto& entry) {
             return entry.second.mapping.has_value();
           });
  });
}

PluginStatus FitsWithClaims(const api::Pod& pod,
                            std::vector<api::NodeAllocatableResourceClaimStatus> claims,
                            const NodeInfo& node, const ResourceNames& names) {
  // No more of the pod than amounts come from.
  api::Pod with_claims;
  with_claims.spec.init_containers = pod.spec.init_containers;
  with_claims.spec.containers = pod.spec.containers;
  with_claims.spec.overhead = pod.spec.overhead;
  with_claims.spec.resources = pod.spec.resources;
  with_claims.status.node_allocatable_resource_claim_statuses = std::move(claims);
  if (std::string why = WhyPodLevelIsTooSmall(with_claims); !why.empty()) {
    return PluginStatus::Unresolvable({.code = "pod_level_resources", .text = std::move(why)});
  }
  PluginStatus status;
  for (const auto& [name, asked] : api::PodRequests(with_claims, {.node_allocatable = true})) {
    if (!IsNodeResource(name.view())) continue;
    const std::int64_t needed = AmountOf(name.view(), asked);
    const std::int64_t allocatable = AmountIn(name.view(), node.allocatable, names);
    const std::int64_t free = allocatable - AmountIn(name.view(), node.requested, names);
    if (needed <= 0 || needed <= free) continue;
    if (status.code != PluginStatus::Code::kUnresolvable) {
      status.code = needed > allocatable ? PluginStatus::Code::kUnresolvable
                                         : PluginStatus::Code::kUnschedulable;
    }
    Reason reason{.code = "insufficient_resource",
                  .text = fmt::format("Insufficient {}", name.view())};
    reason.shortages.push_back({.what = std::string(name.view()),
                                .needed = Written(name.view(), needed),
                                .free = Written(name.view(), std::max<std::int64_t>(0, free))});
    status.reasons.push_back(std::move(reason));
  }
  return status;
}

Quantity Product(const Quantity& a, const Quantity& b) {
  const absl::int128 left = a.ClampedNano();
  const absl::int128 right = b.ClampedNano();
  if (left < 0 || right < 0) return {};  // validation allows neither
  // left * (whole + part) with right = whole * 10^9 + part; nothing of it is lost.
  const absl::int128 whole = right / kNanos;
  const absl::int128 part = right % kNanos;
  const absl::int128 most = absl::int128{std::numeric_limits<std::int64_t>::max()} * kNanos;
  if (whole > 0 && left > most / whole) {
    return Quantity::FromInt(std::numeric_limits<std::int64_t>::max(), a.format());
  }
  const absl::int128 fraction =
      (left / kNanos) * part + ((left % kNanos) * part + kNanos - 1) / kNanos;
  const absl::int128 nanos = left * whole + fraction;
  if (nanos > most) {
    return Quantity::FromInt(std::numeric_limits<std::int64_t>::max(), a.format());
  }
  Quantity product = Quantity::FromInt(static_cast<std::int64_t>(nanos / kNanos), a.format());
  const auto rest = static_cast<std::int64_t>(nanos % kNanos);
  if (rest != 0) product += Quantity::FromScaled(rest, Quantity::kNano, a.format());
  return product;
}

}  // namespace dray::scheduler
