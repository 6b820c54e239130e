// SPDX-License-Identifier: Apache-2.0
//
// Simulations: scenarios that run in the background, one after the other per thread, and what came
// of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "console/desk.h"
#include "threads/task_queue.h"

namespace dray::console {

// Thread-safe.
class Simulations {
 public:
  // Both outlive it.
  Simulations(Desk& desk, const base::Clock& clock) : desk_(desk), clock_(clock) {}
  // Ends those that run.
  ~Simulations();

  // Its id. ResourceExhausted: the user has as many under way as one may.
  StatusOr<std::string> Begin(const std::string& user, SimulationRequest request);
  // Of the user's own.
  std::string List(std::string_view user) const;
  std::optional<std::string> Show(std::string_view user, std::string_view id) const;
  bool Remove(std::string_view user, std::string_view id);

  static constexpr std::size_t kMostAtOnce = 2;
  static constexpr std::size_t kMostKept = 10;  // of a user, the newest

 private:
  struct Run {
    std::uint64_t number = 0;
    std::string user;
    SimulationRequest request;
    base::Time started;
    std::atomic<bool> cancelled = false;
    mutable base::Mutex mutex;
    Desk::Started about ABSL_GUARDED_BY(mutex);
    SimulationProgress progress ABSL_GUARDED_BY(mutex);
    std::string state ABSL_GUARDED_BY(mutex) = "running";
    std::string error ABSL_GUARDED_BY(mutex);
    std::string result ABSL_GUARDED_BY(mutex);
  };
  static std::string JsonOf(const Run& run, bool whole);
  void Work(const std::shared_ptr<Run>& run);
  std::shared_ptr<Run> Find(std::string_view user, std::string_view id) const;

  Desk& desk_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, std::shared_ptr<Run>> runs_ ABSL_GUARDED_BY(mutex_);
  // Last: it ends first.
  threads::TaskQueue queue_{1};
};

}  // namespace dray::console
