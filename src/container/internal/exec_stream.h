// SPDX-License-Identifier: Apache-2.0
//
// Commands in containers, and whoever attaches to a container's own process: bytes both ways, until
// the end or until nobody listens any more. Each runs on a thread that is handed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "container/runtime.h"
#include "files/files.h"

namespace dray::container::internal {

// What the listener wants, for the thread to do. Thread-safe.
class StreamInput {
 public:
  // `room`: as ExecEvents::room.
  explicit StreamInput(std::function<void()> room = nullptr);
  void Write(std::string bytes);
  void Close();
  void Resize(std::uint16_t columns, std::uint16_t rows);
  // Nobody listens any more: the command is killed.
  void Abandon();
  // Whether kMostInput bytes or more were written and not yet passed on.
  bool Full() const;

  // For the thread.
  struct Wanted {
    std::string bytes;
    bool close = false;
    std::optional<std::pair<std::uint16_t, std::uint16_t>> size;
    bool abandoned = false;
  };
  Wanted Take();
  // So many of the bytes that were taken are passed on, or never will be.
  void Consumed(std::size_t bytes);
  int wake_fd() const { return wake_.get(); }

 private:
  void Wake();

  const std::function<void()> room_;
  mutable base::Mutex mutex_;
  Wanted wanted_ ABSL_GUARDED_BY(mutex_);
  std::size_t held_ ABSL_GUARDED_BY(mutex_) = 0;  // written and not consumed
  files::Fd wake_;
};

// As the caller of Exec holds it: letting go of it abandons the command.
std::shared_ptr<ExecSession> SessionOf(std::shared_ptr<StreamInput> input);

struct ExecCall {
  std::vector<std::string> runc;  // up to and with "exec"
  std::string container_id;
  std::vector<std::string> command;
  bool tty = false;
  bool stdin_open = false;
  std::string pid_file;  // removed at the end
  std::optional<std::chrono::nanoseconds> timeout;
};

// Runs `runc exec` to its end. Not OK: the command could not be started, took too long
// (kDeadlineExceeded), or was abandoned (kCancelled).
StatusOr<std::int32_t> RunExec(const ExecCall& call, StreamInput& input,
                               const std::function<void(std::string)>& out,
                               const std::function<void(std::string)>& err);

// To the shim in that folder, until its container ends; the code of that.
StatusOr<std::int32_t> RunAttach(const std::string& folder, StreamInput& input,
                                 const std::function<void(std::string)>& out,
                                 const std::function<void(std::string)>& err);

}  // namespace dray::container::internal
