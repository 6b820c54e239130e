// SPDX-License-Identifier: Apache-2.0
//
// What happens to an object between the wish to write it and the store, whoever keeps the store:
// defaults, the server's own fields, strategies, validation. In one place, so that memory and the
// API server cannot drift apart.
#pragma once

#include <string>
#include <string_view>

#include "api/errors.h"
#include "api/expression_checker.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "base/status.h"
#include "base/time.h"
#include "base/uuid.h"

namespace dray::api {

struct WriteRules {
  FeatureGates gates;
  // Null: of expressions only the length is checked. Outlives the rules.
  const ExpressionChecker* expressions = nullptr;
  // Off for bulk loads of objects that a trusted generator has made.
  bool validate = true;
};

// Makes a new object ready: defaults, uid, times, the strategy of its kind. It is the hub's then.
void PrepareNew(Object& object, const WriteRules& rules, base::Time now,
                base::RandomSource& random);
ErrorList CheckNew(const Object& object, const WriteRules& rules);

// As Kubernetes completes generateName: five characters that spell no words, on a stem that leaves
// room for them in a DNS label.
std::string CompletedName(std::string_view stem, base::RandomSource& random);

// Makes the new version of a stored object ready, and says what is wrong with it. What an update
// cannot say is the stored object's: the server's fields, the status.
ErrorList PrepareUpdate(Object& object, const Object& stored, const WriteRules& rules,
                        base::Time now);
// The same for the status: everything else is the stored object's.
ErrorList PrepareStatus(Object& object, const Object& stored, const WriteRules& rules,
                        base::Time now);
bool HasStatusPart(const KindInfo& kind);
// Of a pod, the containers for debugging alone: everything else is the stored pod's.
ErrorList PrepareEphemeralContainers(Object& object, const Object& stored, const WriteRules& rules,
                                     base::Time now);

// Two holders of a lease would overwrite each other: it is not updated without the resourceVersion.
// Nor is a DeviceTaintRule since its v1, a PodGroup or a Workload; `kind` is in the version of the
// request.
bool AllowsUnconditionalUpdate(const KindInfo& kind);

// Marks an object as being deleted; it waits for its finalizers.
void MarkDeleted(Object& object, base::Time now, std::int64_t grace_seconds = 0);

// A pod with its node. AlreadyExists when it has one; Aborted when it is being deleted or has
// scheduling gates.
StatusOr<Object> BoundPod(const Object& pod, std::string_view node, base::Time now);

}  // namespace dray::api
