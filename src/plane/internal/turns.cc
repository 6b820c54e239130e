// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/turns.h"

#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dray::plane::internal {

void FairMutex::Lock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Waiter waiter;
  {
    const base::MutexLock lock(mutex_);
    if (!held_) {
      held_ = true;
      return;
    }
    waiter.turn = host_.MakeAlarm();
    waiters_.push_back(&waiter);
  }
  for (;;) {
    waiter.turn->Sleep();
    const base::MutexLock lock(mutex_);
    if (waiter.has_it) return;
  }
}

void FairMutex::Unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  std::shared_ptr<base::Alarm> turn;
  {
    const base::MutexLock lock(mutex_);
    if (waiters_.empty()) {
      held_ = false;
      return;
    }
    Waiter* const next = waiters_.front();
    waiters_.pop_front();
    next->has_it = true;
    turn = next->turn;
  }
  // Who is woken looks at once, and would only wait for the lock. It may be gone by now; its alarm is not.
  turn->Ring();
}

class Turns::TurnCluster final : public api::Cluster {
 public:
  TurnCluster(api::Cluster& cluster, FairMutex& turn, bool& working)
      : cluster_(cluster), turn_(turn), working_(working) {}

  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override {
    const Pause pause(turn_, working_);
    return cluster_.List(kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    const Pause pause(turn_, working_);
    return cluster_.Find(kind, namespace_, name);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    return cluster_.Watch(kinds, selection);
  }
  StatusOr<api::Object> Create(api::Object object) override {
    const Pause pause(turn_, working_);
    return cluster_.Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    const Pause pause(turn_, working_);
    return cluster_.Update(std::move(object));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    const Pause pause(turn_, working_);
    return cluster_.UpdateStatus(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override {
    const Pause pause(turn_, working_);
    return cluster_.Delete(kind, namespace_, name, uid);
  }
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    const Pause pause(turn_, working_);
    return cluster_.Bind(namespace_, pod, uid, node);
  }
  void Note(const api::EventNote& note) override { cluster_.Note(note); }

 private:
  // Others have their turn meanwhile. The decider's own calls keep it: it is in the middle of
  // something.
  class Pause {
   public:
    Pause(FairMutex& turn, bool& working) ABSL_NO_THREAD_SAFETY_ANALYSIS : turn_(turn),
                                                                           working_(working),
                                                                           pauses_(working) {
      if (!pauses_) return;
      working_ = false;
      turn_.Unlock();
    }
    ~Pause() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (!pauses_) return;
      turn_.Lock();
      working_ = true;
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    FairMutex& turn_;
    bool& working_;
    const bool pauses_;
  };

  api::Cluster& cluster_;
  FairMutex& turn_;
  bool& working_;  // guarded by the turn: only who has it calls
};

Turns::Turns(api::Cluster& cluster, std::size_t threads, std::function<void()> done,
             base::Host& host)
    : turn_(host),
      done_(std::move(done)),
      cluster_(std::make_unique<TurnCluster>(cluster, turn_, working_)) {
  for (std::size_t i = 0; i < threads; ++i) alarms_.push_back(host.MakeAlarm());
  for (const auto& alarm : alarms_) {
    running_.push_back(host.Start([this, &wake = *alarm] { Serve(wake); }));
  }
}

Turns::~Turns() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  for (const auto& alarm : alarms_) alarm->Ring();
  running_.clear();
}

void Turns::Run(std::function<void()> work) {
  base::Alarm* wake = nullptr;
  {
    const base::MutexLock lock(mutex_);
    works_.push_back(std::move(work));
    if (idle_.empty()) return;
    wake = idle_.back();
    idle_.pop_back();
  }
  wake->Ring();
}

void Turns::Serve(base::Alarm& wake) {
  for (;;) {
    std::function<void()> work;
    {
      const base::MutexLock lock(mutex_);
      std::erase(idle_, &wake);
      if (stopping_) return;
      if (works_.empty()) {
        idle_.push_back(&wake);
      } else {
        work = std::move(works_.front());
        works_.pop_front();
      }
    }
    if (!work) {
      wake.Sleep();
      continue;
    }
    {
      const TurnLock turn(turn_);
      working_ = true;
      work();
      working_ = false;
    }
    done_();
  }
}

}  // namespace dray::plane::internal
