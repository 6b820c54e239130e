// SPDX-License-Identifier: Apache-2.0
//
// Observer: is told what the scheduler does, and how long it takes. The scheduler does not know who
// listens, and decides the same whether anybody does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scheduler/explanation.h"
#include "scheduler/framework.h"

namespace dray::scheduler {

// By Kubernetes's names of extension points.
enum class Phase : std::uint8_t {
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPreBind,
  kBind,
};
inline constexpr std::size_t kPhases = 8;
std::string_view NameOf(Phase phase);
// "Success", "UnschedulableAndUnresolvable", ...: as Kubernetes calls them.
std::string_view NameOf(PluginStatus::Code code);

// An attempt that has come to an end.
struct AttemptReport {
  enum class Result : std::uint8_t { kScheduled, kUnschedulable, kError };
  std::string_view profile;
  Result result = Result::kScheduled;
  std::chrono::nanoseconds took{0};
  std::uint32_t attempts = 0;            // of the pod, with this one
  std::chrono::nanoseconds since_added;  // since the pod came into the queue
};

// A pod has been looked at once: it has a node, though it may not be bound to it yet, or it has none
// and has been told why.
struct DecisionReport {
  std::string_view pod;   // namespace/name
  std::string_view node;  // empty: none
  std::chrono::nanoseconds took{0};
  std::chrono::nanoseconds explaining{0};  // of it
  std::uint64_t nodes = 0;                 // that filters were asked about
  std::uint64_t steps = 0;                 // devices that the search for allocations tried
};

// Called on the scheduler's thread, in the middle of its work: quick, and calls nothing of the
// scheduler.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual void OnAttempt(const AttemptReport& report) = 0;
  // Between two of these all phases up to Reserve are of one pod.
  virtual void OnDecision(const DecisionReport& /*report*/) {}
  // What all plugins of a phase took together, for all nodes.
  virtual void OnPhase(std::string_view profile, Phase phase, PluginStatus::Code code,
                       std::chrono::nanoseconds took) = 0;
  // What one call of a plugin took. Not of every attempt: see SchedulerOptions::plugin_sampling.
  virtual void OnPlugin(std::string_view plugin, Phase phase, PluginStatus::Code code,
                        std::chrono::nanoseconds took) = 0;
  // Why a pod got no node in an attempt.
  virtual void OnRefusal(const PodExplanation& explanation) = 0;
  // Room was looked for by sending pods away, of which so many were.
  virtual void OnPreemption(std::size_t victims) = 0;
  // Waiting for the conditions of a driver's devices is over: "success", "failed", "timeout".
  virtual void OnBindingConditions(std::string_view profile, std::string_view driver,
                                   std::string_view status, std::chrono::nanoseconds waited) = 0;
  // A device was found to be allocated to two claims, one of which wants it alone.
  virtual void OnGivenTwice(std::string_view /*device*/) {}
  // What this scheduler had given of it was taken back.
  virtual void OnTakenBack(std::string_view /*device*/) {}
};

}  // namespace dray::scheduler
