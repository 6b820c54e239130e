// SPDX-License-Identifier: Apache-2.0
//
// What a log says of its writing, for metrics and for who watches whether it is slow.
#pragma once

#include <chrono>
#include <cstddef>

namespace dray::store {

// A group of transactions that has been written at once.
struct CommitReport {
  bool ok = true;
  std::size_t transactions = 0;
  std::size_t changes = 0;            // keys that were put or deleted
  std::chrono::nanoseconds wrote{0};  // until it was durable
  std::size_t waiting = 0;            // transactions that came meanwhile
};

}  // namespace dray::store
