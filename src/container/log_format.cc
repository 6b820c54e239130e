// SPDX-License-Identifier: Apache-2.0
#include "container/log_format.h"

#include "fmt/format.h"

namespace dray::container {

std::string LogTime(base::Time time) {
  std::string text = time.ToRfc3339();  // 2024-03-05T10:20:30Z
  text.pop_back();
  return fmt::format("{}.{:09}Z", text, time.nanos());
}

void LogEncoder::Emit(std::string_view text, bool partial, base::Time now, std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{} {} {} ", LogTime(now),
                 stream_ == LogStream::kOut ? "stdout" : "stderr", partial ? 'P' : 'F');
  out.append(text);
  out.push_back('\n');
}

void LogEncoder::Add(std::string_view bytes, base::Time now, std::string& out) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t room = kLongestLogText - line_.size();
    if (end != bytes.npos && end <= room) {
      line_.append(bytes.substr(0, end));
      Emit(line_, false, now, out);
      line_.clear();
      bytes.remove_prefix(end + 1);
    } else if (bytes.size() >= room) {
      line_.append(bytes.substr(0, room));
      bytes.remove_prefix(room);
      Emit(line_, true, now, out);
      line_.clear();
    } else {
      line_.append(bytes);
      return;
    }
  }
}

void LogEncoder::Finish(base::Time now, std::string& out) {
  if (line_.empty()) return;
  Emit(line_, false, now, out);
  line_.clear();
}

StatusOr<LogLine> ParseLogLine(std::string_view line) {
  const auto wrong = [] { return base::InvalidArgument("no line of a log"); };
  LogLine parsed;
  const std::size_t first = line.find(' ');
  if (first == line.npos) return wrong();
  parsed.written_time = line.substr(0, first);
  const auto time = base::Time::ParseRfc3339(parsed.written_time);
  if (!time.ok()) return wrong();
  parsed.time = *time;
  line.remove_prefix(first + 1);
  if (line.starts_with("stdout ")) {
    parsed.stream = LogStream::kOut;
  } else if (line.starts_with("stderr ")) {
    parsed.stream = LogStream::kErr;
  } else {
    return wrong();
  }
  line.remove_prefix(7);
  // Tags may follow each other: F:more.
  const std::size_t tags = line.find(' ');
  if (tags == line.npos || tags == 0 || (line[0] != 'F' && line[0] != 'P')) return wrong();
  parsed.partial = line[0] == 'P';
  parsed.text = line.substr(tags + 1);
  return parsed;
}

}  // namespace dray::container
