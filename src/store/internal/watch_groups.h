// SPDX-License-Identifier: Apache-2.0
//
// The events of the history sorted by the prefixes that are watched.
//
// All watches of one prefix, or of one topic within a prefix, read one list, each from its own place; an
// event is filed once per watched prefix of its key, and once more for each of its topics that is
// watched, however many watch. Idle watches of other keys and topics cost nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/string_map.h"
#include "store/internal/topics.h"
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
  base::Mutex mutex_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);  // empty: stopped
};

// One thread at a time (Timeline's lock).
class WatchGroups {
 public:
  struct Group {
    std::string name;  // in groups_
    std::size_t prefix_size = 0;
    bool of_topic = false;
    std::deque<Event> events;  // all of the history after `since` that concern it
    Revision since;
    // events[i] is the (first + i)-th event of the group; some may have to be put before it.
    std::uint64_t first = std::uint64_t{1} << 62;
    std::size_t watches = 0;
    std::vector<std::shared_ptr<Waker>> waiting;  // for the next event
  };

  // The topics outlive it.
  explicit WatchGroups(const Topics& topics) : topics_(topics) {}

  // The group of a prefix, or of a topic in it, for one more watch, with the events of `history` that
  // come after `from`. `now` is the latest revision. [cost] O(events after `from`).
  Group& Join(std::string_view prefix, std::string_view topic, Revision from, Revision now,
              const std::deque<Event>& history);
  void Leave(Group& group, const std::shared_ptr<Waker>& waker);

  // `waker` is to be called at the group's next event.
  static void Wait(Group& group, const std::shared_ptr<Waker>& waker);
  // Files an event; who waited for it is appended to `wake`.
  void Append(const Event& event, std::vector<std::shared_ptr<Waker>>& wake);
  // The oldest event leaves the history.
  void Forget(const Event& event);
  // There is no history up to `now`: every watch has fallen behind, and finds out.
  void Break(Revision now, std::vector<std::shared_ptr<Waker>>& wake);

 private:
  using Lengths = std::map<std::size_t, std::size_t>;  // of prefixes, and how many groups have it

  template <typename F>
  void ForEachGroupOf(const Event& event, F f);
  static std::string NameOf(std::string_view prefix, std::string_view topic);

  const Topics& topics_;
  base::StringMap<std::unique_ptr<Group>> groups_;  // by NameOf
  Lengths lengths_;                                 // of groups without a topic
  Lengths topic_lengths_;                           // of those with one
};

}  // namespace dray::store::internal
