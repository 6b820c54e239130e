// SPDX-License-Identifier: Apache-2.0
//
// The sentence about devices in an answer: which request lacks what, and who has it.
#pragma once

#include <string>

#include "allocator/explanation.h"
#include "planner/answer.h"

namespace dray::planner::internal {

// `devices` is what the closest node says, `where` how that is called: "node a, the nearest fit,".
Answer DeviceAnswer(const scheduler::PodExplanation& why, const allocator::Explanation& devices,
                    const std::string& where);

}  // namespace dray::planner::internal
