// SPDX-License-Identifier: Apache-2.0
#include "api/quota.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "api/pod_resources.h"
#include "base/seconds.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

constexpr std::string_view kKepImplicitPrefix = "request.deviceclass.resource.kubernetes.io/";
constexpr std::string_view kImplicitPrefix = "requests.deviceclass.resource.kubernetes.io/";
constexpr std::string_view kRequestsHugePagesPrefix = "requests.hugepages-";

std::string Join(std::string_view a, std::string_view b) { return std::string(a).append(b); }

// The most devices that a request can get.
template <typename Request>
std::int64_t DevicesOf(const Request& request) {
  if (request.allocation_mode == kAllocationModeExactCount) return request.count;
  if (request.allocation_mode == kAllocationModeAll) return kAllocationResultsMaxSize;
  // Written by a newer server. It does not count, but its class is listed.
  return 0;
}

// Devices by class name.
Map<base::Quantity> DevicesByClass(const ResourceClaim& claim) {
  Map<base::Quantity> devices;
  for (const DeviceRequest& request : claim.spec.devices.requests) {
    if (!request.first_available.empty()) {
      // One of the alternatives will be taken: of each class the worst case.
      Map<base::Quantity> worst;
      for (const DeviceSubRequest& alternative : request.first_available) {
        const std::int64_t count = DevicesOf(alternative);
        if (count <= 0) continue;
        MaxResources(worst, {{alternative.device_class_name, base::Quantity::FromInt(count)}});
      }
      AddResources(devices, worst);
    } else if (request.exactly) {
      devices[request.exactly->device_class_name] +=
          base::Quantity::FromInt(DevicesOf(*request.exactly));
    }
  }
  return devices;
}

// Whether another of the claims was made for the pod before this one.
bool IsPreceded(const ResourceClaim& claim, const std::vector<const ResourceClaim*>& others) {
  const auto earlier = [&](const ResourceClaim* other) {
    const auto& created = claim.metadata.creation_timestamp;
    const auto& other_created = other->metadata.creation_timestamp;
    if (created != other_created) return other_created < created;
    return other->metadata.name < claim.metadata.name;
  };
  return std::ranges::any_of(others, earlier);
}

// What the pod that the claim was made for is charged with; nothing for a claim of its own right.
// Only one claim of a pod counts: the one that its status names, until then the first.
Map<base::Quantity> UsageOfOwner(const ResourceClaim& claim, const QuotaContext& context) {
  const OwnerReference* owner = ExtendedResourcePod(claim);
  if (owner == nullptr) return {};
  const std::string& namespace_ = claim.metadata.namespace_;
  const Pod* pod = context.objects.FindPod(namespace_, owner->name);
  if (pod == nullptr || pod->metadata.uid != owner->uid) return {};
  if (const auto& status = pod->status.extended_resource_claim_status) {
    if (status->resource_claim_name != claim.metadata.name) return {};
  } else if (IsPreceded(claim, context.objects.ExtendedResourceClaimsOf(namespace_, owner->uid))) {
    return {};
  }
  return PodQuotaUsage(*pod, context.now);
}

// Two classes may carry one explicit name while it moves from one to the other: their devices add
// up. Kubernetes charges for one of the two.
Map<base::Quantity> ExtendedUsage(const Map<base::Quantity>& devices,
                                  const ExtendedResourceIndex& classes) {
  Map<base::Quantity> usage;
  for (const auto& [class_name, count] : devices) {
    if (class_name.empty()) continue;
    usage[Join(kImplicitPrefix, class_name)] += count;
    if (const std::string* name = classes.FindExplicitName(class_name)) {
      usage[Join(kRequestsPrefix, *name)] += count;
    }
  }
  return usage;
}

// "requests." and a name that devices can have.
bool IsDeviceQuotaName(std::string_view name) {
  return name.starts_with(kImplicitPrefix) ||
         (name.starts_with(kRequestsPrefix) && !IsNativeResource(name));
}

bool IsClaimQuotaName(std::string_view written, const ExtendedResourceIndex& classes,
                      const FeatureGates& gates) {
  if (written == kClaimCountQuota || written.ends_with(kDevicesPerClassSuffix)) return true;
  if (!gates.Enabled(Gate::kDRAExtendedResource)) return false;
  const std::string name = NormalizeQuotaName(written);
  if (!IsDeviceQuotaName(name)) return false;
  return classes.FindClass(std::string_view(name).substr(kRequestsPrefix.size())) != nullptr;
}

bool IsPodQuotaName(std::string_view written) {
  constexpr std::array<std::string_view, 11> kNames = {
      kPodCountQuota,
      "cpu",
      "memory",
      "ephemeral-storage",
      "requests.cpu",
      "requests.memory",
      "requests.ephemeral-storage",
      "limits.cpu",
      "limits.memory",
      "limits.ephemeral-storage",
      kPodsQuota,
  };
  return std::ranges::find(kNames, written) != kNames.end() ||
         written.starts_with(kHugePagesPrefix) || written.starts_with(kRequestsHugePagesPrefix) ||
         IsDeviceQuotaName(NormalizeQuotaName(written));
}

