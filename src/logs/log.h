// SPDX-License-Identifier: Apache-2.0
//
// Log: the log of a process, and Logger, what a part of it writes to it with.
//
//   logs::Log log({.format = logs::Format::kText}, clock, logs::MakeFdOutput(2));
//   const logs::Logger store = log.For("store");
//   store.Warning("Commit was slow", {{"took", took}, {"transactions", 17}});
//   if (store.Enabled(4)) store.Info(4, "Commit", {{"took", took}});
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "logs/limiter.h"
#include "logs/line_writer.h"
#include "logs/record.h"

namespace dray::logs {

enum class Format : std::uint8_t { kText, kJson };

struct LogOptions {
  Format format = Format::kText;
  // Infos up to here are told: 0 what an operator wants to know, 2 changes of state, 3 requests,
  // 4 decisions. As Kubernetes's -v.
  int verbosity = 0;
  bool color = false;  // text on a terminal
  int pid = 0;
  LineWriterOptions writer = {};
  LimiterOptions limits = {};
};

struct LogCounts {
  std::array<std::uint64_t, kLevels> records = {};  // by level, those that were told
  std::uint64_t suppressed = 0;                     // too many of a kind
  std::uint64_t dropped = 0;                        // nobody read them in time
};

class Logger;

// Thread-safe.
class Log {
 public:
  // The clock outlives it.
  Log(LogOptions options, const base::Clock& clock, std::unique_ptr<Output> output);

  // The name is a constant. The log outlives its loggers.
  Logger For(std::string_view component);
  bool Enabled(int verbosity) const { return verbosity <= options_.verbosity; }
  // Fills in time and suppression. Limited: of many of the same message few are told.
  void Write(Record record, bool limited);
  bool Flush(std::chrono::milliseconds patience) { return writer_.Flush(patience); }
  LogCounts counts() const;

 private:
  std::string Line(const Record& record) const;

  const LogOptions options_;
  const base::Clock& clock_;
  std::array<std::atomic<std::uint64_t>, kLevels> records_ = {};
  std::atomic<std::uint64_t> suppressed_ = 0;
  base::Mutex mutex_;
  Limiter limiter_ ABSL_GUARDED_BY(mutex_);
  LineWriter writer_;  // last: it ends first
};

// A value: a log and who writes. One without a log says nothing, so that nobody has to ask whether
// there is one. Warnings, errors and Traces of which there are too many are told now and then, with
// how many were not; an Info of a verbosity that was asked for always is.
class Logger {
 public:
  Logger() = default;

  // Whether infos of this verbosity are told; ask before making costly fields.
  bool Enabled(int verbosity) const { return log_ != nullptr && log_->Enabled(verbosity); }

  void Info(int verbosity, std::string_view message, Fields fields = {}) const {
    if (Enabled(verbosity)) Write(Level::kInfo, verbosity, message, fields, false);
  }
  // An info that comes by itself and may come often, such as that something was slow.
  void Trace(std::string_view message, Fields fields = {}) const {
    if (Enabled(0)) Write(Level::kInfo, 0, message, fields, true);
  }
  // Something is not as it should be, and goes on.
  void Warning(std::string_view message, Fields fields = {}) const {
    if (log_ != nullptr) Write(Level::kWarning, 0, message, fields, true);
  }
  // Something could not be done.
  void Error(std::string_view message, Fields fields = {}) const {
    if (log_ != nullptr) Write(Level::kError, 0, message, fields, true);
  }

 private:
  friend class Log;
  Logger(Log* log, std::string_view component) : log_(log), component_(component) {}
  void Write(Level level, int verbosity, std::string_view message, Fields fields,
             bool limited) const;

  Log* log_ = nullptr;
  std::string_view component_;
};

}  // namespace dray::logs
