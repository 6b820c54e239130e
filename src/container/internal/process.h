// SPDX-License-Identifier: Apache-2.0
//
// Starting programs: by posix_spawn, since a process with threads must not fork.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "files/files.h"

namespace dray::container::internal {

struct SpawnOptions {
  std::vector<std::string> argv;  // looked for in PATH unless it has a slash
  std::map<int, int> fds;         // descriptor in the program: ours; 0, 1 and 2 are /dev/null else
  std::string terminal;  // a terminal to be 0, 1, 2 and the controlling one of a new session
  std::string folder;    // empty: ours
};
StatusOr<pid_t> Spawn(const SpawnOptions& options);

// The end of a child: its code, or 128 and the signal.
std::int32_t CodeOf(int wait_status);
std::int32_t WaitFor(pid_t child);

struct CommandResult {
  std::int32_t code = 0;
  std::string out;
  std::string err;
};
// Runs it to its end; DeadlineExceeded: it took too long and was killed. Output beyond a bound is
// read and forgotten.
StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                   std::chrono::milliseconds timeout,
                                   const std::map<int, int>& more_fds = {});

struct Pipe {
  files::Fd read;
  files::Fd write;
};
StatusOr<Pipe> MakePipe();

}  // namespace dray::container::internal
