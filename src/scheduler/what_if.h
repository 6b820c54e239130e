// SPDX-License-Identifier: Apache-2.0
//
// What if some pods were not on a node? Preemption asks this of the framework that runs it: filters
// of other plugins answer on a copy of the node.
#pragma once

#include <vector>

#include "scheduler/framework.h"

namespace dray::scheduler {

// A plugin whose PreFilter counts pods of many nodes.
class CountingPlugin : public virtual Plugin {
 public:
  // From here on, for this cycle, `other` counts `delta` (1 or -1) times more on `node`. Undone by
  // the opposite call.
  virtual void Count(CycleState& state, const PodInfo& pod, const PodInfo& other,
                     const NodeInfo& node, int delta) = 0;
};

// Implemented by the framework. One thread.
class WhatIf {
 public:
  virtual ~WhatIf() = default;

  // The nodes that refused the pod in this cycle, and where every plugin that did said
  // kUnschedulable. In World's order.
  virtual std::vector<const NodeInfo*> Curable(const CycleState& state) const = 0;
  // How many nodes were looked at, for messages.
  virtual std::size_t NodeCount(const CycleState& state) const = 0;

  // Every filter that PreFilter did not skip, on a node that may be a changed copy: nothing of the
  // answer is kept, and nothing that was kept is used.
  virtual PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  // Tells every CountingPlugin that was not skipped.
  virtual void Count(CycleState& state, const PodInfo& pod, const PodInfo& other,
                     const NodeInfo& node, int delta) = 0;
};

}  // namespace dray::scheduler
