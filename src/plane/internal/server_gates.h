// SPDX-License-Identifier: Apache-2.0
//
// Which features an API server can know, by the fields that it publishes. Whether their gates are on
// it does not say; but a field that it has not got, nobody can rely on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"

namespace dray::plane::internal {

struct FittedGates {
  api::FeatureGates gates;
  std::vector<std::string> notes;  // a sentence for each that went off, and what that costs
};

// The gates without those of whose fields the server has none. `openapi` is its document of
// resource.k8s.io, in any version. One that cannot be read changes nothing and is told.
FittedGates FitGates(const api::FeatureGates& wanted, std::string_view openapi);

// A sentence about a server that is older or newer than those this was made for; empty: it is not.
std::string SkewOf(std::string_view git_version);

}  // namespace dray::plane::internal
