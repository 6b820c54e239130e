// SPDX-License-Identifier: Apache-2.0
//
// One expression in the environment of devices beside what Kubernetes made of it: whether it
// compiles, its type and estimated cost, what it gives on a device and what that cost.
#pragma once

#include <memory>
#include <string>

#include "api/document.h"
#include "api/resource_slice.h"
#include "cel/compile.h"
#include "cel/environment.h"
#include "conformance/recorded_values.h"

namespace dray::conformance {

struct DeviceExpression {
  std::string text;
  std::shared_ptr<const cel::Environment> environment;
  cel::Purpose purpose = cel::Purpose::kAny;
  std::string driver = {};
  api::Device device = {};
};

// `recorded` is one of cel-dra's `runs` or cel-k8s's `dra`.
void CompareWith(const api::DocumentNode& recorded, const DeviceExpression& expression,
                 Differences& differences);

}  // namespace dray::conformance
