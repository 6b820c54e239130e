// SPDX-License-Identifier: Apache-2.0
//
// The events of the history sorted by the prefixes that are watched.
//
// All watches of one prefix read one list, each from its own place; an event is filed once per
// watched prefix of its key, however many watch. Idle watches of other keys cost nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.h"
#include "store/store.h"

namespace dray::store::internal {

// The wake-up of a watch, which may end while it is about to be called. Thread-safe.
class Waker {
 public:
  explicit Waker(std::function<void()> wake) : wake_(std::move(wake)) {}
  void Wake();
  // Waits for a call under way; there is none after this.
  void Stop();
  // Whether it is in a group's list. Belongs to WatchGroups, not to this class's lock.
  bool waiting = false;

 private:
  std::mutex mutex_;
  std::function<void()> wake_;  // guarded by mutex_; empty: stopped
};

// One thread at a time (Timeline's lock).
class WatchGroups {
 public:
  struct Group {
    std::string prefix;
    std::deque<Event> events;
    std::uint64_t first = 0;  // events[i] is the (first + i)-th event of the group
    std::size_t watches = 0;
    std::vector<std::shared_ptr<Waker>> waiting;  // for the next event
  };

  // The group of a prefix, for one more watch. A new one is filled from `history`.
  Group& Join(std::string_view prefix, const std::deque<Event>& history);
  void Leave(Group& group, const std::shared_ptr<Waker>& waker);

  // `waker` is to be called at the group's next event.
  static void Wait(Group& group, const std::shared_ptr<Waker>& waker);
  // Files an event; who waited for it is appended to `wake`.
  void Append(const Event& event, std::vector<std::shared_ptr<Waker>>& wake);
  // The oldest event leaves the history.
  void Forget(const Event& event);

 private:
  template <typename F>
  void ForEachGroupOf(std::string_view key, F f);

  base::StringMap<std::unique_ptr<Group>> groups_;  // by prefix
  std::map<std::size_t, std::size_t> lengths_;      // of prefixes, and how many have it
};

}  // namespace dray::store::internal
