// SPDX-License-Identifier: Apache-2.0
#include "system/kernel.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "system/fiber.h"

namespace dray::system {

Kernel::Kernel() = default;
Kernel::~Kernel() = default;

void Kernel::At(Nanos when, std::function<void()> task) {
  queue_.push({std::max(when, now_), numbers_++, std::move(task)});
}

void Kernel::Spawn(std::function<void()> run, std::shared_ptr<const Nanos> stands_until) {
  fibers_.push_back(std::make_unique<internal::Fiber>(std::move(run)));
  fibers_.back()->stands_until = std::move(stands_until);
  At(now_, [this, fiber = fibers_.back().get()] { Resume(fiber); });
}

void Kernel::Resume(internal::Fiber* fiber) {
  // Whoever has woken it has forgotten it, so that this is the one event by which it goes on.
  if (fiber->stands_until != nullptr && *fiber->stands_until > now_) {
    return At(*fiber->stands_until, [this, fiber] { Resume(fiber); });
  }
  DRAY_CHECK(current_ == nullptr);
  current_ = fiber;
  fiber->Resume();
  current_ = nullptr;
  if (!fiber->ended()) return;
  std::erase_if(fibers_, [&](const auto& each) { return each.get() == fiber; });
}

bool Kernel::Step() {
  if (queue_.empty()) return false;
  // What is at the top is only moved from to be popped.
  const Event event = std::move(const_cast<Event&>(queue_.top()));
  queue_.pop();
  now_ = event.when;
  ++events_;
  event.task();
  return true;
}

void Kernel::RunUntil(Nanos end) {
  while (!queue_.empty() && queue_.top().when <= end) Step();
  now_ = std::max(now_, end);
}

void Kernel::Wait::Until(std::optional<Nanos> end) {
  internal::Fiber* const fiber = kernel_.current_;
  DRAY_CHECK(fiber != nullptr);
  if (std::exchange(state_->woken, false)) return;
  state_->sleeper = fiber;
  const std::uint64_t number = ++state_->number;
  if (end) {
    kernel_.At(*end, [&kernel = kernel_, state = state_, number] {
      if (state->sleeper == nullptr || state->number != number) return;
      internal::Fiber* const sleeper = std::exchange(state->sleeper, nullptr);
      kernel.Resume(sleeper);
    });
  }
  // This may be gone when the fiber comes back.
  const std::shared_ptr<State> state = state_;
  fiber->Leave();
  state->woken = false;
}

void Kernel::Wait::Wake() {
  if (std::exchange(state_->woken, true) || state_->sleeper == nullptr) return;
  kernel_.At(kernel_.now(), [&kernel = kernel_, state = state_, number = state_->number] {
    if (state->sleeper == nullptr || state->number != number) return;
    internal::Fiber* const sleeper = std::exchange(state->sleeper, nullptr);
    kernel.Resume(sleeper);
  });
}

void Kernel::Sleep(Nanos time) { Wait(*this).Until(now_ + time); }

class Process::SimulatedAlarm final : public base::Alarm {
 public:
  explicit SimulatedAlarm(Process& process)
      : process_(process), wait_(std::make_shared<Kernel::Wait>(process.kernel_)) {
    process_.sleepers_.push_back(wait_);
  }
  void Ring() override { wait_->Wake(); }
  void Sleep(std::optional<Nanos> longest) override {
    const std::shared_ptr<Kernel::Wait> wait = wait_;
    const Nanos now = process_.kernel_.now();
    // The dead do not sleep, but let others have their turn, and time goes on.
    if (process_.killed_) longest = std::chrono::milliseconds(1);
    wait->Until(longest ? std::optional(now + *longest) : std::nullopt);
  }

 private:
  Process& process_;
  const std::shared_ptr<Kernel::Wait> wait_;
};

class Process::SimulatedRunning final : public base::Running {
 public:
  SimulatedRunning(Kernel& kernel, std::function<void()> run,
                   std::shared_ptr<const Nanos> stands_until)
      : ended_(std::make_shared<Ended>(kernel)) {
    kernel.Spawn(
        [ended = ended_, run = std::move(run)] {
          run();
          ended->is = true;
          ended->wait.Wake();
        },
        std::move(stands_until));
  }
  ~SimulatedRunning() override {
    while (!ended_->is) ended_->wait.Until(std::nullopt);
  }

 private:
  struct Ended {
    explicit Ended(Kernel& kernel) : wait(kernel) {}
    bool is = false;
    Kernel::Wait wait;
  };
  const std::shared_ptr<Ended> ended_;
};

std::unique_ptr<base::Alarm> Process::MakeAlarm() {
  std::erase_if(sleepers_, [](const auto& each) { return each.expired(); });
  return std::make_unique<SimulatedAlarm>(*this);
}

std::unique_ptr<base::Running> Process::Start(std::function<void()> run) {
  return std::make_unique<SimulatedRunning>(kernel_, std::move(run), stands_until_);
}

base::Time Process::Now() const {
  constexpr std::int64_t kBegin = 1'800'000'000;
  return base::Time::FromUnix(kBegin) + kernel_.now() + wrong_;
}

void Process::Kill() {
  killed_ = true;
  *stands_until_ = Nanos(0);
  for (const auto& each : sleepers_) {
    if (const auto sleeper = each.lock()) sleeper->Wake();
  }
}

}  // namespace dray::system
