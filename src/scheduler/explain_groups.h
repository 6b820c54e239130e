// SPDX-License-Identifier: Apache-2.0
//
// Reasons of many nodes as a few groups, and how far a node is from fitting.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/explanation.h"
#include "scheduler/node_info.h"
#include "scheduler/reason.h"

namespace dray::scheduler {

// Collects nodes by what they say: equal codes and texts, and where devices are in the way an equal
// summary of it. Names and amounts of single nodes do not make groups. One thread.
class GroupBuilder {
 public:
  // Nodes that say `reasons`, in the order of World. Not empty.
  void Add(const std::vector<Reason>& reasons, const std::vector<const NodeInfo*>& nodes);
  // Largest first, equal ones by the name of their first node.
  std::vector<NodeGroup> Take();

 private:
  std::map<std::string, NodeGroup, std::less<>> groups_;
};

// How far a node is from fitting: first whether it ever could, with nothing on it; then by the
// number of things in the way, then by how much is missing of them in proportion. A thing that no
// amount helps against counts like one of which all is missing.
struct Distance {
  std::size_t never = 0;  // things that it does not have, whoever leaves
  std::size_t obstacles = 0;
  double missing = 0;
  friend auto operator<=>(const Distance&, const Distance&) = default;
};
Distance DistanceOf(const std::vector<Reason>& reasons);
// What is in the way, in words: "short of 500m cpu, without a toleration for a=b:NoSchedule".
std::string LacksOf(const std::vector<Reason>& reasons);

// The groups with the one first whose node is closest, then by distance; equal ones as they are.
std::vector<const NodeGroup*> NearestFirst(const PodExplanation& explanation);
// The device class of which nodes that say this have no device at all, whoever leaves. Empty: they
// have some, or something else is in the way.
std::string_view ClassNotThere(const std::vector<Reason>& reasons);

}  // namespace dray::scheduler
