// SPDX-License-Identifier: Apache-2.0
//
// The tree of an explanation with choices: for commands that tell people of one pod.
#pragma once

#include <cstddef>
#include <string>

#include "scheduler/explanation.h"

namespace dray::scheduler {

struct TextOptions {
  std::string heading;   // empty: "Pod NAMESPACE/NAME is pending: none of ..."
  bool devices = false;  // under each refusal by the allocator, its whole tree for one node
};
std::string ToText(const PodExplanation& explanation, const TextOptions& options);

// ": none of the 3 nodes can run it"; nothing when none was looked at.
std::string NoNodeCan(std::size_t nodes);

}  // namespace dray::scheduler
