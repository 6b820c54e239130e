// SPDX-License-Identifier: Apache-2.0
//
// An Executor for tests of what several workers do: it starts all of its threads for each work, and
// lets none begin before all are there, so that they really are at it at the same time.
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "base/executor.h"

namespace dray::testing {

class EagerExecutor final : public base::Executor {
 public:
  explicit EagerExecutor(std::size_t workers) : workers_(workers) {}

  std::size_t workers() const override { return workers_; }
  void Run(const std::function<void(std::size_t)>& work) override {
    ++runs_;
    std::barrier all(static_cast<std::ptrdiff_t>(workers_));
    std::vector<std::jthread> threads;
    for (std::size_t worker = 1; worker < workers_; ++worker) {
      threads.emplace_back([&, worker] {
        all.arrive_and_wait();
        work(worker);
      });
    }
    all.arrive_and_wait();
    work(0);
  }
  // How often there was work.
  std::size_t runs() const { return runs_; }

 private:
  const std::size_t workers_;
  std::size_t runs_ = 0;
};

}  // namespace dray::testing
