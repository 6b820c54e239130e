// SPDX-License-Identifier: Apache-2.0
#include "node/loop.h"
#include "base/seconds.h"

#include <algorithm>
#include <utility>

namespace dray::node {

Loop::Timer& Loop::Timer::operator=(Timer&& other) noexcept {
  if (this == &other) return *this;
  Cancel();
  loop_ = std::exchange(other.loop_, nullptr);
  key_ = other.key_;
  return *this;
}

void Loop::Timer::Cancel() {
  if (loop_ != nullptr) std::exchange(loop_, nullptr)->timers_.erase(key_);
}

bool Loop::Timer::pending() const { return loop_ != nullptr && loop_->timers_.contains(key_); }

void Loop::Post(Task task) {
  const base::MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  posted_.NotifyOne();
}

Loop::Timer Loop::After(std::chrono::nanoseconds delay, Task task) {
  const Timer::Key key(Now() + std::max(base::Bounded(delay), std::chrono::nanoseconds(0)), set_++);
  timers_.emplace(key, std::move(task));
  return {this, key};
}

bool Loop::RunPosted() {
  std::vector<Task> tasks;
  {
    const base::MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task();
  return !tasks.empty();
}

bool Loop::RunTimer() {
  const auto first = timers_.begin();
  if (first == timers_.end() || first->first.first > Now()) return false;
  // Out of the map before it runs: it may set itself again, or cancel its own handle.
  const Task task = std::move(first->second);
  timers_.erase(first);
  task();
  return true;
}

void Loop::RunDue() {
  // What was posted comes first, again after each timer: a timer that gives up on an answer finds
  // the answer that was already there.
  while (RunPosted() || RunTimer()) {
  }
}

std::optional<std::chrono::nanoseconds> Loop::NextDue() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

void Loop::Run() {
  while (true) {
    RunDue();
    const auto next = NextDue();
    const base::MutexLock lock(mutex_);
    if (stopping_) return;
    if (!tasks_.empty()) continue;
    if (next) {
      posted_.WaitUntil(mutex_, std::chrono::steady_clock::now() + (*next - Now()));
    } else {
      posted_.Wait(mutex_);
    }
  }
}

void Loop::Stop() {
  const base::MutexLock lock(mutex_);
  stopping_ = true;
  posted_.NotifyOne();
}

void RunFor(Loop& loop, base::ManualClock& clock, std::chrono::nanoseconds time) {
  const auto end = loop.Now() + time;
  loop.RunDue();
  while (true) {
    const auto next = loop.NextDue();
    if (!next || *next > end) break;
    clock.Advance(std::max(*next - loop.Now(), std::chrono::nanoseconds(0)));
    loop.RunDue();
  }
  clock.Advance(end - loop.Now());
}

}  // namespace dray::node
