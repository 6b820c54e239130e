// SPDX-License-Identifier: Apache-2.0
//
// The devices of a cluster for people: a tree, or a table with a row for each of them.
#pragma once

#include <string>

#include "base/time.h"
#include "cli/internal/plan_text.h"
#include "planner/device_tree.h"

namespace dray::cli::internal {

std::string DeviceTreeText(const planner::DeviceTree& tree, const TextStyle& style, base::Time now);

// A row per device and holder, in kubectl's manner.
std::string DeviceTable(const planner::DeviceTree& tree, bool headers, const Painter& paint,
                        base::Time now);

// "16 devices on 2 nodes: 8 free, 6 held, 2 shared"
std::string DeviceSummary(const planner::DeviceTree& tree);

// What is different: a line for each device that came, went or changed hands.
std::string DeviceChanges(const planner::DeviceTree& before, const planner::DeviceTree& now);

}  // namespace dray::cli::internal
