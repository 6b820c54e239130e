// SPDX-License-Identifier: Apache-2.0
//
// CommitWatch: whether the disk, or etcd, is slow or refuses what it is given, by what commits have done
// of late.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "logs/log.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {

// Whether something that should be short is not; a limit of 0 says that nobody minds.
inline bool TooLong(std::chrono::nanoseconds took, std::chrono::nanoseconds limit) {
  return limit.count() > 0 && took >= limit;
}

// Thread-safe.
class CommitWatch {
 public:
  // How long a slow commit is held against the disk.
  static constexpr int kSeconds = 10;

  // The clock outlives it. A commit that takes as long as `slow` says so; 0: none does. `what` is what
  // is slow then, a constant.
  CommitWatch(const base::Clock& clock, logs::Logger log, std::chrono::nanoseconds slow,
              std::string_view what = "disk")
      : clock_(clock), log_(log), slow_(slow), what_(what) {}

  // By the store's writer, one after the other.
  void OnBegin();
  void OnCommit(const store::CommitReport& report);
  // The longest commit of the last seconds, or the one under way if that is longer; zero: there was
  // none.
  std::chrono::nanoseconds Longest() const;
  // Not OK: it is slow, or nothing has been stored since a commit failed.
  Status Health() const;

 private:
  struct Second {
    std::int64_t number = -1;
    std::chrono::nanoseconds longest{0};
  };
  std::int64_t Now() const;

  const base::Clock& clock_;
  const logs::Logger log_;
  const std::chrono::nanoseconds slow_;
  const std::string_view what_;
  mutable base::Mutex mutex_;
  std::optional<std::chrono::nanoseconds> began_ ABSL_GUARDED_BY(mutex_);  // the one under way
  std::array<Second, kSeconds> seconds_ ABSL_GUARDED_BY(mutex_);
  bool refuses_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dray::plane::internal
