// SPDX-License-Identifier: Apache-2.0
//
// ClaimTurns: who works on which claim. Calls that share one wait for each other; if all are to be
// one after the other, all share one.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace dray::driver::internal {

// Thread-safe.
class ClaimTurns {
 public:
  // Holds the keys as long as it lives.
  class Turn {
   public:
    Turn(ClaimTurns& turns, std::set<std::string> keys) : turns_(turns), keys_(std::move(keys)) {
      turns_.Enter(keys_);
    }
    ~Turn() { turns_.Leave(keys_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ClaimTurns& turns_;
    const std::set<std::string> keys_;
  };

 private:
  bool AnyBusy(const std::set<std::string>& keys) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const std::string& key : keys) {
      if (busy_.contains(key)) return true;
    }
    return false;
  }
  // All at once, so that nobody holds one and waits for another.
  void Enter(const std::set<std::string>& keys) {
    const base::MutexLock lock(mutex_);
    while (AnyBusy(keys)) left_.Wait(mutex_);
    busy_.insert(keys.begin(), keys.end());
  }
  void Leave(const std::set<std::string>& keys) {
    {
      const base::MutexLock lock(mutex_);
      for (const std::string& key : keys) busy_.erase(key);
    }
    left_.NotifyAll();
  }

  base::Mutex mutex_;
  base::CondVar left_;
  std::set<std::string> busy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::driver::internal
