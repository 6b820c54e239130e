// SPDX-License-Identifier: Apache-2.0
//
// Executor: somebody who can do several things at the same time. The core and the deciders start no
// threads; who has some hands them in as one of these (threads/thread_pool.h).
#pragma once

#include <cstddef>
#include <functional>

namespace dray::base {

class Executor {
 public:
  virtual ~Executor() = default;

  // How many workers there are, the caller of Run among them: at least one, and always as many.
  virtual std::size_t workers() const = 0;

  // Calls work(0) here, and meanwhile work(1) to work(workers() - 1) elsewhere; returns when all
  // that were begun have ended. Only the first is sure to be called: a worker that is late is done
  // without. So each must be able to do everything, and they share it by taking what nobody has
  // taken yet. What was done before the call is seen by all of them, and what they do is seen after
  // it. One caller at a time; `work` does not throw and does not call Run.
  virtual void Run(const std::function<void(std::size_t worker)>& work) = 0;
};

}  // namespace dray::base
