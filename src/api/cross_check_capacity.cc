// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of amounts (KEP-5075): the capacities that claims ask for, and what their
// allocations say that they took.
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/cross_world.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// What one alternative of a request asks for.
struct Asked {
  std::string request;  // "request" or "request/sub", as results call it
  const CapacityRequirements* capacity;
  base::FieldPath path;  // of the alternative
};

std::vector<Asked> AskedIn(const GivenClaim& claim) {
  std::vector<Asked> asked;
  const auto& requests = claim.spec->devices.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const DeviceRequest& request = requests[i];
    const base::FieldPath path = (claim.path / "requests").Index(i);
    if (request.exactly && request.exactly->capacity) {
      asked.push_back({request.name, &*request.exactly->capacity, path / "exactly"});
    }
    for (std::size_t j = 0; j < request.first_available.size(); ++j) {
      const DeviceSubRequest& sub = request.first_available[j];
      if (!sub.capacity) continue;
      asked.push_back({fmt::format("{}/{}", request.name, sub.name), &*sub.capacity,
                       (path / "firstAvailable").Index(j)});
    }
  }
  return asked;
}

// The amount of a capacity, whichever of its two names the map has.
const base::Quantity* FindCapacity(const Map<base::Quantity>& amounts, std::string_view name,
                                   std::string_view driver) {
  for (const auto& [key, amount] : amounts) {
    if (QualifiedCapacity(key, driver) == QualifiedCapacity(name, driver)) return &amount;
  }
  return nullptr;
}

void CheckNames(const World& world, const GivenClaim& claim, const Asked& asked,
                Findings& findings) {
  const base::FieldPath path = asked.path / "capacity" / "requests";
  for (const auto& [key, amount] : asked.capacity->requests) {
    const std::string_view name(key);
    if (!world.capacity_names.contains(name)) {
      findings.push_back(
          {.object = claim.index,
           .path = path.Key(name),
           .severity = Severity::kWarning,
           .reason = "UnknownCapacity",
           .message = fmt::format("no device in the input has the capacity \"{}\"", name),
           .hint = HintAmong(world, name, world.capacity_names, "the devices in the input have")});
      continue;
    }
    const auto slash = name.rfind('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view bare = name.substr(slash + 1);
    if (!asked.capacity->requests.contains(bare) ||
        !world.drivers.contains(name.substr(0, slash))) {
      continue;
    }
    findings.push_back(
        {.object = claim.index,
         .path = path.Key(bare),
         .severity = Severity::kWarning,
         .reason = "OneCapacityTwice",
         .message = fmt::format("of devices of {}, \"{}\" and \"{}\" are one capacity",
                                name.substr(0, slash), bare, name),
         .hint = "ask for it once"});
  }
}

void CheckResult(const GivenClaim& claim, const DeviceRequestAllocationResult& result,
                 const Asked& asked, const base::FieldPath& path, Findings& findings) {
  for (const auto& [key, wanted] : asked.capacity->requests) {
    const std::string_view name(key);
    const base::Quantity* consumed = FindCapacity(result.consumed_capacity, name, result.driver);
    if (consumed != nullptr && *consumed >= wanted) continue;
    findings.push_back(
        {.object = claim.index,
         .path = consumed == nullptr ? path / "consumedCapacity"
                                     : (path / "consumedCapacity").Key(name),
         .severity = Severity::kWarning,
         .reason = "LessThanAsked",
         .message = consumed == nullptr
                        ? fmt::format("has nothing of capacity \"{}\", of which request \"{}\" "
                                      "asks for {}",
                                      name, asked.request, wanted.ToString())
                        : fmt::format("{} is less than the {} that request \"{}\" asks for",
                                      consumed->ToString(), wanted.ToString(), asked.request),
         .hint = "the consumed capacity is the requested one, rounded up by the device's request "
                 "policy"});
  }
}

}  // namespace

void CheckCapacitiesExist(const World& world, Findings& findings) {
  if (!world.has_devices) return;
  for (const GivenClaim& claim : world.claims) {
    for (const Asked& asked : AskedIn(claim)) CheckNames(world, claim, asked, findings);
  }
}

void CheckConsumedCapacity(const World& world, Findings& findings) {
  for (const GivenClaim& claim : world.claims) {
    const auto* object = world.objects[claim.index].As<ResourceClaim>();
    if (object == nullptr || !object->status.allocation) continue;
    const auto& results = object->status.allocation->devices.results;
    const std::vector<Asked> all = AskedIn(claim);
    for (std::size_t i = 0; i < results.size(); ++i) {
      // Only of a device that is shared is it written down.
      if (results[i].consumed_capacity.empty()) continue;
      for (const Asked& asked : all) {
        if (asked.request != results[i].request) continue;
        CheckResult(claim, results[i], asked, ResultPath(i), findings);
      }
    }
  }
}

}  // namespace dray::api::internal
