// SPDX-License-Identifier: Apache-2.0
//
// Random claims to allocate.
#include <algorithm>

#include "fmt/format.h"
#include "model/generator_internal.h"

namespace dray::model::generator {
namespace {

constexpr const char* kDerivedName = "half";

std::string RandomSelector(Dice& dice, const Themes& themes) {
  if (themes.errors && dice.Chance(0.3)) {
    return dice.Pick({"device.attributes['size.example.com'].tier > 1",
                      "device.attributes['nowhere.example.com'].missing == 1", "device.nothing",
                      "device.capacity['gpu.example.com'].memory.compareTo(quantity('1')) > 0"});
  }
  return dice.Pick({"device.attributes['size.example.com'].?tier.orValue(0) >= 1",
                    "device.attributes['size.example.com'].?tier.orValue(0) < 3",
                    "device.attributes['topo.example.com'].?numa.orValue(0) != 1",
                    "!device.allowMultipleAllocations", "device.name != 'dev-0-0'",
                    "device.driver.startsWith('gpu')"});
}

template <typename T>
void FillRequest(Dice& dice, const Themes& themes, const GeneratorOptions& options, T& request) {
  const int kind = dice.Range(0, 9);
  request.device_class_name = kind < 4 ? "gpu" : kind < 5 ? "nic" : kind < 9 ? "any" : "big";
  if (dice.Chance(0.3)) {
    request.selectors.push_back(
        {.cel = api::CELDeviceSelector{.expression = RandomSelector(dice, themes)}});
  }
  if (themes.all && dice.Chance(0.35)) {
    request.allocation_mode = "All";
  } else {
    request.allocation_mode = "ExactCount";
    const int roll = dice.Range(0, 99);
    request.count = roll < 4 ? 0 : roll < 60 ? 1 : roll < 85 ? 2 : dice.Range(1, options.max_count);
  }
  // Near the limit of a claim, so that it is met during the search and before it.
  if (dice.Chance(0.01)) request.count = dice.Range(20, 33);
  if (themes.taints && dice.Chance(0.5)) {
    request.tolerations.push_back({.key = dice.Pick({"sick", "old", ""}),
                                   .operator_ = dice.Pick({"Exists", "Equal", ""}),
                                   .value = dice.Pick({"", "x"}),
                                   .effect = dice.Pick({"", "NoSchedule", "NoExecute"})});
    if (request.tolerations[0].operator_ == "Exists") request.tolerations[0].value.clear();
  }
  if (themes.capacity && dice.Chance(0.5)) {
    const std::string name = dice.Pick({"memory", "memory", "gpu.example.com/memory", "cores"});
    request.capacity.emplace();
    request.capacity->requests[name] =
        Amount(dice.Pick({"1", "2", "3", "5", "700m", "1300m", "0"}));
    if (themes.errors && dice.Chance(0.1)) {
      request.capacity->requests[name] = Amount(dice.Pick({"-1", "1e30"}));
    }
  }
  if (themes.derived && dice.Chance(0.7)) {
    std::string expression =
        dice.Pick({"device.attributes['topo.example.com'].?numa.orValue(0) / 2",
                   "device.attributes['size.example.com'].?tier.orValue(0) % 2",
                   "[device.attributes['topo.example.com'].?numa.orValue(0), 7]", "device.driver"});
    if (themes.errors && dice.Chance(0.3)) {
      expression = "device.attributes['topo.example.com'].numa + 1";
    }
    request.derived_attributes.push_back({.name = kDerivedName, .expression = expression});
  }
}

api::DeviceRequest RandomRequest(Dice& dice, const Themes& themes, const GeneratorOptions& options,
                                 int index) {
  api::DeviceRequest request;
  request.name = fmt::format("r{}", index);
  if (themes.prioritized && dice.Chance(0.5)) {
    const int n = dice.Range(1, 3);
    for (int i = 0; i < n; ++i) {
      api::DeviceSubRequest sub;
      sub.name = fmt::format("s{}", i);
      FillRequest(dice, themes, options, sub);
      request.first_available.push_back(std::move(sub));
    }
    return request;
  }
  request.exactly.emplace();
  FillRequest(dice, themes, options, *request.exactly);
  if (themes.admin && dice.Chance(0.4)) request.exactly->admin_access = dice.Chance(0.9);
  return request;
}

std::vector<std::string> SomeRequests(Dice& dice, const api::DeviceClaim& claim) {
  std::vector<std::string> names;
  if (dice.Chance(0.4)) return names;
  for (const api::DeviceRequest& request : claim.requests) {
    if (!dice.Chance(0.6)) continue;
    const bool sub = !request.first_available.empty() && dice.Chance(0.4);
    names.push_back(sub ? request.name + "/" + dice.Pick(request.first_available).name
                        : request.name);
  }
  return names;
}

void AddConstraints(Dice& dice, const Themes& themes, api::DeviceClaim& claim) {
  const int n = themes.constraints ? dice.Range(0, 2) : 0;
  for (int i = 0; i < n; ++i) {
    std::string attribute = dice.Chance(0.7) ? kNuma : "gpu.example.com/model";
    if (themes.lists && dice.Chance(0.6)) attribute = kRoots;
    if (themes.derived && dice.Chance(0.6)) attribute = kDerivedName;
    api::DeviceConstraint constraint;
    constraint.requests = SomeRequests(dice, claim);
    (dice.Chance(0.7) ? constraint.match_attribute : constraint.distinct_attribute) = attribute;
    // Stored before that was refused: both hold.
    if (dice.Chance(0.05)) {
      if (!constraint.match_attribute) constraint.match_attribute = kNuma;
      if (!constraint.distinct_attribute) constraint.distinct_attribute = "gpu.example.com/model";
    }
    claim.constraints.push_back(std::move(constraint));
  }
}

void BreakClaim(Dice& dice, api::DeviceClaim& claim) {
  api::DeviceRequest& request = claim.requests.front();
  switch (dice.Range(0, 3)) {
    case 0:
      request.exactly.reset();
      request.first_available.clear();
      break;
    case 1:
      claim.constraints.emplace_back();
      break;
    case 2:
      if (request.exactly) request.exactly->device_class_name = "none";
      break;
    default:
      if (request.exactly) request.exactly->allocation_mode.clear();
  }
}

}  // namespace

void AddClaims(Dice& dice, const Themes& themes, const GeneratorOptions& options,
               Instance& instance) {
  const int claims = dice.Chance(0.6) ? 1 : dice.Range(1, options.max_claims);
  for (int c = 0; c < claims; ++c) {
    api::ResourceClaim claim;
    claim.metadata.name = fmt::format("claim-{}", c);
    claim.metadata.namespace_ = "default";
    claim.metadata.uid = claim.metadata.name;
    api::DeviceClaim& devices = claim.spec.devices;
    const int requests = dice.Chance(0.4) ? 1 : dice.Range(1, options.max_requests);
    for (int i = 0; i < requests; ++i) {
      devices.requests.push_back(RandomRequest(dice, themes, options, i));
    }
    AddConstraints(dice, themes, devices);
    const int entries = themes.config ? dice.Range(0, 2) : 0;
    for (int i = 0; i < entries; ++i) {
      api::OpaqueDeviceConfiguration opaque{.driver = kNic,
                                            .parameters = {fmt::format("{{\"claim\":{}}}", i)}};
      devices.config.push_back({.requests = SomeRequests(dice, devices), .opaque = opaque});
    }
    if (themes.errors && dice.Chance(0.15)) BreakClaim(dice, devices);
    instance.claims.push_back(std::move(claim));
  }
}

}  // namespace dray::model::generator
