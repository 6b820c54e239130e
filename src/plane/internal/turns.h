// SPDX-License-Identifier: Apache-2.0
//
// Turns: lets the writes of a decider overlap although the decider has no locks. Works run on a few
// threads, one at a time and never beside the decider: whoever waits for the cluster gives up its
// turn until the answer is there.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "api/cluster.h"
#include "base/mutex.h"
#include "scheduler/background.h"

namespace dray::plane::internal {

// A lock that is handed on in the order of asking: a decider that never rests lets others through.
class ABSL_LOCKABLE FairMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  void Unlock() ABSL_UNLOCK_FUNCTION();

 private:
  struct Waiter {
    base::CondVar turn;
    bool has_it = false;
  };
  base::Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Waiter*> waiters_ ABSL_GUARDED_BY(mutex_);  // what they point to, too
};

// Holds one for a scope.
class ABSL_SCOPED_LOCKABLE TurnLock {
 public:
  explicit TurnLock(FairMutex& turn) ABSL_EXCLUSIVE_LOCK_FUNCTION(turn) : turn_(turn) {
    turn_.Lock();
  }
  ~TurnLock() ABSL_UNLOCK_FUNCTION() { turn_.Unlock(); }
  TurnLock(const TurnLock&) = delete;
  TurnLock& operator=(const TurnLock&) = delete;

 private:
  FairMutex& turn_;
};

class Turns final : public scheduler::Background {
 public:
  // `cluster` outlives it; it is used from several threads. `done` is called from them after each
  // work.
  Turns(api::Cluster& cluster, std::size_t threads, std::function<void()> done);
  // Waits for works that have begun; others are dropped. Nobody has a turn.
  ~Turns() override;

  // For the decider: works that wait for it let others have their turn.
  api::Cluster& cluster() { return *cluster_; }
  // Held by the decider whenever it does something.
  FairMutex& turn() { return turn_; }
  void Run(std::function<void()> work) override;

 private:
  class TurnCluster;

  void Serve();

  FairMutex turn_;
  const std::function<void()> done_;
  std::unique_ptr<api::Cluster> cluster_;
  base::Mutex mutex_;
  base::CondVar wake_;
  std::deque<std::function<void()>> works_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dray::plane::internal
