// SPDX-License-Identifier: Apache-2.0
//
// The environment of policies: `object`, `oldObject`, `request`, `namespaceObject`, `params`,
// `authorizer`, and `variables` with a field for each variable of the policy.
//
// Spec: Kubernetes, "Validating Admission Policy", CEL variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cel/environment.h"

namespace dray::policy {

struct EnvironmentOptions {
  bool params = false;
  bool authorizer = true;
};

// The same for equal options, made at first use. Thread-safe.
std::shared_ptr<const cel::Environment> PolicyEnvironment(const EnvironmentOptions& options);

// With `variables`, as far as they are known: each has the type that its expression has, or dyn
// where that is none that every environment has.
std::shared_ptr<const cel::Environment> WithVariables(
    const std::shared_ptr<const cel::Environment>& base,
    const std::vector<cel::Variable>& variables);

}  // namespace dray::policy
