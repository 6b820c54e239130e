// SPDX-License-Identifier: Apache-2.0
//
// What claims, templates and classes share: requests by name, selectors, derived attributes,
// configuration for drivers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/resource_claim.h"
#include "base/string_map.h"

namespace dray::api::internal {

// The names by which constraints, configurations and results refer to a claim's requests:
// "request" and "request/subrequest".
class RequestNames {
 public:
  explicit RequestNames(const DeviceClaim& claim);
  bool Has(std::string_view name) const { return names_.contains(name); }

 private:
  base::StringSet names_;
};
void CheckRequestReference(Report& report, const Path& at, std::string_view name,
                           const RequestNames& names);
// A set of such references.
void CheckRequestReferences(Report& report, const Path& at, const std::vector<std::string>& list,
                            const RequestNames& names);

// claim_spec_validation.cc. `fresh`: the claim is new or differs from the stored one; see
// ValidateTemplateUpdate.
void ValidateDeviceClaim(Report& report, const Path& at, const DeviceClaim& claim, bool fresh);

// selector_validation.cc. Returns the expression's estimated cost, 0 when it is not known.
std::uint64_t ValidateExpression(Report& report, const Path& at, std::string_view expression,
                                 ExpressionChecker::Purpose purpose);
// `stored`: the list is as it was, so that its expressions were valid once and are not compiled
// again.
void ValidateSelectors(Report& report, const Path& at, const std::vector<DeviceSelector>& selectors,
                       bool stored);

// derived_attribute_validation.cc. `request` is "request" or "request/subrequest"; `cost` adds up
// over the claim.
void ValidateDerivedAttributes(Report& report, const Path& at,
                               const std::vector<DeviceDerivedAttribute>& attributes,
                               const DeviceClaim& claim, std::string_view request, bool fresh,
                               std::uint64_t& cost);
// The matchAttribute or distinctAttribute of a constraint.
void CheckConstraintAttribute(Report& report, const Path& at, std::string_view name,
                              const DeviceConstraint& constraint, const DeviceClaim& claim);

// config_validation.cc
void ValidateOpaqueConfiguration(Report& report, const Path& at,
                                 const Box<OpaqueDeviceConfiguration>& opaque, bool stored);
// A JSON object of at most `max` bytes; `stored` ones may be larger.
void CheckRawObject(Report& report, const Path& at, const RawJson& raw, std::size_t max,
                    bool stored);

// Amounts of capacity, asked for or given: from 0 to what 64 bits hold. dray's own rule.
void CheckAmounts(Report& report, const Path& at, const Map<base::Quantity>& amounts);

}  // namespace dray::api::internal
