// SPDX-License-Identifier: Apache-2.0
//
// Devices that shall be free, as a pod that would have them: where it has a place they are.
#pragma once

#include <cstddef>
#include <vector>

#include "api/kinds.h"
#include "base/status.h"
#include "planner/defrag.h"
#include "planner/plan.h"

namespace dray::planner::internal {

struct FreeAsker {
  api::Object pod;
  api::Object claim;
};

// Asks for all of each device: of shared ones for as much of every capacity as one has. Nothing of
// the node but the devices. `number` tells askers apart. NotFound: there is no such class.
StatusOr<FreeAsker> AskerForFree(const FreeDevices& devices, std::size_t number,
                                 const std::vector<api::Object>& objects,
                                 const PlanOptions& options);

}  // namespace dray::planner::internal
