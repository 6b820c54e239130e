// SPDX-License-Identifier: Apache-2.0
//
// Timing: measures the phases of one attempt, and in some attempts each call of a plugin, for an
// Observer. Without one it does nothing.
#pragma once

#include <chrono>
#include <string_view>

#include "base/clock.h"
#include "scheduler/observer.h"

namespace dray::scheduler {

// One thread, but for Now.
class Timing {
 public:
  // Both outlive it, as does the profile's name. `observer` may be null; `plugins`: calls of
  // plugins are measured, too.
  Timing(Observer* observer, const base::Clock& clock, std::string_view profile, bool plugins)
      : observer_(observer), clock_(clock), profile_(profile), plugins_(plugins) {
    Restart();
  }

  // What came since the last phase's end is no phase's.
  void Restart() {
    if (observer_ != nullptr) began_ = clock_.Monotonic();
  }
  // The phase that began with the end of the one before it is over.
  void End(Phase phase, PluginStatus::Code code) {
    if (observer_ == nullptr) return;
    const std::chrono::nanoseconds now = clock_.Monotonic();
    observer_->OnPhase(profile_, phase, code, now - began_);
    began_ = now;
  }

  template <typename Call>
  PluginStatus Ask(Phase phase, const Plugin& plugin, Call call) {
    if (!measures_plugins()) return call();
    const std::chrono::nanoseconds before = clock_.Monotonic();
    PluginStatus status = call();
    observer_->OnPlugin(plugin.name(), phase, status.code, clock_.Monotonic() - before);
    return status;
  }
  // For calls that are made elsewhere and told afterwards: whether they are to be measured, when it
  // is now (on any thread), and what one took.
  bool measures_plugins() const { return observer_ != nullptr && plugins_; }
  std::chrono::nanoseconds Now() const { return clock_.Monotonic(); }
  void Called(Phase phase, const Plugin& plugin, PluginStatus::Code code,
              std::chrono::nanoseconds took) {
    observer_->OnPlugin(plugin.name(), phase, code, took);
  }
  // The phase that is under way; of a new one, the attempt. Zero without an observer.
  std::chrono::nanoseconds began() const { return began_; }

 private:
  Observer* const observer_;
  const base::Clock& clock_;
  const std::string_view profile_;
  const bool plugins_;
  std::chrono::nanoseconds began_{0};
};

}  // namespace dray::scheduler
