// SPDX-License-Identifier: Apache-2.0
//
// SlowDecisions: decisions of the scheduler that took long, in the log, with what took so long.
#pragma once

#include <array>
#include <chrono>

#include "logs/log.h"
#include "scheduler/observer.h"

namespace dray::plane::internal {

struct DecisionLogOptions {
  logs::Logger log;
  // What takes longer is logged; 0: nothing is.
  std::chrono::nanoseconds slow{0};
};

// Hands everything on to another observer, if there is one. On the scheduler's thread.
class SlowDecisions final : public scheduler::Observer {
 public:
  static constexpr int kVerbosity = 4;  // of every decision

  // `next` may be null; it outlives this.
  SlowDecisions(const DecisionLogOptions& options, scheduler::Observer* next)
      : options_(options), next_(next) {}

  // Whether anything may come of it.
  bool LooksOn() const {
    return options_.log.Enabled(kVerbosity) ||
           (options_.slow.count() > 0 && options_.log.Enabled(0));
  }

  void OnAttempt(const scheduler::AttemptReport& report) override;
  void OnDecision(const scheduler::DecisionReport& report) override;
  void OnPhase(std::string_view profile, scheduler::Phase phase, scheduler::PluginStatus::Code code,
               std::chrono::nanoseconds took) override;
  void OnPlugin(std::string_view plugin, scheduler::Phase phase, scheduler::PluginStatus::Code code,
                std::chrono::nanoseconds took) override;
  void OnRefusal(const scheduler::PodExplanation& explanation) override;
  void OnPreemption(std::size_t victims) override;
  void OnBindingConditions(std::string_view profile, std::string_view driver,
                           std::string_view status, std::chrono::nanoseconds waited) override;
  void OnGivenTwice(std::string_view device) override;
  void OnTakenBack(std::string_view device) override;

 private:
  const DecisionLogOptions options_;
  scheduler::Observer* const next_;
  std::array<std::chrono::nanoseconds, scheduler::kPhases> phases_ =
      {};  // of the decision under way
};

}  // namespace dray::plane::internal
