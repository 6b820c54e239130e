// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool: an Executor of threads that wait for work.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"

namespace dray::threads {

// Its threads start with the first work and sleep between two. Works often come in a row, and to be
// woken takes as long as a small one: so a thread looks out for the next for some microseconds
// before it sleeps, and so does the caller for the last worker. Thread-compatible: one caller at a
// time.
class ThreadPool final : public base::Executor {
 public:
  // With so many workers, at least one; the caller of Run is one of them, so that one thread less
  // is started.
  explicit ThreadPool(std::size_t workers) : workers_(workers == 0 ? 1 : workers) {}
  ~ThreadPool() override;

  std::size_t workers() const override { return workers_; }
  void Run(const std::function<void(std::size_t worker)>& work) override;

 private:
  void Serve(std::size_t worker);

  const std::size_t workers_;
  base::Mutex mutex_;  // to write what follows; what is atomic may be looked at without it
  base::CondVar begun_;
  base::CondVar ended_;
  // Null: too late for the last one.
  const std::function<void(std::size_t)>* work_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<std::uint64_t> number_ = 0;           // of the work
  std::atomic<std::size_t> busy_ = 0;               // threads that are at it
  std::size_t asleep_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that must be woken
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

// How many workers a configured parallelism means: so many, at most as many as the machine has
// cores; 0: as many as it has cores, at most 16.
std::size_t WorkersFor(std::int32_t parallelism);

}  // namespace dray::threads
