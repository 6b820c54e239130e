// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: takes pods from the queue, finds nodes and devices for them, and writes that down. It
// decides; a Cluster does the rest, and it cannot tell whether that one is live.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/expressions.h"
#include "allocator/search.h"
#include "api/cluster.h"
#include "api/gates.h"
#include "base/clock.h"
#include "base/executor.h"
#include "scheduler/background.h"
#include "scheduler/config.h"
#include "scheduler/explanation.h"
#include "scheduler/framework.h"
#include "scheduler/ids.h"
#include "scheduler/observer.h"
#include "scheduler/queue.h"
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct SchedulerOptions;

// What plugins are made with. All outlive them.
struct PluginHost {
  World& world;
  api::Cluster& cluster;
  const base::Clock& clock;
  Ids& ids;
  WhatIf& what_if;
  const SchedulerOptions& options;
};
using PluginFactory =
    std::function<std::vector<std::unique_ptr<Plugin>>(const Profile&, const PluginHost&)>;

struct SchedulerOptions {
  Config config;
  api::FeatureGates gates;
  allocator::Policy policy = allocator::Policy::kFirstFit;
  std::uint64_t work_budget = allocator::kDefaultWork;
  // Off: every verdict is computed anew. The decisions are the same.
  bool caches = true;
  // Shapes of pods whose verdicts are remembered; fewer where nodes are many (Placements).
  std::size_t remembered_shapes = 512;
  // Off: a pod that no node takes is not told what is in the way on which nodes, for those who drop
  // it and do not ask. The decisions are the same.
  bool explain = true;
  // Is told what is done; null: nobody is. Outlives the scheduler.
  Observer* observer = nullptr;
  // Calls of plugins are measured in one of so many attempts.
  std::uint32_t plugin_sampling = 16;
  // Where pods are bound while others are decided about, at most so many at a time; outlives the
  // scheduler. Null: each is bound before the next is tried.
  Background* background = nullptr;
  std::size_t bindings_at_once = 512;
  // Who asks about nodes, where they are so many at least; outlives the scheduler. Null: one thread
  // does it all. The decisions are the same.
  base::Executor* executor = nullptr;
  std::size_t parallel_from = 2000;
  // Instead of the default ones, and of the default weights (plugins.h).
  PluginFactory plugins;
  std::function<std::int64_t(std::string_view)> score_weight;
};

// What became of one pod.
struct Outcome {
  enum class Kind : std::uint8_t {
    kBound,
    kWaiting,        // reserved; binding waits for something, or goes on in the background
    kUnschedulable,  // see Explain
    kError,
  };
  std::string pod;
  Kind kind = Kind::kUnschedulable;
  std::string node;
  std::string message;
};

struct Statistics {
  std::uint64_t attempts = 0;
  std::uint64_t bound = 0;
  std::uint64_t unschedulable = 0;
  std::uint64_t errors = 0;
  std::uint64_t node_evaluations = 0;  // filters run on a node
  std::uint64_t allocator_steps = 0;
  std::size_t in_doubt = 0;  // now: Scheduler::in_doubt
  allocator::ExpressionStatistics expressions;
};

// One thread, which hands parts of its work to those of SchedulerOptions::executor and waits for
// them: when a call returns, none of them is at it.
class Scheduler {
 public:
  // All outlive it.
  Scheduler(api::Cluster& cluster, const base::Clock& clock, Ids& ids, SchedulerOptions options);
  ~Scheduler();

  // Takes in what has changed. The number of changes.
  std::size_t Sync();
  // Tries one pod. Nothing when no pod is to be tried now.
  std::optional<Outcome> ScheduleOne();
  // Goes on with pods whose binding waits, and moves pods whose backoff is over.
  std::vector<Outcome> Tick();
  // When Tick has something to do although nothing changes, on the monotonic clock.
  std::optional<std::chrono::nanoseconds> NextDue() const;

  // Until nothing changes any more without time going by: Sync and ScheduleOne in turns.
  std::vector<Outcome> Run();

  // Why a pod waits, as things are now: where something has changed since its last attempt, nodes
  // are asked again. Null when it does not wait.
  const PodExplanation* Explain(std::string_view pod_key) const;
  // How many pods wait because a plugin refused them, before the queue or on nodes.
  struct Waiting {
    std::string plugin;
    std::string profile;
    std::size_t pods = 0;
  };
  std::vector<Waiting> WaitingByPlugin() const;
  // Not OK: why nothing is decided now. What has happened to the cluster cannot be seen, and what is
  // known may not be true any more.
  Status Paused() const;
  // Pods of which something was written that may have happened; nothing of theirs is given away.
  std::size_t in_doubt() const;
  // Pods that have a node and are not bound yet.
  std::size_t under_way() const;
  // Pods for which room is kept on a node, whether or not that could be written into their status.
  std::size_t rooms_kept() const;
  const Queue& queue() const;
  const World& world() const;
  // For those who measure: a node's devices are brought up to date on demand.
  World& world();
  const Statistics& statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dray::scheduler
