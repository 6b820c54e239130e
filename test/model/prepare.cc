// SPDX-License-Identifier: Apache-2.0
//
// Before the search: pools, the validation of requests, and what All means.
// Spec: docs/spec/allocator.md 2, 3 and 5.
#include <algorithm>
#include <limits>

#include "fmt/format.h"
#include "model/abort.h"
#include "model/search.h"

namespace dray::model {
namespace {

[[noreturn]] void Refuse(const api::ResourceClaim& claim, const std::string& request,
                         std::string_view why) {
  throw Abort{fmt::format("claim {}, request {}: {}", claim.metadata.name, request, why)};
}

// Whether the device has every capacity that is asked for, with a value that is as large.
bool HasAsMuch(const api::CapacityRequirements* request, const Candidate& candidate) {
  const auto asked = RequestedAmounts(request, candidate.id.driver, candidate.device->capacity);
  return asked && std::ranges::all_of(*asked, [&](const auto& entry) {
           return entry.second <= candidate.device->capacity.Find(entry.first)->value;
         });
}

}  // namespace

void Search::Gather() {
  taken_ = WhatIsTaken(instance_);
  pools_ = GatherPools(instance_);
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    if (!pools_[p].usable()) continue;
    for (const api::ResourceSlice* slice : pools_[p].device_slices) {
      if (!slice->spec.devices) continue;
      for (const api::Device& device : *slice->spec.devices) {
        candidates_.push_back({.id = {pools_[p].driver, pools_[p].name, device.name},
                               .device = &device,
                               .slice = slice,
                               .pool = p});
      }
    }
  }
}

Alternative Search::PrepareAlternative(const api::ResourceClaim& claim, const RequestView& view) {
  const std::string name = view.full_name();
  Alternative alternative{.view = view};
  for (const api::DeviceSelector& selector : *view.selectors) {
    if (!selector.cel) Refuse(claim, name, "a selector without an expression");
  }
  if (!features_.admin_access && view.has_admin_access) {
    Refuse(claim, name, "asks for admin access, which is off");
  }
  if (view.class_name.empty()) Refuse(claim, name, "no device class");
  for (const api::DeviceClass& c : instance_.classes) {
    if (c.metadata.name == view.class_name) alternative.device_class = &c;
  }
  if (alternative.device_class == nullptr) Refuse(claim, name, "no such device class");
  if (view.mode == api::kAllocationModeExactCount) {
    alternative.need = std::max<std::int64_t>(view.count, 0);
    return alternative;
  }
  if (view.mode != api::kAllocationModeAll) Refuse(claim, name, "unknown allocation mode");
  std::size_t next = 0;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    if (!pools_[p].usable()) {
      throw Abort{
          .text = fmt::format("claim {}, request {}: wants all devices, but pool {}/{} is {}",
                              claim.metadata.name, name, pools_[p].driver, pools_[p].name,
                              pools_[p].invalid ? "invalid" : "incomplete"),
          .node_only = true};
    }
    for (; next < candidates_.size() && candidates_[next].pool == p; ++next) {
      const Candidate& candidate = candidates_[next];
      if (!SelectableAnew(claim, alternative, candidate)) continue;
      // What cannot give as much is not meant; what has as much and cannot be had makes All fail
      // (KEP-5075), be it in use or its policy has no such amount.
      const bool fits = !features_.consumable_capacity ||
                        Fits(view.capacity, candidate.id.driver, candidate.device->capacity, {},
                             features_.fractional_capacity_range)
                                .fit == Fit::kFits;
      if (!fits && !HasAsMuch(view.capacity, candidate)) continue;
      alternative.all.push_back(next);
    }
  }
  alternative.need = static_cast<std::int64_t>(alternative.all.size());
  return alternative;
}

ClaimPlan Search::PrepareClaim(const api::ResourceClaim& claim) {
  ClaimPlan plan{.claim = &claim};
  std::int64_t least = 0;
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    RequestPlan prepared{.prioritized = !request.first_available.empty()};
    if (prepared.prioritized && !features_.prioritized_list) {
      Refuse(claim, request.name, "has alternatives, which are off");
    }
    const std::vector<RequestView> views = AlternativesOf(request);
    if (views.empty()) Refuse(claim, request.name, "neither exactly nor firstAvailable");
    // Both members of the union may be set; either may bring the capacity.
    const bool capacity =
        (request.exactly && request.exactly->capacity) ||
        std::ranges::any_of(views, [](const RequestView& v) { return v.capacity != nullptr; });
    if (!features_.consumable_capacity && capacity) {
      Refuse(claim, request.name, "asks for capacity, which is off");
    }
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (const RequestView& view : views) {
      prepared.alternatives.push_back(PrepareAlternative(claim, view));
      fewest = std::min(fewest, prepared.alternatives.back().need);
    }
    // A count may be as large as it likes; the sum must not wrap.
    least += std::min<std::int64_t>(fewest, 1'000'000);
    plan.requests.push_back(std::move(prepared));
  }
  if (least > static_cast<std::int64_t>(api::kAllocationResultsMaxSize)) {
    throw Abort{fmt::format("claim {}: {} devices are too many", claim.metadata.name, least)};
  }
  for (const api::DeviceConstraint& constraint : claim.spec.devices.constraints) {
    if (!constraint.match_attribute && !constraint.distinct_attribute) {
      throw Abort{fmt::format("claim {}: a constraint of no known kind", claim.metadata.name)};
    }
  }
  plan.chosen.resize(plan.requests.size(), 0);
  return plan;
}

void Search::Prepare() {
  for (const api::ResourceClaim& claim : instance_.claims) plans_.push_back(PrepareClaim(claim));
  DeriveForCandidates();
}

}  // namespace dray::model
