// SPDX-License-Identifier: Apache-2.0
//
// The tree of an explanation with choices: for commands that tell people of one pod.
#pragma once

#include <string>

#include "scheduler/explanation.h"

namespace dray::scheduler {

struct TextOptions {
  std::string heading;   // empty: "pod NAMESPACE/NAME has no node among 3"
  bool devices = false;  // under each refusal by the allocator, its whole tree for one node
};
std::string ToText(const PodExplanation& explanation, const TextOptions& options);

}  // namespace dray::scheduler