bool IsOver(const Pod& pod, base::Time now) {
  if (pod.status.phase == kPodFailed || pod.status.phase == kPodSucceeded) return true;
  // Its node may be lost; the owner is to have room for another.
  const ObjectMeta& metadata = pod.metadata;
  return metadata.deletion_timestamp && metadata.deletion_grace_period_seconds &&
         now > *metadata.deletion_timestamp +
                   base::BoundedSeconds(*metadata.deletion_grace_period_seconds);
}

bool HasDeadline(const Pod& pod) { return pod.spec.active_deadline_seconds.value_or(-1) >= 0; }

}  // namespace

std::string NormalizeQuotaName(std::string_view name) {
  if (!name.starts_with(kKepImplicitPrefix)) return std::string(name);
  return Join(kImplicitPrefix, name.substr(kKepImplicitPrefix.size()));
}

Map<base::Quantity> NormalizeHard(const Map<base::Quantity>& hard) {
  Map<base::Quantity> normal;
  for (const auto& [name, amount] : hard) {
    const std::string key = NormalizeQuotaName(name);
    const base::Quantity* other = normal.Find(key);
    if (other == nullptr || amount < *other) normal[key] = amount;
  }
  return normal;
}

Map<base::Quantity> ClaimQuotaUsage(const ResourceClaim& claim, const QuotaContext& context) {
  const Map<base::Quantity> devices = DevicesByClass(claim);
  Map<base::Quantity> usage = {{std::string(kClaimCountQuota), base::Quantity::FromInt(1)}};
  for (const auto& [class_name, count] : devices) {
    usage[Join(class_name, kDevicesPerClassSuffix)] = count;
  }
  if (!context.gates.Enabled(Gate::kDRAExtendedResource)) return usage;
  const Map<base::Quantity> charged = UsageOfOwner(claim, context);
  for (auto& [name, amount] : ExtendedUsage(devices, context.classes)) {
    base::Quantity rest = amount;
    if (const base::Quantity* already = charged.Find(name)) rest -= *already;
    if (rest.Sign() > 0) usage[name] = rest;
  }
  return usage;
}

Map<base::Quantity> PodQuotaUsage(const Pod& pod, base::Time now) {
  const base::Quantity one = base::Quantity::FromInt(1);
  Map<base::Quantity> usage = {{std::string(kPodCountQuota), one}};
  if (IsOver(pod, now)) return usage;
  usage[kPodsQuota] = one;
  for (const auto& [name, amount] : PodRequests(pod, {.use_status = true})) {
    const bool compute = name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
                         name.starts_with(kHugePagesPrefix);
    if (compute) usage[name] = amount;
    if (compute || IsDeviceResourceName(name)) usage[Join(kRequestsPrefix, name)] = amount;
  }
  for (const auto& [name, amount] : PodLimits(pod, {.use_status = true})) {
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage") {
      usage[Join("limits.", name)] = amount;
    }
  }
  return usage;
}

std::string MissingForQuota(const Pod& pod, const Map<base::Quantity>& hard) {
  static constexpr std::string_view kNames[] = {"cpu",    "limits.cpu",   "limits.memory",
                                                "memory", "requests.cpu", "requests.memory"};
  const auto says = [](const ResourceRequirements& resources, std::string_view name) {
    constexpr std::string_view kLimits = "limits.";
    if (name.starts_with(kLimits)) return resources.limits.contains(name.substr(kLimits.size()));
    if (name.starts_with(kRequestsPrefix)) name.remove_prefix(kRequestsPrefix.size());
    return resources.requests.contains(name);
  };
  std::string missing;
  for (const std::string_view name : kNames) {
    if (!hard.contains(name) || (pod.spec.resources && says(*pod.spec.resources, name))) continue;
    std::set<std::string_view> containers;
    for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers}) {
      for (const Container& container : *list) {
        if (!says(container.resources, name)) containers.insert(container.name);
      }
    }
    if (containers.empty()) continue;
    missing += fmt::format("{}{} for: {}", missing.empty() ? "must specify " : "; ", name,
                           fmt::join(containers, ","));
  }
  return missing;
}

std::vector<std::string> ClaimQuotaNames(std::span<const std::string> names,
                                         const ExtendedResourceIndex& classes,
                                         const FeatureGates& gates) {
  std::vector<std::string> mine;
  std::ranges::copy_if(names, std::back_inserter(mine), [&](const std::string& name) {
    return IsClaimQuotaName(name, classes, gates);
  });
  return mine;
}

std::vector<std::string> PodQuotaNames(std::span<const std::string> names) {
  std::vector<std::string> mine;
  std::ranges::copy_if(names, std::back_inserter(mine), IsPodQuotaName);
  return mine;
}

bool ClaimQuotaHandles(std::string_view operation, std::string_view subresource) {
  return subresource.empty() && (operation == "create" || operation == "update");
}

bool PodQuotaHandles(std::string_view operation, std::string_view subresource, const Pod* pod,
                     const Pod* old) {
  if (subresource == "resize") return operation == "update";
  if (!subresource.empty()) return false;
  if (operation == "create") return true;
  return operation == "update" && pod != nullptr && old != nullptr &&
         HasDeadline(*pod) != HasDeadline(*old);
}

}  // namespace dray::api
