// SPDX-License-Identifier: Apache-2.0
//
// What a server does with objects of described kinds (described_kinds.h).
#pragma once

#include "api/described_kinds.h"
#include "api/internal/report.h"
#include "api/kinds.h"

namespace dray::api::internal {

inline bool IsDescribed(const Object& object) { return object.kind().traits != nullptr; }

// described_strategy.cc
void SetDescribedDefaults(Object& object);
void PrepareDescribedForCreate(Object& object);
void PrepareDescribedForUpdate(Object& object, const Object& old);
void KeepDescribedStatus(Object& object, const Object& old);
// All but the status and the resourceVersion is `old`'s.
void TakeDescribedStatus(Object& object, const Object& old);

// described_validation.cc: what the description says, then what only code can say
// (described_rules.cc). No old one: creation. Of a status update only the status is looked at.
void ValidateDescribed(Report& report, const Object& object, const Object* old);
void ValidateDescribedStatus(Report& report, const Object& object);

// described_rules.cc
void CheckDescribedRules(Report& report, const Object& object, const Object* old);

}  // namespace dray::api::internal
