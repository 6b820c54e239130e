// SPDX-License-Identifier: Apache-2.0
//
// Workers: threads for what may take its time. gRPC's own are few, and a handler that hangs on one of
// them would keep everybody waiting.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace dray::rpc::internal {

// As many threads as tasks are under way at a time, at most kMost; what comes then waits.
// Thread-safe.
class Workers {
 public:
  static constexpr std::size_t kMost = 64;

  Workers() = default;
  // Returns when everything that was given is done.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Do(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Serve() ABSL_LOCKS_EXCLUDED(mutex_);

  base::Mutex mutex_;
  base::CondVar given_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::rpc::internal
