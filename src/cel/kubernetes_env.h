// SPDX-License-Identifier: Apache-2.0
//
// What all of Kubernetes' environments have in common: libraries, macros, what is checked of
// constants. Devices (device_env.h), admission policies and others add their variables.
// Spec: docs/spec/cel.md chapters 5 and 6.
#pragma once

#include <memory>

#include "cel/environment.h"

namespace dray::cel {

// The same each time, made at first use. Thread-safe.
std::shared_ptr<const Environment> KubernetesEnvironment();

}  // namespace dray::cel
