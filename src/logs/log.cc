// SPDX-License-Identifier: Apache-2.0
#include "logs/log.h"

#include <utility>

namespace dray::logs {

Log::Log(LogOptions options, const base::Clock& clock, std::unique_ptr<Output> output)
    : options_(std::move(options)),
      clock_(clock),
      limiter_(options_.limits),
      writer_(std::move(output), [this] {
        LineWriterOptions writer = options_.writer;
        // Written past the queue, which has just been too full.
        writer.dropped_line = [this](std::uint64_t dropped) {
          const Field fields[] = {{"count", dropped}};
          return Line({.level = Level::kWarning,
                       .time = clock_.Now(),
                       .component = "logs",
                       .message = "Log records were dropped because nobody read them in time",
                       .fields = fields,
                       .field_count = 1});
        };
        return writer;
      }()) {}

Logger Log::For(std::string_view component) { return {this, component}; }

std::string Log::Line(const Record& record) const {
  if (options_.format == Format::kJson) return JsonLine(record);
  return TextLine(record, {.pid = options_.pid, .color = options_.color});
}

void Log::Write(Record record, bool limited) {
  if (limited) {
    std::string name(record.component);
    name.append("/").append(record.message);
    const base::MutexLock lock(mutex_);
    const auto before = limiter_.Allow(name, clock_.Monotonic());
    if (!before) {
      suppressed_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    record.suppressed = *before;
  }
  record.time = clock_.Now();
  records_[static_cast<std::size_t>(record.level)].fetch_add(1, std::memory_order_relaxed);
  writer_.Write(Line(record));
}

LogCounts Log::counts() const {
  LogCounts counts;
  for (std::size_t i = 0; i < kLevels; ++i) counts.records[i] = records_[i].load();
  counts.suppressed = suppressed_.load();
  const LineWriterCounts lines = writer_.counts();
  counts.dropped = lines.dropped + lines.failed;
  return counts;
}

void Logger::Write(Level level, int verbosity, std::string_view message, Fields fields,
                   bool limited) const {
  log_->Write({.level = level,
               .verbosity = verbosity,
               .time = {},
               .component = component_,
               .message = message,
               .fields = fields.begin(),
               .field_count = fields.size()},
              limited);
}

}  // namespace dray::logs
