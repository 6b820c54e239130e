// SPDX-License-Identifier: Apache-2.0
//
// Inbox: what reflectors have found out and a watch has not taken yet.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace dray::client::internal {

// Each kind comes on a connection of its own, so the order of changes of different kinds is that of
// their revisions as far as they have arrived: exact for what lies here together, and else as
// late as a connection is slow. Thread-safe.
class Inbox {
 public:
  // `wake` is called from reflectors' threads when there is something to take, or trouble begins or
  // ends. A feed of which nothing is heard for longer than `silence` is not followed, whatever its
  // connection looks like. The clock outlives it.
  Inbox(std::size_t feeds, std::function<void()> wake, const base::Clock& clock,
        std::chrono::nanoseconds silence);

  struct Item {
    std::uint64_t revision = 0;
    api::Change change;
  };
  // In the order of the feed. `revision`: up to where the feed has been told everything.
  void Put(std::size_t feed, std::vector<Item> items, std::uint64_t revision);
  // OK: the feed is followed again.
  void SetTrouble(std::size_t feed, Status trouble);
  // The server has no such kind: there is nothing to hear.
  void SetAbsent(std::size_t feed);

  // Nothing until every feed has been listed: a decider that sees pods before nodes would refuse
  // them all.
  std::vector<api::Change> Take();
  // Up to where all feeds have been told everything.
  std::uint64_t Progress() const;
  // What keeps some feed from going on.
  Status Trouble() const;

 private:
  struct Feed {
    bool listed = false;
    std::uint64_t revision = 0;
    Status trouble;
    std::optional<std::chrono::nanoseconds> heard;  // when the server last said something
    std::vector<Item> items;
  };

  const std::function<void()> wake_;
  const base::Clock& clock_;
  const std::chrono::nanoseconds silence_;
  mutable base::Mutex mutex_;
  std::vector<Feed> feeds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::client::internal
