// SPDX-License-Identifier: Apache-2.0
//
// What `dray up` puts into a new cluster: nodes without machines and whatever comes with them, from
// the cluster section of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "cli/environment.h"

namespace dray::cli::internal {

// src/cli/demo.yaml.
std::string_view DemoScenario();
// So many equal nodes with four devices each, and a class for these.
std::string PlainScenario(std::int64_t nodes);

// The objects of a scenario's cluster. Nothing: its faults have been told; `name` is the file's.
std::optional<std::vector<api::Object>> ReadHollowCluster(Io& io, const std::string& name,
                                                          std::string_view text,
                                                          const api::FeatureGates& gates);

}  // namespace dray::cli::internal
