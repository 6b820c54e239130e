// SPDX-License-Identifier: Apache-2.0
//
// Bystander: an honest client that reads and writes all the time, and notices when it has to wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "process/up_process.h"

namespace dray::abuse {

// Works from construction until it is destroyed. Thread-safe.
class Bystander {
 public:
  explicit Bystander(const process::UpProcess& server);
  ~Bystander();
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;

  struct Experience {
    std::uint64_t answers = 0;
    std::chrono::milliseconds longest{0};
    std::vector<std::string> complaints;  // answers that are wrong, or did not come
  };
  // Since the last time that it was asked.
  Experience Take();

 private:
  void Run(const process::UpProcess& server);

  std::atomic<bool> stop_ = false;
  base::Mutex mutex_;
  Experience experience_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace dray::abuse
