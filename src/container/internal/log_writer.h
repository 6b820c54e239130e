// SPDX-License-Identifier: Apache-2.0
//
// A container's log: a file that is put aside when it is full, with a few of its predecessors kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "files/files.h"

namespace dray::container::internal {

struct LogWriterOptions {
  std::string path;
  std::int64_t max_bytes = 10 << 20;  // 0: it is never put aside
  std::int64_t max_files = 5;         // with the one that is written
};

// Gives the log another name, with the time in it, which is told. No lines are lost: who has it open
// goes on writing to it.
StatusOr<std::string> PutAside(const std::string& path, base::Time now);
// Of the log and those that were put aside, this many stay.
void RemoveOldLogs(const std::string& path, std::int64_t max_files);

// One thread. A disk that is full costs lines, never the container.
class LogWriter {
 public:
  LogWriter(LogWriterOptions options, const base::Clock& clock)
      : options_(std::move(options)), clock_(clock) {}
  // Makes the folder and the file, or goes on with what is there.
  Status Open();
  // Whole lines, one at a time.
  void Write(std::string_view lines);
  std::int64_t lost() const { return lost_; }

 private:
  void Rotate();

  const LogWriterOptions options_;
  const base::Clock& clock_;
  files::Fd file_;
  std::int64_t size_ = 0;
  std::int64_t lost_ = 0;  // lines
};

}  // namespace dray::container::internal
