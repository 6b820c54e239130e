// SPDX-License-Identifier: Apache-2.0
//
// WorkQueue: which objects a controller has to look at, now and later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/clock.h"
#include "base/string_map.h"
#include "controllers/controller.h"
#include "controllers/object_key.h"

namespace dray::controllers {

// Namespaces take turns, so that nobody waits for the thousand objects of somebody else; of one namespace
// in order of arrival. An object that is added twice before it is taken comes once. One thread.
class WorkQueue {
 public:
  // The clock outlives it.
  explicit WorkQueue(const base::Clock& clock) : clock_(clock) {}

  void Add(const ObjectKey& key);
  // Not before `delay` has gone by, or a hundred years. Of several times the earliest counts.
  void AddAfter(const ObjectKey& key, std::chrono::nanoseconds delay);
  // Again after a while that doubles with each retry that fails: 5 ms to 1000 s, as Kubernetes's
  // controllers. What fails before its retry is due, because a change has brought it here, is tried again
  // then and waits no longer for it.
  void Retry(const ObjectKey& key);
  // It went well: the next failure is the first one again.
  void Forget(const ObjectKey& key) { failures_.erase(key); }

  // How many are to be looked at now.
  std::size_t Ready() {
    Wake();
    return queued_.size();
  }
  // Nothing: there is nothing to do now.
  std::optional<ObjectKey> Pop();
  // How long the object that Pop gave last was ready to be looked at.
  std::chrono::nanoseconds waited() const { return waited_; }
  QueueStatistics statistics() const {
    return {.depth = queued_.size(), .adds = adds_, .retries = retries_};
  }
  // On the monotonic clock. Nothing: not even later.
  std::optional<std::chrono::nanoseconds> NextDue() const;

 private:
  struct Moment {
    std::chrono::nanoseconds due;
    std::uint64_t number;  // of equal times the first that came
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };
  void Wake();

  const base::Clock& clock_;
  // By namespace, each with since when; none is empty.
  base::StringMap<std::deque<std::pair<ObjectKey, std::chrono::nanoseconds>>> ready_;
  std::deque<std::string> turns_;          // the namespaces of ready_, whose turn it is first
  absl::flat_hash_set<ObjectKey> queued_;  // what is in ready_
  absl::btree_map<Moment, ObjectKey> later_;
  absl::flat_hash_map<ObjectKey, Moment> moments_;  // where a key is in later_
  struct Failures {
    int retries = 0;
    std::chrono::nanoseconds retry{0};  // when the last of them is due
  };
  absl::flat_hash_map<ObjectKey, Failures> failures_;
  std::uint64_t number_ = 0;
  std::chrono::nanoseconds waited_{0};
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
};

}  // namespace dray::controllers
