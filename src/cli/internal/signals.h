// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM and Ctrl-C, for commands that run until they are told to end.
#pragma once

#include <csignal>

namespace dray::cli::internal {

// Threads that are started from then on leave the signals to the one that waits for them. One
// thread.
class EndSignals {
 public:
  EndSignals();
  // Whether one came; waits a quarter of a second for it.
  bool Came() const;

 private:
  sigset_t signals_;
};

}  // namespace dray::cli::internal
