// SPDX-License-Identifier: Apache-2.0
//
// LineWriter: lines from any thread to one place, such as standard error or a file, by a thread of
// its own. Whoever hands over a line never waits for that place: what it does not take in time is
// dropped and counted, so that a terminal that was stopped, or a full disk, holds up nobody.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"

namespace dray::logs {

// Where lines go. Write and Failed come from one thread.
class Output {
 public:
  virtual ~Output() = default;
  // All of it, or an error: then it may have been written in part.
  virtual Status Write(std::string_view lines) = 0;
  // From another thread: a Write that waits shall give up, and so shall all later ones.
  virtual void GiveUp() {}
};

// A file descriptor that stays its owner's. Waits until it can be written to, at most as long as
// nobody says GiveUp: nothing is changed about the descriptor, which others may share.
std::unique_ptr<Output> MakeFdOutput(int fd);

struct LineWriterOptions {
  std::size_t max_bytes = 4u << 20;  // that wait to be written
  // How long the end waits for what is left to be written.
  std::chrono::milliseconds patience{1'000};
  // What is written in place of so many lines that were dropped; empty: nothing. Called from the
  // thread that writes.
  std::function<std::string(std::uint64_t)> dropped_line = nullptr;
  // Called from the thread that writes, after each failed write, with so many lines in it: they
  // are lost.
  std::function<void(const Status&, std::uint64_t lines)> on_failure = nullptr;
};

struct LineWriterCounts {
  std::uint64_t lines = 0;    // handed over and taken
  std::uint64_t dropped = 0;  // there was no room
  std::uint64_t failed = 0;   // could not be written
};

// Runs from its construction to its end. Thread-safe.
class LineWriter {
 public:
  explicit LineWriter(std::unique_ptr<Output> output, LineWriterOptions options = {});
  // Writes what is left, for as long as its patience lasts.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // The line has its line break. False: it was dropped.
  bool Write(std::string line);
  // Returns when everything that was handed over before has been written or given up, or the time
  // is over, which is false.
  bool Flush(std::chrono::milliseconds patience);

  LineWriterCounts counts() const;
  // Of the last write.
  Status Health() const;

 private:
  void Run();
  void WriteOut(const std::vector<std::string>& lines, std::uint64_t dropped);

  const std::unique_ptr<Output> output_;
  const LineWriterOptions options_;
  mutable base::Mutex mutex_;
  base::CondVar given_;
  base::CondVar written_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Since the last line that said so.
  std::uint64_t dropped_now_ ABSL_GUARDED_BY(mutex_) = 0;
  LineWriterCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;  // lines that were written or given up
  Status health_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dray::logs
