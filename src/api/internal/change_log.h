// SPDX-License-Identifier: Apache-2.0
//
// The changes that somebody has not seen yet: one log for all watches, each with its place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "api/cluster.h"
#include "api/kinds.h"

namespace dray::api::internal {

// Owned together with its watches, so that a watch may outlive the cluster. Keeps a change only as
// long as some watch that wants its kind has it before itself. One thread.
class ChangeLog : public std::enable_shared_from_this<ChangeLog> {
 public:
  void Append(Change change);
  // `present` comes first, as added.
  std::unique_ptr<ObjectWatch> Watch(std::span<const KindInfo* const> kinds,
                                     std::vector<Object> present);

  std::size_t size() const { return changes_.size(); }

 private:
  class LogWatch;

  void Trim();

  std::deque<Change> changes_;
  std::uint64_t first_ = 0;  // the number of changes_.front()
  std::vector<LogWatch*> watches_;
};

}  // namespace dray::api::internal
