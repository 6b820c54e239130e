// SPDX-License-Identifier: Apache-2.0
//
// What would help a pod or a claim that was refused, in sentences.
#pragma once

#include <string>
#include <vector>

#include "scheduler/explanation.h"

namespace dray::planner {

// The smallest change first, then what could be done about each thing that is in the way, at most
// kMaxHelp of them, each once. Empty when nothing comes to mind.
inline constexpr std::size_t kMaxHelp = 8;
std::vector<std::string> WhatWouldHelp(const scheduler::PodExplanation& explanation);

}  // namespace dray::planner
