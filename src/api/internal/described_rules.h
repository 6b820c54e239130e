// SPDX-License-Identifier: Apache-2.0
//
// What rules of described kinds share (described_rules.cc, described_rules_*.cc).
#pragma once

#include "api/field_view.h"
#include "api/internal/report.h"

namespace dray::api::internal {

// What a rule looks at. `old` is a view of nothing when the object is new.
struct Subject {
  Report& report;
  FieldView object;
  FieldView old;
  bool is_update;
};

void CheckIngress(const Subject& subject);
void CheckNetworkPolicy(const Subject& subject);
void CheckAdmissionPolicy(const Subject& subject);
void CheckAdmissionPolicyBinding(const Subject& subject);

}  // namespace dray::api::internal
