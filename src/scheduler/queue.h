// SPDX-License-Identifier: Apache-2.0
//
// The queue of pods that wait for a node: active (to be tried), backing off (tried lately),
// unschedulable (waiting for a change that may help), gated.
//
// Spec: kube-scheduler's scheduling queue; backoff 1 s doubling to 10 s.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/string_map.h"
#include "scheduler/framework.h"
#include "scheduler/pod_info.h"

namespace dray::scheduler {

struct QueueOptions {
  std::chrono::nanoseconds initial_backoff = std::chrono::seconds(1);
  std::chrono::nanoseconds max_backoff = std::chrono::seconds(10);
  // A pod that nothing has woken is tried again after this.
  std::chrono::nanoseconds unschedulable_timeout = std::chrono::minutes(5);
};

enum class QueueName : std::uint8_t { kActive, kBackoff, kUnschedulable, kGated };

struct QueuedPod {
  std::shared_ptr<const PodInfo> pod;
  std::uint32_t attempts = 0;
  std::chrono::nanoseconds added{0};     // first, on the monotonic clock
  std::chrono::nanoseconds retry_at{0};  // end of its backoff
  std::vector<std::string> refused_by;   // plugins, by name
  std::uint64_t arrival = 0;
};

// Highest priority first, then longest waiting. One thread.
class Queue {
 public:
  Queue(const base::Clock& clock, QueueOptions options);

  // A pod that is new or has changed. A changed pod that was refused is tried again only if what
  // changed may help.
  void Put(std::shared_ptr<const PodInfo> pod, bool gated);
  void Remove(std::string_view key);

  // The next pod to try; it is in nobody's hands but the caller's until it comes back through Back
  // or Done.
  std::optional<QueuedPod> Pop();
  // It did not fit, refused by those plugins; with none, or `retry`, it backs off instead of
  // waiting.
  void Back(QueuedPod pod, std::vector<std::string> refused_by, bool retry);
  void Done(std::string_view key);

  // Asks `wakes` about every pod that waits, and moves those for which it says so: at once, or when
  // their backoff is over. Changes while a pod was in a cycle count for it too.
  template <typename Wakes>
  std::size_t WakeIf(Wakes wakes);

  // Moves what is due. When the next one is, on the monotonic clock.
  void Tick();
  std::optional<std::chrono::nanoseconds> NextDue() const;

  std::size_t size(QueueName queue) const;
  const QueuedPod* Find(std::string_view key) const;

 private:
  struct Entry {
    QueuedPod pod;
    QueueName where = QueueName::kActive;
    bool in_cycle = false;
    bool wake_after_cycle = false;
  };
  void Move(Entry& entry, QueueName to);

  const base::Clock& clock_;
  QueueOptions options_;
  base::StringMap<std::unique_ptr<Entry>> entries_;
  struct ActiveOrder {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  std::set<Entry*, ActiveOrder> active_;
  std::multimap<std::chrono::nanoseconds, Entry*> backoff_;
  std::multimap<std::chrono::nanoseconds, Entry*> unschedulable_;  // by timeout
  std::size_t gated_ = 0;
  std::uint64_t arrivals_ = 0;
};

}  // namespace dray::scheduler
