// SPDX-License-Identifier: Apache-2.0
//
// Logs of a CRI server's containers: the server writes them, and goes on in a new file when the old
// one was put aside from here.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "container/internal/log_writer.h"
#include "rpc/cri_client.h"
#include "threads/task_queue.h"

namespace dray::container::internal {

// Thread-safe.
class CriLogs {
 public:
  // `limits.path` is not used. All outlive it; calls that it has begun end with the client.
  CriLogs(rpc::CriClient& cri, LogWriterOptions limits, std::chrono::nanoseconds interval,
          const base::Clock& clock)
      : cri_(cri), limits_(std::move(limits)), interval_(interval), clock_(clock) {}

  // Whether it is time to look again; the caller then does.
  bool Due();
  // The containers that run, with their logs.
  void Look(std::vector<std::pair<std::string, std::string>> logs);
  // Returns when nothing looks any more. Before the client ends.
  void Stop() { queue_.Stop(); }

 private:
  void LookAt(const std::string& id, const std::string& path);

  rpc::CriClient& cri_;
  const LogWriterOptions limits_;
  const std::chrono::nanoseconds interval_;
  const base::Clock& clock_;
  std::atomic<std::chrono::nanoseconds::rep> next_{0};
  threads::TaskQueue queue_{1};
};

}  // namespace dray::container::internal
