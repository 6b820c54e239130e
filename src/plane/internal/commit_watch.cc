// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/commit_watch.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::plane::internal {

std::int64_t CommitWatch::Now() const {
  return std::chrono::duration_cast<std::chrono::seconds>(clock_.Monotonic()).count();
}

void CommitWatch::OnBegin() {
  const base::MutexLock lock(mutex_);
  began_ = clock_.Monotonic();
}

void CommitWatch::OnCommit(const store::CommitReport& report) {
  bool refused_before = false;
  {
    const std::int64_t now = Now();
    const base::MutexLock lock(mutex_);
    began_.reset();
    Second& second = seconds_[static_cast<std::size_t>(now % kSeconds)];
    if (second.number != now) second = {.number = now};
    second.longest = std::max(second.longest, report.wrote);
    refused_before = std::exchange(refuses_, !report.ok);
  }
  // Once, and not for each of those that try again.
  if (!report.ok && !refused_before) {
    log_.Warning("A commit failed: writes are refused", {{"transactions", report.transactions}});
  }
  if (!TooLong(report.wrote, slow_)) return;
  const bool disk = what_ == "disk";
  log_.Warning(disk ? "Slow disk: a commit took long" : "Slow store: a commit took long",
               {{"took", report.wrote},
                {"transactions", report.transactions},
                {"changes", report.changes},
                {"waiting", report.waiting}});
}

std::chrono::nanoseconds CommitWatch::Longest() const {
  const std::int64_t now = Now();
  std::chrono::nanoseconds longest{0};
  const base::MutexLock lock(mutex_);
  if (began_) longest = clock_.Monotonic() - *began_;
  for (const Second& second : seconds_) {
    if (second.number >= 0 && now - second.number < kSeconds) {
      longest = std::max(longest, second.longest);
    }
  }
  return longest;
}

Status CommitWatch::Health() const {
  {
    const base::MutexLock lock(mutex_);
    if (refuses_) {
      return base::Unavailable(
          fmt::format("{}{} did not take the last commit: it is full, or fails. Writes are refused",
                      what_ == "disk" ? "the " : "", what_));
    }
  }
  const std::chrono::nanoseconds longest = Longest();
  if (!TooLong(longest, slow_)) return {};
  return base::Unavailable(fmt::format(
      "{}{} is slow: a commit of the last {} seconds took {}; all writes wait for it",
      what_ == "disk" ? "the " : "", what_, kSeconds, base::GoDurationToString(longest)));
}

}  // namespace dray::plane::internal
