// SPDX-License-Identifier: Apache-2.0
//
// Profiles for the schedulers of somebody else's cluster. How they are configured is not known there, only that pods name
// them.
#pragma once

#include <span>

#include "api/kinds.h"
#include "scheduler/config.h"

namespace dray::scheduler {

// With a default profile for each scheduler that a pod names and the configuration does not have; in the order of
// their names, after the given ones.
Config WithProfilesFor(std::span<const api::Object> objects, Config config);

}  // namespace dray::scheduler
