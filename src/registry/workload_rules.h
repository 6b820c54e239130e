// SPDX-License-Identifier: Apache-2.0
//
// What pods and workloads must say to be accepted by the API: what a scheduler or controller could
// do nothing with is refused at the door, as Kubernetes does.
#pragma once

#include "api/errors.h"
#include "api/kinds.h"

namespace dray::registry {

// Of kinds that have no such rules: nothing.
api::ErrorList CheckWorkload(const api::Object& object);
// Of an update, what is new: objects that were stored before a rule was there stay usable.
api::ErrorList CheckWorkloadUpdate(const api::Object& object, const api::Object& stored);

}  // namespace dray::registry
