// SPDX-License-Identifier: Apache-2.0
//
// The queue of pods that wait for a node: active (to be tried), backing off (tried lately),
// unschedulable (waiting for a change that may help), gated.
//
// Spec: kube-scheduler's scheduling queue; backoff 1 s doubling to 10 s.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/clock.h"
#include "base/string_map.h"
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
  std::vector<std::string> refused_by;   // plugins, by name, in its last attempt
  std::uint64_t arrival = 0;             // among equals the lower one is first; new in each attempt
  // Equal for pods that were refused by the same plugins and that the same changes help, those of
  // their own objects aside. 0: like no other.
  std::uint64_t alike = 0;
};

// Whether a pod that was refused may be taken now that it is another: its spec, its labels or the
// names of its claims. What the scheduler itself writes into its status (conditions, a nomination,
// the claim for its extended resources) does not help it, or it would wake itself.
bool ChangeMayHelp(const api::Pod& pod, const api::Pod& old);

// Highest priority first; of one priority namespaces take turns, so that nobody waits for the
// thousand pods of somebody else (kube-scheduler goes by time alone); of one namespace longest waiting
// since the last attempt, so that a pod that does not fit does not keep its equals from being tried.
// One thread.
class Queue {
 public:
  // The clock outlives it.
  Queue(const base::Clock& clock, QueueOptions options);

  // A pod that is new or has changed; one with another uid is new. A changed pod that was refused
  // is tried again only if what changed may help: its spec, its labels or the names of its claims.
  // One that is no longer gated is tried.
  void Put(std::shared_ptr<const PodInfo> pod, bool gated);
  void Remove(std::string_view key);

  // The next pod to try; it is in nobody's hands but the caller's until it comes back through Back
  // or Done. Looks only at the active ones: see Tick.
  std::optional<QueuedPod> Pop();
  // A certain pod, wherever it waits: as Pop. Nothing for one that is gated, in a cycle or not known.
  // Of a group all are tried when one of them is.
  std::optional<QueuedPod> Take(std::string_view key);
  // It did not fit, refused by those plugins; with none, or `retry`, it backs off instead of
  // waiting. No effect on a pod that was removed, or replaced by another of the same name,
  // meanwhile.
  void Back(QueuedPod pod, std::vector<std::string> refused_by, bool retry);
  // It needs no node any more. No effect on a pod that is not in the caller's hands.
  void Done(std::string_view key);

  // Asks `wakes` about pods that were refused and wait, once for all that are alike, and moves
  // those for which it says so: at once, or when their backoff is over. How many. Pods of which an
  // own object has changed are `concerned`: each is asked about, and is like no other from then on.
  // Of a pod in a cycle it is not known yet what is in its way, so it is not asked: if it is
  // refused, it backs off instead of waiting.
  std::size_t WakeIf(absl::FunctionRef<bool(const QueuedPod&)> wakes,
                     std::span<const std::string> concerned = {});
  // Those that are gated, longest waiting first: whether they still are is for Put to be told.
  std::vector<std::shared_ptr<const PodInfo>> Gated() const;

  // Those that were refused and wait for a change.
  void ForEachUnschedulable(absl::FunctionRef<void(const QueuedPod&)> visit) const;

  // Moves what is due. When the next one is, on the monotonic clock.
  void Tick();
  std::optional<std::chrono::nanoseconds> NextDue() const;

  // Pods in a cycle are in no queue.
  std::size_t size(QueueName queue) const;
  const QueuedPod* Find(std::string_view key) const;
  // Where it waits; nothing for a pod in a cycle, or not known.
  std::optional<QueueName> Where(std::string_view key) const;

 private:
  struct Entry {
    QueuedPod pod;
    // Unset: in a cycle.
    std::optional<QueueName> where;
    std::chrono::nanoseconds due{0};  // kBackoff, kUnschedulable: its key there
    bool gated = false;
    std::uint64_t wakes_seen = 0;  // in a cycle: wakes_ when it began
    bool changed_in_cycle = false;
  };
  // No two entries are equal: arrivals are not shared.
  struct DueOrder {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct ArrivalOrder {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  using InOrder = std::set<Entry*, ArrivalOrder>;

  // The pods to be tried: by priority, in it by namespace.
  class Active {
   public:
    void Insert(Entry& entry);
    void Erase(Entry& entry);
    // The one whose turn it is, which leaves; its namespace's next turn comes after all others'.
    // Null: there is none.
    Entry* Pop();
    std::size_t size() const { return size_; }

   private:
    using Turns = std::list<std::string>;  // namespaces, whose turn it is first
    struct Space {
      InOrder pods;  // never empty
      Turns::iterator turn;
    };
    struct Level {
      base::StringMap<Space> spaces;
      Turns turns;
    };
    std::map<std::int32_t, Level, std::greater<>> levels_;  // none is empty
    std::size_t size_ = 0;
  };

  QueuedPod BeginCycle(Entry& entry);
  void Wait(Entry& entry);
  // Between Leave and Enter the entry's fields may change.
  void Leave(Entry& entry);
  void Enter(Entry& entry, QueueName queue);
  // To active, or to backoff while that lasts.
  void EnterWhenRested(Entry& entry);
  std::chrono::nanoseconds BackoffAfter(std::uint32_t attempts) const;

  const base::Clock& clock_;
  const QueueOptions options_;
  base::StringMap<std::unique_ptr<Entry>> entries_;
  Active active_;
  std::set<Entry*, DueOrder> backoff_;
  std::set<Entry*, DueOrder> unschedulable_;
  std::map<std::uint64_t, InOrder> alike_;  // the unschedulable ones
  InOrder gated_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t wakes_ = 0;  // calls of WakeIf
};

}  // namespace dray::scheduler
