// SPDX-License-Identifier: Apache-2.0
//
// Objects have two halves with separate writers: what is wanted (update) and what is (update of the
// status). This keeps them apart for kinds without a strategy of their own (strategy.h).
#pragma once

#include "api/kinds.h"

namespace dray::api::internal {

bool HasStatus(const KindInfo& kind);
// For an update: the status is `old`'s.
void KeepStatus(Object& object, const Object& old);
// For an update of the status: all but the status and the resourceVersion is `old`'s.
void KeepAllButStatus(Object& object, const Object& old);

}  // namespace dray::api::internal
