// SPDX-License-Identifier: Apache-2.0
//
// Kernel: time and everything that happens in it, on one thread. What runs beside each other are
// fibers: each runs until it waits for something, and who is next is decided by simulated time
// alone. So a run is the same whenever it is repeated.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "base/clock.h"
#include "base/host.h"

namespace dray::system {

using Nanos = std::chrono::nanoseconds;

namespace internal {
class Fiber;
}  // namespace internal

// One thread, as everything here.
class Kernel {
 public:
  Kernel();
  // Nothing runs any more; who still waits is never woken.
  ~Kernel();

  Nanos now() const { return now_; }
  // Does something at that time or right after; it must not wait.
  void At(Nanos when, std::function<void()> task);
  void After(Nanos delay, std::function<void()> task) { At(now_ + delay, std::move(task)); }
  // Runs something that may wait; begins right after what is happening now.
  // `stands_until`: it does not go on before that time, whatever it waits for; may be changed at any time.
  void Spawn(std::function<void()> run, std::shared_ptr<const Nanos> stands_until = nullptr);

  // The next thing that happens; time moves on to it. False: nothing will ever happen.
  bool Step();
  // Everything until then.
  void RunUntil(Nanos end);
  // What has happened so far.
  std::uint64_t events() const { return events_; }

  // For a fiber: something to wait for, and the waiting. Wake may be called at any time.
  class Wait {
   public:
    explicit Wait(Kernel& kernel) : kernel_(kernel) {}
    // Until Wake was called since the last time, or the time has come.
    void Until(std::optional<Nanos> end);
    void Wake();

   private:
    Kernel& kernel_;
    // Shared with the events that would wake it, which may come when it is gone.
    struct State {
      internal::Fiber* sleeper = nullptr;
      std::uint64_t number = 0;  // of the sleep
      bool woken = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
  };
  void Sleep(Nanos time);

 private:
  friend class internal::Fiber;
  struct Event {
    Nanos when;
    std::uint64_t number;
    std::function<void()> task;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };
  void Resume(internal::Fiber* fiber);

  Nanos now_{0};
  std::uint64_t numbers_ = 0;
  std::uint64_t events_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::vector<std::unique_ptr<internal::Fiber>> fibers_;
  internal::Fiber* current_ = nullptr;
};

// A process: what it has started ends with it. Killed, it does not sleep any more, so that whatever
// takes it apart comes to an end at once; whoever it talks to sees to it that nothing that it does
// from then on has an effect. Its wall clock may be wrong.
class Process final : public base::Host, public base::Clock {
 public:
  explicit Process(Kernel& kernel) : kernel_(kernel) {}

  std::unique_ptr<base::Alarm> MakeAlarm() override;
  std::unique_ptr<base::Running> Start(std::function<void()> run) override;

  base::Time Now() const override;
  Nanos Monotonic() const override { return kernel_.now(); }
  // The wall clock is set: by so much it is wrong now.
  void SetWrong(Nanos by) { wrong_ = by; }

  // As one whose machine is suspended: nothing of it goes on before that time, and what is sent to it waits there.
  void StandStill(Nanos until) { *stands_until_ = until; }

  Kernel& kernel() const { return kernel_; }
  bool killed() const { return killed_; }
  void Kill();

 private:
  class SimulatedAlarm;
  class SimulatedRunning;

  Kernel& kernel_;
  Nanos wrong_{0};
  bool killed_ = false;
  const std::shared_ptr<Nanos> stands_until_ = std::make_shared<Nanos>(0);
  std::vector<std::weak_ptr<Kernel::Wait>> sleepers_;
};

}  // namespace dray::system
