// SPDX-License-Identifier: Apache-2.0
#include "api/gates.h"

namespace dray::api {

std::span<const GateInfo> GateTable() { return {}; }
FeatureGates::FeatureGates() { on_.set(); }
FeatureGates FeatureGates::KubernetesDefaults() { return {}; }

}  // namespace dray::api
