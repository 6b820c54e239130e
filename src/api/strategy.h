// SPDX-License-Identifier: Apache-2.0
//
// What a server does to an object between decoding and validation: defaults, dropping fields of
// disabled features (unless the old object uses them), status and generation rules, warnings.
//
// Spec: docs/spec/api.md sections 2 and 4. Kinds of resource.k8s.io, pods and
// workloads have rules; objects of other kinds are left as they are. Checks that need the request or other objects
// are in authorization.h.
#pragma once

#include <string>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "base/time.h"

namespace dray::api {

struct StrategyOptions {
  FeatureGates gates;
  base::Time now;  // for timestamps that the server sets
  // Also drop what dray rejects instead (docs/decisions.md, "derived attributes that are new while
  // the gate is off"). For the recorded cases.
  bool kubernetes_only = false;
};

// Fills in the defaults of the object's kind. Idempotent.
void SetDefaults(Object& object, base::Time now);

void PrepareForCreate(Object& object, const StrategyOptions& options);
// `old` is the stored object, with defaults.
void PrepareForUpdate(Object& object, const Object& old, const StrategyOptions& options);
void PrepareForStatusUpdate(Object& object, const Object& old, const StrategyOptions& options);

// Whether the object has a status with something in it. A create leaves it out; who wants it stored
// updates the status afterwards.
bool CarriesStatus(const Object& object);

// Warning headers of a create or update.
std::vector<std::string> WarningsFor(const Object& object);

}  // namespace dray::api
