// SPDX-License-Identifier: Apache-2.0
//
// Loop: the agent's one thread. Everything that the agent knows is touched on it alone; whoever hears
// of something elsewhere (a gRPC thread, a runtime, a file) posts it. Time comes from a Clock, so that
// a test moves both on and years of an agent's life take milliseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace dray::node {

// Post and Stop from any thread, everything else on the loop's.
class Loop {
 public:
  using Task = std::function<void()>;

  // Something that is to happen; forgotten when this goes. Must not outlive the loop.
  class Timer {
   public:
    Timer() = default;
    Timer(Timer&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), key_(other.key_) {}
    Timer& operator=(Timer&& other) noexcept;
    ~Timer() { Cancel(); }
    void Cancel();
    // It has been set, and is neither over nor cancelled.
    bool pending() const;

   private:
    friend class Loop;
    using Key = std::pair<std::chrono::nanoseconds, std::uint64_t>;
    Timer(Loop* loop, Key key) : loop_(loop), key_(key) {}
    Loop* loop_ = nullptr;
    Key key_;
  };

  // The clock outlives it.
  explicit Loop(const base::Clock& clock) : clock_(clock) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  const base::Clock& clock() const { return clock_; }
  std::chrono::nanoseconds Now() const { return clock_.Monotonic(); }

  // Done on the loop, in the order in which it was posted. After the end of Run: never.
  void Post(Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Done on the loop, not before `delay` is over; those of one time in the order in which they were
  // set.
  [[nodiscard]] Timer After(std::chrono::nanoseconds delay, Task task);

  // Does what was posted and what is due, and what comes of that, until nothing is left to do now.
  void RunDue() ABSL_LOCKS_EXCLUDED(mutex_);
  // When the next timer is due, of Now().
  std::optional<std::chrono::nanoseconds> NextDue() const;
  // Until Stop.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool RunPosted() ABSL_LOCKS_EXCLUDED(mutex_);
  bool RunTimer();

  const base::Clock& clock_;
  std::map<Timer::Key, Task> timers_;  // by time, then by age
  std::uint64_t set_ = 0;

  base::Mutex mutex_;
  base::CondVar posted_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

// For tests: moves the clock on by so much, from timer to timer, and does what is due on the way.
void RunFor(Loop& loop, base::ManualClock& clock, std::chrono::nanoseconds time);

}  // namespace dray::node
