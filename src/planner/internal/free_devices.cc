// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/free_devices.h"

#include <algorithm>
#include <utility>

#include "api/device_class.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::planner::internal {
namespace {

constexpr std::string_view kNamespace = "default";
constexpr std::size_t kMaxAlternatives = 8;  // of a request

using Amounts = api::Map<base::Quantity>;

// What the shared devices have, each kind once.
std::vector<Amounts> SharedKinds(const std::vector<api::Object>& objects) {
  std::vector<Amounts> kinds;
  for (const api::Object& object : objects) {
    const auto* slice = object.As<api::ResourceSlice>();
    if (slice == nullptr || !slice->spec.devices) continue;
    for (const api::Device& device : *slice->spec.devices) {
      if (!device.allow_multiple_allocations.value_or(false)) continue;
      Amounts amounts;
      for (const auto& [name, capacity] : device.capacity) amounts[name.view()] = capacity.value;
      if (std::ranges::find(kinds, amounts) == kinds.end()) kinds.push_back(std::move(amounts));
    }
  }
  return kinds;
}

bool HasClass(const std::vector<api::Object>& objects, std::string_view name) {
  return std::ranges::any_of(objects, [&](const api::Object& object) {
    return object.As<api::DeviceClass>() != nullptr && object.metadata().name == name;
  });
}

// Taints of nodes are for whoever comes to have the devices.
std::vector<api::Toleration> AllTolerations() { return {{.operator_ = "Exists"}}; }

}  // namespace

StatusOr<FreeAsker> AskerForFree(const FreeDevices& devices, std::size_t number,
                                 const std::vector<api::Object>& objects,
                                 const PlanOptions& options) {
  if (!HasClass(objects, devices.device_class)) {
    return base::MakeStatus(StatusCode::kNotFound,
                            fmt::format("there is no DeviceClass {}", devices.device_class));
  }
  const std::string name = fmt::format("free-devices-{}", number);
  api::ResourceClaim claim;
  claim.metadata.namespace_ = kNamespace;
  claim.metadata.name = name;
  claim.metadata.uid = name;
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = "devices";
  const std::vector<Amounts> kinds = SharedKinds(objects);
  if (kinds.empty()) {
    auto& exactly = request.exactly.emplace();
    exactly.device_class_name = devices.device_class;
    exactly.allocation_mode = api::kAllocationModeExactCount;
    exactly.count = devices.count;
  } else {
    // Those that nobody shares, or shared ones of one kind, whole.
    const auto add = [&](std::string called) -> api::DeviceSubRequest& {
      api::DeviceSubRequest& alternative = request.first_available.emplace_back();
      alternative.name = std::move(called);
      alternative.device_class_name = devices.device_class;
      alternative.allocation_mode = api::kAllocationModeExactCount;
      alternative.count = devices.count;
      return alternative;
    };
    add("own").selectors.push_back(
        {.cel = api::CELDeviceSelector{.expression = "!device.allowMultipleAllocations"}});
    for (std::size_t i = 0; i < kinds.size() && i + 1 < kMaxAlternatives; ++i) {
      add(fmt::format("shared-{}", i)).capacity.emplace().requests = kinds[i];
    }
  }
  api::Pod pod;
  pod.metadata.namespace_ = kNamespace;
  pod.metadata.name = name;
  pod.metadata.uid = name + "-pod";
  pod.metadata.creation_timestamp = options.now;
  pod.spec.scheduler_name = options.config.profiles.front().scheduler_name;
  pod.spec.priority = 0;
  pod.spec.tolerations = AllTolerations();
  pod.spec.containers.push_back({.name = "c", .image = "none"});
  pod.spec.resource_claims.push_back({.name = "devices", .resource_claim_name = name});
  pod.status.phase = api::kPodPending;
  return FreeAsker{.pod = api::Object::Of(std::move(pod)),
                   .claim = api::Object::Of(std::move(claim))};
}

}  // namespace dray::planner::internal
