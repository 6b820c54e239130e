// SPDX-License-Identifier: Apache-2.0
//
// A real node beside `dray up`: `dray node` as a process of its own, which outlives nobody and takes
// nobody along.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"

namespace dray::cli::internal {

struct NodeChildOptions {
  std::vector<std::string> arguments;  // after `dray node`
  std::string log;                     // a file: what it says
};

// One thread.
class NodeChild {
 public:
  // Unavailable: the process cannot be started.
  static StatusOr<NodeChild> Start(NodeChildOptions options);
  NodeChild(NodeChild&& other) noexcept;
  NodeChild& operator=(NodeChild&&) = delete;
  // Tells it to end and waits, at most ten seconds. Containers go on, and the next start finds them.
  ~NodeChild();

  // Starts it again when it has ended, later and later. What happened, for people; empty: nothing.
  std::string Look();

 private:
  explicit NodeChild(NodeChildOptions options) : options_(std::move(options)) {}
  Status Spawn();

  NodeChildOptions options_;
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point next_;
  std::chrono::seconds pause_{1};
};

}  // namespace dray::cli::internal
