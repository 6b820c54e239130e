// SPDX-License-Identifier: Apache-2.0
//
// Validation: what is wrong with an object, by Kubernetes's rules and the proposals'. All faults at
// once.
//
// Spec: docs/spec/api.md sections 3, 5 and 6; differences in docs/decisions.md.
// Objects are taken as they are: whoever wants defaults or dropped fields calls strategy.h first.
#pragma once

#include "api/errors.h"
#include "api/expression_checker.h"
#include "api/gates.h"
#include "api/kinds.h"

namespace dray::api {

struct ValidationOptions {
  FeatureGates gates;
  // Null: of expressions only the length is checked.
  const ExpressionChecker* expressions = nullptr;
  // Kubernetes without dray's additions (docs/decisions.md): bare derived names, unreferenced
  // derived attributes, KEP-5491's `list`. For the recorded cases of Kubernetes, and for
  // `dray validate --for kubernetes`.
  bool kubernetes_only = false;
};

// Kinds without rules of their own get the object-metadata rules. `object` and `old` are of the
// same kind.
ErrorList ValidateCreate(const Object& object, const ValidationOptions& options);
ErrorList ValidateUpdate(const Object& object, const Object& old, const ValidationOptions& options);
ErrorList ValidateStatusUpdate(const Object& object, const Object& old,
                               const ValidationOptions& options);
// Of a pod to which containers for debugging are added.
ErrorList ValidateEphemeralContainersUpdate(const Object& object, const Object& old,
                                            const ValidationOptions& options);

// Metadata of an object inside of another one, of any kind. Paths begin with "metadata".
ErrorList ValidateMetadata(const ObjectMeta& metadata);

}  // namespace dray::api
