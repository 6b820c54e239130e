// SPDX-License-Identifier: Apache-2.0
//
// What the console asks the commands: plans and explanations as `dray plan` and `dray explain` make
// them, simulations as `dray simulate` runs them.
#pragma once

#include <memory>
#include <string>

#include "api/gates.h"
#include "console/desk.h"

namespace dray::cli::internal {

struct ConsoleDeskOptions {
  api::FeatureGates gates;
  std::string scenarios;  // a folder; empty: there are none
};
std::unique_ptr<console::Desk> MakeConsoleDesk(ConsoleDeskOptions options);

}  // namespace dray::cli::internal
