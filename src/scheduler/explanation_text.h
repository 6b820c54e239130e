// SPDX-License-Identifier: Apache-2.0
//
// The tree of an explanation with choices: for commands that tell people of one pod.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/explanation.h"

namespace dray::scheduler {

struct TextOptions {
  std::string heading;   // empty: "Pod NAMESPACE/NAME is pending: none of ..."
  bool devices = false;  // under each refusal by the allocator, its whole tree for one node
};
std::string ToText(const PodExplanation& explanation, const TextOptions& options);

// Nodes as a reader goes through them: a group, or all that have no device of the class that is
// asked for, where others have some.
struct NodeLine {
  std::vector<const NodeGroup*> groups;
  std::size_t nodes = 0;
  std::vector<std::string> names;  // a few
  std::string class_not_there;     // empty: one group, with reasons of its own
};
inline constexpr std::size_t kNamedNodes = 3;
// Nearest first; those without the class last.
std::vector<NodeLine> LinesOf(const PodExplanation& explanation);
// "2 nodes: a, b", "9 nodes: a, b, c, ..."
std::string HeadOf(const NodeLine& line);

// ": none of the 3 nodes can run it"; nothing when none was looked at.
std::string NoNodeCan(std::size_t nodes);

}  // namespace dray::scheduler
