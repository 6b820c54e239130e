// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/turns.h"

#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace dray::plane::internal {
namespace {

// Whether this thread is one that works, and so may give up its turn.
thread_local bool works_here = false;

}  // namespace

void FairMutex::Lock() {
  const base::MutexLock lock(mutex_);
  if (!held_) {
    held_ = true;
    return;
  }
  Waiter waiter;
  waiters_.push_back(&waiter);
  while (!waiter.has_it) waiter.turn.Wait(mutex_);
}

void FairMutex::Unlock() {
  const base::MutexLock lock(mutex_);
  if (waiters_.empty()) {
    held_ = false;
    return;
  }
  Waiter* const next = waiters_.front();
  waiters_.pop_front();
  next->has_it = true;
  next->turn.NotifyOne();
}

class Turns::TurnCluster final : public api::Cluster {
 public:
  TurnCluster(api::Cluster& cluster, FairMutex& turn) : cluster_(cluster), turn_(turn) {}

  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override {
    const Pause pause(turn_);
    return cluster_.List(kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    const Pause pause(turn_);
    return cluster_.Find(kind, namespace_, name);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection) override {
    return cluster_.Watch(kinds, selection);
  }
  StatusOr<api::Object> Create(api::Object object) override {
    const Pause pause(turn_);
    return cluster_.Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    const Pause pause(turn_);
    return cluster_.Update(std::move(object));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    const Pause pause(turn_);
    return cluster_.UpdateStatus(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override {
    const Pause pause(turn_);
    return cluster_.Delete(kind, namespace_, name, uid);
  }
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    const Pause pause(turn_);
    return cluster_.Bind(namespace_, pod, uid, node);
  }
  void Note(const api::EventNote& note) override { cluster_.Note(note); }

 private:
  // Others have their turn meanwhile. The decider's own calls keep it: it is in the middle of
  // something.
  class Pause {
   public:
    explicit Pause(FairMutex& turn) ABSL_NO_THREAD_SAFETY_ANALYSIS : turn_(turn) {
      if (works_here) turn_.Unlock();
    }
    ~Pause() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (works_here) turn_.Lock();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    FairMutex& turn_;
  };

  api::Cluster& cluster_;
  FairMutex& turn_;
};

Turns::Turns(api::Cluster& cluster, std::size_t threads, std::function<void()> done)
    : done_(std::move(done)), cluster_(std::make_unique<TurnCluster>(cluster, turn_)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

Turns::~Turns() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void Turns::Run(std::function<void()> work) {
  {
    const base::MutexLock lock(mutex_);
    works_.push_back(std::move(work));
  }
  wake_.NotifyOne();
}

void Turns::Serve() {
  works_here = true;
  base::MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && works_.empty()) wake_.Wait(mutex_);
    if (stopping_) return;
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    lock.Unlock();
    {
      const TurnLock turn(turn_);
      work();
    }
    done_();
    lock.Lock();
  }
}

}  // namespace dray::plane::internal
