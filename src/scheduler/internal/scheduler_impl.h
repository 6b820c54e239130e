// SPDX-License-Identifier: Apache-2.0
//
// What Scheduler keeps: the world, the queue, each profile's plugins, pods whose binding waits, and
// why others do.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.h"
#include "scheduler/cycle.h"
#include "scheduler/placement.h"
#include "scheduler/plugin_set.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {

// Hands plugins the cycle that is running.
class CurrentCycle final : public WhatIf {
 public:
  Cycle* cycle = nullptr;

  std::vector<const NodeInfo*> Curable(const CycleState& state) const override {
    return cycle->Curable(state);
  }
  std::size_t NodeCount(const CycleState& state) const override { return cycle->NodeCount(state); }
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override {
    return cycle->Filter(state, pod, node);
  }
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override {
    cycle->Count(state, pod, other, node, delta);
  }
};

struct Scheduler::Impl {
  Impl(api::Cluster& cluster, const base::Clock& clock, Ids& ids, SchedulerOptions options);

  struct ProfileEntry {
    std::string scheduler_name;
    std::unique_ptr<PluginSet> plugins;
    const DynamicResources* devices = nullptr;  // among them, if it is
  };
  // A pod with a node, on its way there.
  struct Binding {
    QueuedPod pod;
    std::uint32_t profile = 0;
    std::string node;
    CycleState state;
    std::size_t next = 0;  // of the profile's PreBind plugins
  };
  struct Seen {
    api::Change change;
    std::optional<api::Object> old;
  };
  // What was last said of a pod that waits.
  struct Refused {
    PodExplanation explanation;
    std::string message;   // as the event said it
    std::string gated_by;  // the plugin that keeps it out of the queue
  };

  // Taking in changes.
  std::size_t Sync();
  void TakePod(const api::Change& change);
  void WakePods(const std::vector<Seen>& seen);
  void AskGatedAgain(const std::vector<Seen>& seen);
  void Enqueue(const std::shared_ptr<const PodInfo>& pod);
  bool Wakes(const QueuedPod& pod, const std::vector<Seen>& seen) const;
  bool Wakes(const PodInfo& pod, std::string_view plugin, const std::vector<Seen>& seen) const;

  // One pod.
  std::optional<Outcome> ScheduleOne();
  Outcome Attempt(QueuedPod pod, std::uint32_t profile);
  Outcome Reserve(QueuedPod pod, std::uint32_t profile, Cycle& cycle, NodeInfo& node);
  // Nothing: it waits on.
  std::optional<Outcome> Continue(Binding& binding);
  Outcome Finish(Binding& binding);
  void Undo(Binding& binding);
  std::optional<Outcome> ContinueOne();
  // Whether the pod is still to be bound: nobody has deleted it, or bound it.
  bool StillWanted(const Binding& binding) const;

  // Refusals.
  Outcome NoNode(QueuedPod pod, std::uint32_t profile, Cycle& cycle);
  Outcome Failed(QueuedPod pod, std::uint32_t profile, const PluginStatus& status,
                 std::string node);
  struct Report {
    std::string reason;  // of the condition
    std::string message;
    std::optional<std::string> nominated;
  };
  void Tell(const PodInfo& pod, std::uint32_t profile, const Report& report);
  void WriteStatus(const PodInfo& pod, const Report& report);
  void Nominate(const std::shared_ptr<const PodInfo>& pod, std::string_view node);
  bool NominationHolds(const PodInfo& pod) const;

  std::optional<std::uint32_t> ProfileOf(const api::Pod& pod) const;

  api::Cluster& cluster;
  const base::Clock& clock;
  SchedulerOptions options;
  World world;
  Queue queue;
  CurrentCycle current;
  std::vector<ProfileEntry> profiles;
  Placements placements;
  std::vector<Nomination> nominations;
  std::list<Binding> bindings;  // those that wait
  bool look_at_bindings = false;
  base::StringMap<Refused> refused;  // by pod
  std::unique_ptr<api::ObjectWatch> watch;
  base::StringMap<api::Object> last_seen;  // by kind and name, for hints
  Statistics statistics;
};

}  // namespace dray::scheduler
