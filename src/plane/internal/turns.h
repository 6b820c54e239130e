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
#include <vector>

#include "api/cluster.h"
#include "base/host.h"
#include "base/mutex.h"
#include "scheduler/background.h"
#include "threads/system_host.h"

namespace dray::plane::internal {

// A lock that is handed on in the order of asking: a decider that never rests lets others through.
class ABSL_LOCKABLE FairMutex {
 public:
  // It outlives this.
  explicit FairMutex(base::Host& host) : host_(host) {}

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION();
  void Unlock() ABSL_UNLOCK_FUNCTION();

 private:
  struct Waiter {
    std::shared_ptr<base::Alarm> turn;  // of who wakes it, too
    bool has_it = false;
  };
  base::Host& host_;
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
  // `cluster` and `host` outlive it; the cluster is used from several threads of the host. `done` is
  // called from them after each work.
  Turns(api::Cluster& cluster, std::size_t threads, std::function<void()> done,
        base::Host& host = threads::TheSystemHost());
  // Waits for works that have begun; others are dropped. Nobody has a turn.
  ~Turns() override;

  // For the decider: works that wait for it let others have their turn.
  api::Cluster& cluster() { return *cluster_; }
  // Held by the decider whenever it does something.
  FairMutex& turn() { return turn_; }
  void Run(std::function<void()> work) override;

 private:
  class TurnCluster;

  void Serve(base::Alarm& wake);

  FairMutex turn_;
  bool working_ = false;  // who has the turn is a work
  const std::function<void()> done_;
  std::unique_ptr<api::Cluster> cluster_;
  std::vector<std::unique_ptr<base::Alarm>> alarms_;  // one for each that serves
  base::Mutex mutex_;
  std::vector<base::Alarm*> idle_ ABSL_GUARDED_BY(mutex_);  // of those who wait for work
  std::deque<std::function<void()>> works_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<base::Running>> running_;
};

}  // namespace dray::plane::internal
