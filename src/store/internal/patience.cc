// SPDX-License-Identifier: Apache-2.0
#include "store/internal/patience.h"

#include <utility>

#include "base/time.h"
#include "fmt/format.h"

namespace dray::store::internal {

void Patience::Waiter::Tell(const Status& status) {
  ReadyFn ready;
  {
    const base::MutexLock lock(mutex_);
    ready = std::exchange(ready_, nullptr);
  }
  if (ready) ready(status);
}

bool Patience::Waiter::Told() const {
  const base::MutexLock lock(mutex_);
  return ready_ == nullptr;
}

Patience::~Patience() {
  std::thread thread;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  news_.NotifyOne();
  if (thread.joinable()) thread.join();
}

void Patience::Watch(std::shared_ptr<Waiter> waiter) {
  {
    const base::MutexLock lock(mutex_);
    // Those who were told are not kept: at most one for each who waits.
    while (!waiting_.empty() && waiting_.front().waiter->Told()) waiting_.pop_front();
    waiting_.push_back({std::chrono::steady_clock::now() + limit_, std::move(waiter)});
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  news_.NotifyOne();
}

void Patience::Run() {
  for (;;) {
    std::shared_ptr<Waiter> late;
    {
      const base::MutexLock lock(mutex_);
      while (!stopping_ && waiting_.empty()) news_.Wait(mutex_);
      if (stopping_) return;
      const auto until = waiting_.front().until;
      if (std::chrono::steady_clock::now() < until) {
        news_.WaitUntil(mutex_, until);
        continue;
      }
      late = std::move(waiting_.front().waiter);
      waiting_.pop_front();
    }
    late->Tell(base::MakeStatus(StatusCode::kDeadlineExceeded,
                                fmt::format("the store has not said within {} what is newest",
                                            base::GoDurationToString(limit_))));
  }
}

}  // namespace dray::store::internal
