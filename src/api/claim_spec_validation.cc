// SPDX-License-Identifier: Apache-2.0
//
// The devices that a claim asks for: requests, constraints between them, configuration.
#include <array>
#include <string>
#include <string_view>

#include "api/internal/claim_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/taint_validation.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 2> kModes = {kAllocationModeAll, kAllocationModeExactCount};

// Where the validators of one claim are.
struct ClaimContext {
  const DeviceClaim& claim;
  const RequestNames names;
  bool fresh;
  std::uint64_t derived_cost = 0;
};

void CheckMode(Report& report, const Path& at, std::string_view mode, std::int64_t count) {
  if (mode == kAllocationModeAll) {
    if (count != 0) {
      report.InvalidNumber(at.Child("count"), count, "must not be set in allocationMode All");
    }
  } else if (mode == kAllocationModeExactCount) {
    if (count <= 0) report.InvalidNumber(at.Child("count"), count, "must be greater than zero");
  } else {
    report.NotSupported(at.Child("allocationMode"), mode, kModes);
  }
}

// What `exactly` and an entry of `firstAvailable` have in common. `name` is how constraints call
// it.
template <typename Request>
void CheckRequestBody(Report& report, const Path& at, const Request& request, std::string_view name,
                      ClaimContext& context) {
  CheckRequiredForm(report, at.Child("deviceClassName"), request.device_class_name, kDnsSubdomain);
  ValidateSelectors(report, at.Child("selectors"), request.selectors, false);
  ValidateDerivedAttributes(report, at.Child("derivedAttributes"), request.derived_attributes,
                            context.claim, name, context.fresh, context.derived_cost);
  CheckMode(report, at, request.allocation_mode, request.count);
  ValidateTolerations(report, at.Child("tolerations"), request.tolerations);
  if (report.OwnRules() && context.fresh && request.capacity) {
    const Path capacity = at.Child("capacity");
    CheckAmounts(report, capacity.Child("requests"), request.capacity->requests);
  }
}

void CheckFirstAvailable(Report& report, const Path& at, const DeviceRequest& request,
                         ClaimContext& context) {
  const std::vector<DeviceSubRequest>& subrequests = request.first_available;
  if (!CheckSize(report, at, subrequests.size(), kFirstAvailableDeviceRequestMaxSize)) return;
  for (std::size_t i = 0; i < subrequests.size(); ++i) {
    const Path here = at.Index(i);
    CheckForm(report, here.Child("name"), subrequests[i].name, kDnsLabel);
    CheckRequestBody(report, here, subrequests[i],
                     fmt::format("{}/{}", request.name, subrequests[i].name), context);
  }
  CheckUnique(report, at, subrequests,
              [](const DeviceSubRequest& s) -> std::string_view { return s.name; });
}

void CheckRequest(Report& report, const Path& at, const DeviceRequest& request,
                  ClaimContext& context) {
  CheckForm(report, at.Child("name"), request.name, kDnsLabel);
  const bool list = !request.first_available.empty();
  if (request.exactly && list) {
    report.InvalidAsIs(at, "", "must have exactly or firstAvailable, not both");
  } else if (request.exactly) {
    CheckRequestBody(report, at.Child("exactly"), *request.exactly, request.name, context);
  } else if (list) {
    CheckFirstAvailable(report, at.Child("firstAvailable"), request, context);
  } else {
    report.Required(at, "must have exactly or firstAvailable");
  }
}

void CheckRequests(Report& report, const Path& at, ClaimContext& context) {
  const std::vector<DeviceRequest>& requests = context.claim.requests;
  if (!CheckSize(report, at, requests.size(), kDeviceRequestsMaxSize)) return;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CheckRequest(report, at.Index(i), requests[i], context);
  }
  CheckUnique(report, at, requests,
              [](const DeviceRequest& r) -> std::string_view { return r.name; });
}

