// SPDX-License-Identifier: Apache-2.0
//
// The lines of a container's log, as CRI has them: <RFC3339Nano> stdout|stderr F|P <text>. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace dray::container {

enum class LogStream : std::uint8_t { kOut, kErr };

// Of a line of the container's, at most: longer ones come in parts.
inline constexpr std::size_t kLongestLogText = 16 * 1024;

// 2026-11-16T07:00:00.123456789Z: always nine digits, so that texts sort as times do.
std::string LogTime(base::Time time);

// Bytes of one stream to lines of the log. One thread.
class LogEncoder {
 public:
  explicit LogEncoder(LogStream stream) : stream_(stream) {}
  // What can be written by now, appended to `out`: whole lines, and parts of long ones.
  void Add(std::string_view bytes, base::Time now, std::string& out);
  // The stream has ended: a last line without its end is a line.
  void Finish(base::Time now, std::string& out);

 private:
  void Emit(std::string_view text, bool partial, base::Time now, std::string& out) const;

  LogStream stream_;
  std::string line_;
};

struct LogLine {
  base::Time time;
  LogStream stream = LogStream::kOut;
  bool partial = false;  // the container's line goes on
  std::string_view text;
  std::string_view written_time;  // as it is in the file
};

// A line without its end. Not OK: it is none, such as one that was torn by a power cut.
StatusOr<LogLine> ParseLogLine(std::string_view line);

}  // namespace dray::container
