// SPDX-License-Identifier: Apache-2.0
//
// What if some pods were not on a node? Preemption asks this of the framework that runs it: filters
// of other plugins answer on a copy of the node.
#pragma once

#include <memory>
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

struct DeviceHold;

// A plugin that gives away devices, which pods on a node, and on others, give back only with their
// claims. After PreFilter; one thread.
class DevicePreemptionPlugin : public virtual Plugin {
 public:
  using Pods = std::vector<std::shared_ptr<const PodInfo>>;

  // Whether pods are sent away for devices at all, and this pod still needs some.
  virtual bool Preempts(const CycleState& state) const = 0;
  // Forgets what it has found out about holds (World::holds) in this cycle, and who is counted out.
  virtual void Begin(CycleState& state) = 0;
  // Pods on other nodes that have devices, or draw on counters, that the pod may use on this node,
  // and that may all be sent away for it: of lower priority, like all who use their claims.
  virtual Pods Elsewhere(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  // From here on, until Begin, claims that nobody uses any more count as given back.
  virtual void TakeIdle(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  // Holds for the pod what it gets on the node without `victims`, who are counted out (WhatIf::Count).
  // Null: it would get nothing. Valid until holds change.
  virtual const DeviceHold* Hold(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                                 const Pods& victims) = 0;
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
  // answer is kept, and nothing that was kept is used. As in Kubernetes the pod must fit both beside
  // the pods that go before it and are nominated for the node, and without them.
  virtual PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  // Tells every CountingPlugin that was not skipped.
  virtual void Count(CycleState& state, const PodInfo& pod, const PodInfo& other,
                     const NodeInfo& node, int delta) = 0;
  // The plugin that can send pods away for devices that this pod needs; null: none does.
  virtual DevicePreemptionPlugin* Devices(const CycleState& state) {
    static_cast<void>(state);
    return nullptr;
  }
};

}  // namespace dray::scheduler
