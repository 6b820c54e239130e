// SPDX-License-Identifier: Apache-2.0
//
// Why a pod has no node: per group of nodes that refuse it alike, never per node, with the closest
// miss.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/reason.h"

namespace dray::scheduler {

// Nodes that say the same.
struct NodeGroup {
  std::size_t nodes = 0;
  std::vector<std::string> examples;  // a few names
  std::vector<Reason> reasons;
};

// The node that lacks least. What it lacks is a fact; whether having it would be enough is for
// somebody to try (planner/cures.h).
struct ClosestMiss {
  std::string node;
  std::string lacks;  // "short of 2 devices of class gpu, marked unschedulable"
  // What all filters have against it, not only the first that refused it.
  std::vector<Reason> reasons = {};
};

struct PodExplanation {
  std::string pod;  // "namespace/name"
  std::size_t nodes = 0;
  std::vector<Reason> before;     // PreFilter and PreEnqueue: no node was looked at
  std::vector<NodeGroup> groups;  // largest first
  std::vector<Reason> after;      // PostFilter
  std::optional<ClosestMiss> closest;
  std::string error;  // what could not be found out

  bool empty() const { return before.empty() && groups.empty() && error.empty(); }
};

// As the event says it: "0/500 nodes are available: 412 Insufficient cpu, 88 cannot allocate all
// claims: ...". Kubernetes's sentence, with what else is known after the phrases that are about
// devices. At most kMaxEventMessage bytes: what is said beyond Kubernetes's phrases goes first.
inline constexpr std::size_t kMaxEventMessage = 1024;
std::string EventMessage(const PodExplanation& explanation);
// The tree for people, and the same as data.
std::string ToText(const PodExplanation& explanation);
std::string ToJson(const PodExplanation& explanation);

}  // namespace dray::scheduler