void CheckConstraint(Report& report, const Path& at, const DeviceConstraint& constraint,
                     const ClaimContext& context) {
  CheckRequestReferences(report, at.Child("requests"), constraint.requests, context.names);
  if (constraint.match_attribute) {
    CheckConstraintAttribute(report, at.Child("matchAttribute"), *constraint.match_attribute,
                             constraint, context.claim);
  }
  if (constraint.distinct_attribute) {
    CheckConstraintAttribute(report, at.Child("distinctAttribute"), *constraint.distinct_attribute,
                             constraint, context.claim);
  }
  // KEP-5075. Kubernetes takes it and ignores the second; docs/decisions.md #76.
  if (report.OwnRules() && constraint.match_attribute && constraint.distinct_attribute) {
    report.InvalidAsIs(at, "", "must have matchAttribute or distinctAttribute, not both");
  }
  if (constraint.match_attribute || constraint.distinct_attribute) return;
  if (report.Enabled(Gate::kDRAConsumableCapacity)) {
    report.Required(at, "must have matchAttribute or distinctAttribute");
  } else {
    report.Required(at.Child("matchAttribute"));
  }
}

void CheckConstraints(Report& report, const Path& at, const ClaimContext& context) {
  const std::vector<DeviceConstraint>& constraints = context.claim.constraints;
  if (!CheckSize(report, at, constraints.size(), kDeviceConstraintsMaxSize)) return;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    CheckConstraint(report, at.Index(i), constraints[i], context);
  }
}

void CheckConfig(Report& report, const Path& at, const ClaimContext& context) {
  const std::vector<DeviceClaimConfiguration>& config = context.claim.config;
  if (!CheckSize(report, at, config.size(), kDeviceConfigMaxSize)) return;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const Path here = at.Index(i);
    CheckRequestReferences(report, here.Child("requests"), config[i].requests, context.names);
    ValidateOpaqueConfiguration(report, here, config[i].opaque, false);
  }
}

}  // namespace

RequestNames::RequestNames(const DeviceClaim& claim) {
  for (const DeviceRequest& request : claim.requests) {
    names_.insert(request.name);
    for (const DeviceSubRequest& sub : request.first_available) {
      names_.insert(fmt::format("{}/{}", request.name, sub.name));
    }
  }
}

void CheckRequestReference(Report& report, const Path& at, std::string_view name,
                           const RequestNames& names) {
  if (!names.Has(name)) {
    report.Invalid(at, name,
                   "must be the name of a request in the claim, or of a request and one of its "
                   "subrequests separated by '/'");
    return;
  }
  const auto slash = name.find('/');
  CheckForm(report, at, name.substr(0, slash), kDnsLabel);
  if (slash != std::string_view::npos) CheckForm(report, at, name.substr(slash + 1), kDnsLabel);
}

void CheckRequestReferences(Report& report, const Path& at, const std::vector<std::string>& list,
                            const RequestNames& names) {
  if (!CheckSize(report, at, list.size(), kDeviceRequestsMaxSize)) return;
  for (std::size_t i = 0; i < list.size(); ++i) {
    CheckRequestReference(report, at.Index(i), list[i], names);
  }
  CheckUnique(report, at, list);
}

void ValidateDeviceClaim(Report& report, const Path& at, const DeviceClaim& claim, bool fresh) {
  ClaimContext context{.claim = claim, .names = RequestNames(claim), .fresh = fresh};
  CheckRequests(report, at.Child("requests"), context);
  CheckConstraints(report, at.Child("constraints"), context);
  CheckConfig(report, at.Child("config"), context);
  if (context.derived_cost > kDeviceClaimDerivedAttributeCELMaxCost) {
    report.Forbidden(at, fmt::format("the derived attributes of the claim may cost {} together, "
                                     "more than the limit of {}",
                                     context.derived_cost, kDeviceClaimDerivedAttributeCELMaxCost));
  }
}

}  // namespace dray::api::internal
