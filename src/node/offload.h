// SPDX-License-Identifier: Apache-2.0
//
// Offload: who does what takes time (files, requests to the API server), so that the loop never
// waits.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "node/loop.h"

namespace dray::node {

// Thread-safe.
class Offload {
 public:
  virtual ~Offload() = default;
  // Done elsewhere, soon; several at the same time.
  virtual void Do(std::function<void()> work) = 0;
};

// Has `work` done elsewhere, and then `then` on the loop with what it returned.
template <typename Work, typename Then>
void Away(Offload& offload, Loop& loop, Work work, Then then) {
  using Result = decltype(work());
  offload.Do([&loop, work = std::move(work), then = std::move(then)]() mutable {
    auto result = std::make_shared<Result>(work());
    loop.Post([then = std::move(then), result] { then(std::move(*result)); });
  });
}

}  // namespace dray::node
