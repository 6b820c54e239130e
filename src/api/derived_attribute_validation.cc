// SPDX-License-Identifier: Apache-2.0
//
// Derived attributes (KEP-6080) and the constraints that compare them.
//
// Kubernetes takes fully qualified names only and wants every derived attribute in a constraint.
// The proposal also has bare names, and says nothing of unused ones; both are accepted here
// (docs/decisions.md).
#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "api/internal/claim_validation.h"
#include "api/internal/name_validation.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

bool IsBareName(std::string_view name) {
  return base::IsDnsLabel(name) || (base::IsCIdentifier(name) && name.size() <= kDeviceMaxIDLength);
}

std::string_view ParentOf(std::string_view request) { return request.substr(0, request.find('/')); }

// Whether a constraint looks at the devices of "request" or "request/subrequest".
bool Covers(const DeviceConstraint& constraint, std::string_view request) {
  return constraint.requests.empty() ||
         std::ranges::any_of(constraint.requests, [request](const std::string& name) {
           return name == request || name == ParentOf(request);
         });
}

// Of a constraint with both attributes only the first counts for Kubernetes, whose rule this is.
bool IsReferenced(std::string_view name, std::string_view request, const DeviceClaim& claim) {
  return std::ranges::any_of(claim.constraints, [&](const DeviceConstraint& constraint) {
    const auto& attribute =
        constraint.match_attribute ? constraint.match_attribute : constraint.distinct_attribute;
    return attribute == name && Covers(constraint, request);
  });
}

bool Defines(const std::vector<DeviceDerivedAttribute>& attributes, std::string_view name) {
  return std::ranges::find(attributes, name, &DeviceDerivedAttribute::name) != attributes.end();
}

// Whether a request that the constraint covers derives an attribute of that name.
bool IsDerivedFor(const DeviceConstraint& constraint, std::string_view name,
                  const DeviceClaim& claim) {
  return std::ranges::any_of(claim.requests, [&](const DeviceRequest& request) {
    if (request.exactly && Defines(request.exactly->derived_attributes, name) &&
        Covers(constraint, request.name)) {
      return true;
    }
    return std::ranges::any_of(request.first_available, [&](const DeviceSubRequest& sub) {
      return Defines(sub.derived_attributes, name) &&
             Covers(constraint, fmt::format("{}/{}", request.name, sub.name));
    });
  });
}

void CheckName(Report& report, const Path& at, std::string_view name) {
  if (name.empty()) return report.Required(at);
  if (!report.OwnRules() || name.find('/') != std::string_view::npos) {
    return CheckFullyQualifiedName(report, at, name);
  }
  if (!IsBareName(name)) {
    report.Invalid(at, name,
                   "must be lower case letters, digits and '-' (for example 'shared-numa-node'), "
                   "an identifier, or an identifier with a domain (for example "
                   "'example.com/numaNode')");
  }
}

}  // namespace

void ValidateDerivedAttributes(Report& report, const Path& at,
                               const std::vector<DeviceDerivedAttribute>& attributes,
                               const DeviceClaim& claim, std::string_view request, bool fresh,
                               std::uint64_t& cost) {
  if (fresh && report.OwnRules() && !attributes.empty() &&
      !report.Enabled(Gate::kDRADerivedAttributes)) {
    return report.Forbidden(at, "needs the feature gate DRADerivedAttributes, which is off");
  }
  const bool in_bounds =
      !fresh || CheckSize(report, at, attributes.size(), kDeviceDerivedAttributesMaxSize);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const DeviceDerivedAttribute& attribute = attributes[i];
    const Path here = at.Index(i);
    if (fresh && in_bounds) {
      CheckName(report, here.Child("name"), attribute.name);
      if (attribute.expression.empty()) report.Required(here.Child("expression"));
    }
    if (!report.OwnRules() && !attribute.name.empty() &&
        !IsReferenced(attribute.name, request, claim)) {
      report.Invalid(here.Child("name"), attribute.name,
                     "must be the matchAttribute or distinctAttribute of a constraint on this "
                     "request");
    }
    if (attribute.expression.empty()) continue;
    const std::uint64_t more =
        ValidateExpression(report, here.Child("expression"), attribute.expression,
                           ExpressionChecker::Purpose::kDerivedAttribute);
    cost += std::min(more, std::numeric_limits<std::uint64_t>::max() - cost);
  }
  CheckUnique(report, at, attributes,
              [](const DeviceDerivedAttribute& a) -> std::string_view { return a.name; });
}

void CheckConstraintAttribute(Report& report, const Path& at, std::string_view name,
                              const DeviceConstraint& constraint, const DeviceClaim& claim) {
  const bool bare = name.find('/') == std::string_view::npos;
  if (!report.OwnRules() || !bare) return CheckFullyQualifiedName(report, at, name);
  if (IsDerivedFor(constraint, name, claim)) return;
  report.Invalid(at, name,
                 fmt::format("no request of this constraint derives an attribute \"{}\"; an "
                             "attribute of devices needs its domain (for example "
                             "'gpu.example.com/{}')",
                             name, base::IsCIdentifier(name) ? name : "model"));
}

}  // namespace dray::api::internal
