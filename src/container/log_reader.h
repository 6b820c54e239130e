// SPDX-License-Identifier: Apache-2.0
//
// Reading a container's log: what `kubectl logs` shows. Files that were put aside when they were full
// belong to it, and a reader that follows goes from one to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "container/log_format.h"
#include "files/files.h"

namespace dray::container {

struct LogOptions {
  std::optional<std::int64_t> tail_lines;  // the last ones that there are when reading begins
  std::optional<base::Time> since;
  std::optional<std::int64_t> limit_bytes;  // of what is shown
  bool timestamps = false;
  std::optional<LogStream> stream;  // none: both
};

// Which lines are shown, and how. Pure; one thread.
class LogSelector {
 public:
  explicit LogSelector(const LogOptions& options) : options_(options), left_(options.limit_bytes) {}
  // Appends what is shown of the next line. False: the limit is reached, nothing more will be shown.
  bool Add(const LogLine& line, std::string& out);

 private:
  LogOptions options_;
  std::optional<std::int64_t> left_;
  bool in_line_[2] = {false, false};  // by stream: the line before was a part
};

// <path>.<time>, oldest first, then the file itself, if they are there.
std::vector<std::string> LogFilesOf(const std::string& path);

// One thread.
class LogReader {
 public:
  // A log that is not there yet is empty.
  LogReader(std::string path, const LogOptions& options);

  // Appends what there is to show, about `most` bytes at a time. False: there is nothing more now; if
  // the container runs, asking later may give more.
  StatusOr<bool> Read(std::string& out, std::size_t most = 64 * 1024);
  // The limit is reached.
  bool ended() const { return ended_; }

 private:
  Status Begin();
  // The file after the one that is open; false: there is none.
  StatusOr<bool> OpenNext();
  Status OpenFile(const std::string& path);
  void TakeLines(std::string& out);

  const std::string path_;
  const LogOptions options_;
  LogSelector selector_;
  bool begun_ = false;
  bool ended_ = false;
  files::Fd file_;
  std::uint64_t inode_ = 0;
  std::string pending_;  // the beginning of a line
};

// Everything that there is now.
StatusOr<std::string> ReadLog(const std::string& path, const LogOptions& options);

}  // namespace dray::container
