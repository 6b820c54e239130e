// SPDX-License-Identifier: Apache-2.0
//
// Random claims to allocate.
#include <algorithm>

#include "fmt/format.h"
#include "model/generator_internal.h"

namespace dray::model::generator {
namespace {

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

// A name that one of the requests derives, if any does.
std::string SomeDerived(Dice& dice, const api::DeviceClaim& claim) {
  std::vector<std::string> names;
  const auto add = [&](const auto& request) {
    for (const auto& derived : request.derived_attributes) names.push_back(derived.name);
  };
  for (const api::DeviceRequest& request : claim.requests) {
    if (request.exactly) add(*request.exactly);
    for (const auto& sub : request.first_available) add(sub);
  }
  return dice.Pick(names.empty() ? DerivedNames() : names);
}

void AddConstraints(Dice& dice, const Themes& themes, api::DeviceClaim& claim) {
  const int n = themes.constraints ? dice.Range(0, 2) : 0;
  for (int i = 0; i < n; ++i) {
    std::string attribute =
        dice.Chance(0.6) ? kNuma
                         : dice.Pick({"gpu.example.com/model", "nic.example.com/model", kTier,
                                      "gpu.example.com/firmware", "gpu.example.com/spare"});
    if (themes.lists && dice.Chance(0.6)) {
      attribute = dice.Pick({kRoots, kRoots, kLanes, kFlags, kFirmwares});
    }
    if (themes.derived && dice.Chance(0.6)) attribute = SomeDerived(dice, claim);
    api::DeviceConstraint constraint;
    constraint.requests = SomeRequests(dice, claim);
    (dice.Chance(0.6) ? constraint.match_attribute : constraint.distinct_attribute) = attribute;
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
  std::vector<api::DeviceRequest> earlier;
  for (int c = 0; c < claims; ++c) {
    api::ResourceClaim claim;
    claim.metadata.name = fmt::format("claim-{}", c);
    claim.metadata.namespace_ = "default";
    claim.metadata.uid = claim.metadata.name;
    api::DeviceClaim& devices = claim.spec.devices;
    if (themes.alike && c > 0 && dice.Chance(0.4)) {
      devices = dice.Pick(instance.claims).spec.devices;  // asks for the same
      instance.claims.push_back(std::move(claim));
      continue;
    }
    const int requests = dice.Chance(0.4) ? 1 : dice.Range(1, options.max_requests);
    for (int i = 0; i < requests; ++i) {
      const bool like = themes.alike && !earlier.empty() && dice.Chance(0.5);
      api::DeviceRequest request = like ? RequestLike(dice, themes, options, dice.Pick(earlier))
                                        : RandomRequest(dice, themes, options);
      request.name = fmt::format("r{}", i);
      earlier.push_back(request);
      devices.requests.push_back(std::move(request));
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
