// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/loop.h"

#include <algorithm>
#include <utility>

namespace dray::plane::internal {
namespace {

constexpr std::size_t kBatch = 4096;
// Clocks of tests stand still, and a watch that cannot be made is tried again: never sleep for
// ever.
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::seconds(1);

}  // namespace

Loop::Loop(store::Store& store, const base::Clock& clock, Factory factory,
           std::function<bool()> may_begin)
    : store_(store), clock_(clock) {
  thread_ = std::thread([this, factory = std::move(factory), may_begin = std::move(may_begin)] {
    Run(factory, may_begin);
  });
}

Loop::~Loop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  thread_.join();
}

std::chrono::nanoseconds Loop::TurnAge() const {
  const std::int64_t began = turn_began_.load();
  if (began < 0) return {};
  return std::max(clock_.Monotonic() - std::chrono::nanoseconds(began),
                  std::chrono::nanoseconds(0));
}

void Loop::Run(const Factory& factory, const std::function<bool()>& may_begin) {
  if (may_begin != nullptr && !may_begin()) return;
  turn_began_ = clock_.Monotonic().count();
  const std::unique_ptr<Worker> worker = factory([this] { Ring(); });
  for (;;) {
    {
      const base::MutexLock lock(mutex_);
      if (stopping_) break;
      woken_ = false;
    }
    // In this order: what is stored while the worker works wakes the loop again.
    turn_began_ = clock_.Monotonic().count();
    const bool changed = Changed();
    const bool more = worker->Work();
    started_ = true;
    if (changed || more) continue;
    turn_began_ = -1;
    Wait(worker->NextDue());
  }
  turn_began_ = -1;
  watch_ = nullptr;
}

void Loop::Ring() {
  {
    const base::MutexLock lock(mutex_);
    woken_ = true;
  }
  wake_.NotifyOne();
}

bool Loop::Changed() {
  bool changed = false;
  if (watch_ != nullptr) {
    for (;;) {
      const auto events = watch_->Next(kBatch);
      if (events.ok() && events->empty()) return changed;
      changed = true;
      if (!events.ok()) break;
    }
  }
  auto watch = store_.WatchFrom("", store_.revision(), [this] { Ring(); });
  watch_ = watch.ok() ? *std::move(watch) : nullptr;
  return true;
}

void Loop::Wait(std::optional<std::chrono::nanoseconds> due) {
  std::chrono::nanoseconds nap = kLongestNap;
  if (due) nap = std::clamp(*due - clock_.Monotonic(), std::chrono::nanoseconds(0), nap);
  const auto until = std::chrono::steady_clock::now() + nap;
  const base::MutexLock lock(mutex_);
  while (!woken_ && !stopping_ && wake_.WaitUntil(mutex_, until)) {
  }
}

}  // namespace dray::plane::internal
