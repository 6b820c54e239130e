// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/slow_decisions.h"

#include <string>

#include "base/time.h"
#include "fmt/format.h"

namespace dray::plane::internal {

using scheduler::Phase;

void SlowDecisions::OnDecision(const scheduler::DecisionReport& report) {
  const auto phases = std::exchange(phases_, {});
  const bool slow = options_.slow.count() > 0 && report.took >= options_.slow;
  if (slow || options_.log.Enabled(kVerbosity)) {
    std::string text;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      if (phases[i].count() == 0) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", NameOf(static_cast<Phase>(i)),
                          base::GoDurationToString(phases[i]));
    }
    if (report.explaining.count() > 0) {
      text += fmt::format("{}explaining {}", text.empty() ? "" : ", ",
                          base::GoDurationToString(report.explaining));
    }
    const logs::Fields fields = {{"pod", report.pod},     {"node", report.node},
                                 {"took", report.took},   {"phases", text},
                                 {"nodes", report.nodes}, {"steps", report.steps}};
    if (slow) {
      options_.log.Trace("Slow scheduling decision", fields);
    } else {
      options_.log.Info(kVerbosity, "Scheduling decision", fields);
    }
  }
  if (next_ != nullptr) next_->OnDecision(report);
}

void SlowDecisions::OnPhase(std::string_view profile, Phase phase,
                            scheduler::PluginStatus::Code code, std::chrono::nanoseconds took) {
  // What comes later may be told in the middle of somebody else's decision.
  if (phase <= Phase::kReserve) phases_[static_cast<std::size_t>(phase)] += took;
  if (next_ != nullptr) next_->OnPhase(profile, phase, code, took);
}

void SlowDecisions::OnAttempt(const scheduler::AttemptReport& report) {
  if (next_ != nullptr) next_->OnAttempt(report);
}

void SlowDecisions::OnPlugin(std::string_view plugin, Phase phase,
                             scheduler::PluginStatus::Code code, std::chrono::nanoseconds took) {
  if (next_ != nullptr) next_->OnPlugin(plugin, phase, code, took);
}

void SlowDecisions::OnRefusal(const scheduler::PodExplanation& explanation) {
  if (next_ != nullptr) next_->OnRefusal(explanation);
}

void SlowDecisions::OnPreemption(std::size_t victims) {
  if (next_ != nullptr) next_->OnPreemption(victims);
}

void SlowDecisions::OnBindingConditions(std::string_view profile, std::string_view driver,
                                        std::string_view status, std::chrono::nanoseconds waited) {
  if (next_ != nullptr) next_->OnBindingConditions(profile, driver, status, waited);
}

void SlowDecisions::OnGivenTwice(std::string_view device) {
  options_.log.Warning(
      "A device is allocated to two claims: another scheduler allocates devices of the same driver",
      {{"device", device}});
  if (next_ != nullptr) next_->OnGivenTwice(device);
}

void SlowDecisions::OnTakenBack(std::string_view device) {
  options_.log.Warning(
      "The allocation of a device that another scheduler also allocated was undone",
      {{"device", device}});
  if (next_ != nullptr) next_->OnTakenBack(device);
}

}  // namespace dray::plane::internal
