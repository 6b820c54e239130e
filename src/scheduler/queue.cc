// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace dray::scheduler {

bool ChangeMayHelp(const api::Pod& pod, const api::Pod& old) {
  return pod.metadata.labels != old.metadata.labels ||
         pod.status.resource_claim_statuses != old.status.resource_claim_statuses ||
         pod.spec != old.spec;
}

bool Queue::DueOrder::operator()(const Entry* a, const Entry* b) const {
  return std::tuple(a->due, a->pod.arrival) < std::tuple(b->due, b->pod.arrival);
}
bool Queue::ArrivalOrder::operator()(const Entry* a, const Entry* b) const {
  return a->pod.arrival < b->pod.arrival;
}

void Queue::Active::Insert(Entry& entry) {
  Level& level = levels_[entry.pod.pod->priority];
  const std::string& namespace_ = entry.pod.pod->pod->metadata.namespace_;
  Space& space = level.spaces[namespace_];
  if (space.pods.empty()) space.turn = level.turns.insert(level.turns.end(), namespace_);
  space.pods.insert(&entry);
  ++size_;
}

void Queue::Active::Erase(Entry& entry) {
  const auto level = levels_.find(entry.pod.pod->priority);
  const auto space = level->second.spaces.find(entry.pod.pod->pod->metadata.namespace_);
  space->second.pods.erase(&entry);
  --size_;
  if (!space->second.pods.empty()) return;
  level->second.turns.erase(space->second.turn);
  level->second.spaces.erase(space);
  if (level->second.spaces.empty()) levels_.erase(level);
}

Queue::Entry* Queue::Active::Pop() {
  if (levels_.empty()) return nullptr;
  Level& level = levels_.begin()->second;
  Entry* const entry = *level.spaces.find(level.turns.front())->second.pods.begin();
  level.turns.splice(level.turns.end(), level.turns, level.turns.begin());
  Erase(*entry);
  return entry;
}

Queue::Queue(const base::Clock& clock, QueueOptions options) : clock_(clock), options_(options) {}

void Queue::Leave(Entry& entry) {
  if (!entry.where) return;
  switch (*entry.where) {
    case QueueName::kActive:
      active_.Erase(entry);
      break;
    case QueueName::kBackoff:
      backoff_.erase(&entry);
      break;
    case QueueName::kUnschedulable: {
      unschedulable_.erase(&entry);
      const auto group = alike_.find(entry.pod.alike);
      group->second.erase(&entry);
      if (group->second.empty()) alike_.erase(group);
      break;
    }
    case QueueName::kGated:
      gated_.erase(&entry);
      break;
  }
  entry.where.reset();
}

void Queue::Enter(Entry& entry, QueueName queue) {
  DRAY_CHECK(!entry.where, "a pod in two queues");
  entry.where = queue;
  switch (queue) {
    case QueueName::kActive:
      active_.Insert(entry);
      break;
    case QueueName::kBackoff:
      entry.due = entry.pod.retry_at;
      backoff_.insert(&entry);
      break;
    case QueueName::kUnschedulable:
      entry.due = clock_.Monotonic() + options_.unschedulable_timeout;
      Wait(entry);
      break;
    case QueueName::kGated:
      gated_.insert(&entry);
      break;
  }
}

void Queue::Wait(Entry& entry) {
  entry.where = QueueName::kUnschedulable;
  unschedulable_.insert(&entry);
  alike_[entry.pod.alike].insert(&entry);
}

void Queue::EnterWhenRested(Entry& entry) {
  Enter(entry, entry.pod.retry_at > clock_.Monotonic() ? QueueName::kBackoff : QueueName::kActive);
}

std::chrono::nanoseconds Queue::BackoffAfter(std::uint32_t attempts) const {
  std::chrono::nanoseconds backoff = options_.initial_backoff;
  for (std::uint32_t i = 1; i < attempts && backoff < options_.max_backoff; ++i) backoff *= 2;
  return std::min(backoff, options_.max_backoff);
}

void Queue::Put(std::shared_ptr<const PodInfo> pod, bool gated) {
  std::unique_ptr<Entry>& slot = entries_[pod->key];
  if (slot != nullptr && slot->pod.pod->pod->metadata.uid != pod->pod->metadata.uid) {
    Leave(*slot);
    slot.reset();
  }
  if (slot == nullptr) {
    slot = std::make_unique<Entry>();
    slot->pod = {.pod = std::move(pod), .added = clock_.Monotonic(), .arrival = ++arrivals_};
    slot->gated = gated;
    Enter(*slot, gated ? QueueName::kGated : QueueName::kActive);
    return;
  }
  Entry& entry = *slot;
  const std::optional<QueueName> was = entry.where;
  // Comparing pods is much work for those of whom it does not matter.
  const bool may_help = (!was || *was == QueueName::kUnschedulable) &&
                        pod->pod != entry.pod.pod->pod &&
                        ChangeMayHelp(*pod->pod, *entry.pod.pod->pod);
  Leave(entry);
  entry.pod.pod = std::move(pod);
  entry.gated = gated;
  if (!was) {
    entry.changed_in_cycle = entry.changed_in_cycle || may_help;
  } else if (gated) {
    Enter(entry, QueueName::kGated);
  } else if (*was == QueueName::kUnschedulable && !may_help) {
    // Not anew: the time that it has waited counts.
    Wait(entry);
  } else {
    EnterWhenRested(entry);
  }
}

void Queue::Remove(std::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;
  Leave(*it->second);
  entries_.erase(it);
}

std::optional<QueuedPod> Queue::Pop() {
  Entry* const next = active_.Pop();
  if (next == nullptr) return std::nullopt;
  next->where.reset();
  return BeginCycle(*next);
}

std::optional<QueuedPod> Queue::Take(std::string_view key) {
  const auto it = entries_.find(key);
  if (it == entries_.end() || !it->second->where || it->second->gated) return std::nullopt;
  Leave(*it->second);
  return BeginCycle(*it->second);
}

QueuedPod Queue::BeginCycle(Entry& entry) {
  ++entry.pod.attempts;
  entry.wakes_seen = wakes_;
  entry.changed_in_cycle = false;
  return entry.pod;
}

void Queue::Back(QueuedPod pod, std::vector<std::string> refused_by, bool retry) {
  const auto it = entries_.find(pod.pod->key);
  if (it == entries_.end()) return;
  Entry& entry = *it->second;
  if (entry.where || entry.pod.arrival != pod.arrival) return;
  const bool woken = entry.wakes_seen != wakes_ || entry.changed_in_cycle;
  const bool waits = !refused_by.empty() && !retry && !woken;
  entry.pod.refused_by = std::move(refused_by);
  entry.pod.alike = pod.alike;
  entry.pod.arrival = ++arrivals_;
  entry.pod.retry_at = clock_.Monotonic() + BackoffAfter(entry.pod.attempts);
  if (entry.gated) {
    Enter(entry, QueueName::kGated);
  } else if (waits) {
    Enter(entry, QueueName::kUnschedulable);
  } else {
    EnterWhenRested(entry);
  }
}

void Queue::Done(std::string_view key) {
  const auto it = entries_.find(key);
  if (it != entries_.end() && !it->second->where) entries_.erase(it);
}

std::size_t Queue::WakeIf(absl::FunctionRef<bool(const QueuedPod&)> wakes,
                          std::span<const std::string> concerned) {
  ++wakes_;
  std::vector<Entry*> woken;
  for (const std::string& key : concerned) {
    const auto it = entries_.find(key);
    if (it == entries_.end() || it->second->where != QueueName::kUnschedulable) continue;
    Entry& entry = *it->second;
    Leave(entry);
    entry.pod.alike = 0;
    Wait(entry);
  }
  for (const auto& [alike, group] : alike_) {
    if (alike != 0) {
      if (wakes((*group.begin())->pod)) woken.insert(woken.end(), group.begin(), group.end());
      continue;
    }
    for (Entry* entry : group) {
      if (wakes(entry->pod)) woken.push_back(entry);
    }
  }
  for (Entry* entry : woken) {
    Leave(*entry);
    EnterWhenRested(*entry);
  }
  return woken.size();
}

std::vector<std::shared_ptr<const PodInfo>> Queue::Gated() const {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (const Entry* entry : gated_) pods.push_back(entry->pod.pod);
  return pods;
}

void Queue::Tick() {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  for (auto* queue : {&unschedulable_, &backoff_}) {
    while (!queue->empty() && (*queue->begin())->due <= now) {
      Entry& entry = **queue->begin();
      Leave(entry);
      EnterWhenRested(entry);
    }
  }
}

std::optional<std::chrono::nanoseconds> Queue::NextDue() const {
  std::optional<std::chrono::nanoseconds> next;
  for (const auto* queue : {&unschedulable_, &backoff_}) {
    if (queue->empty()) continue;
    const std::chrono::nanoseconds due = (*queue->begin())->due;
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

void Queue::ForEachUnschedulable(absl::FunctionRef<void(const QueuedPod&)> visit) const {
  for (const Entry* entry : unschedulable_) visit(entry->pod);
}

std::size_t Queue::size(QueueName queue) const {
  switch (queue) {
    case QueueName::kActive:
      return active_.size();
    case QueueName::kBackoff:
      return backoff_.size();
    case QueueName::kUnschedulable:
      return unschedulable_.size();
    case QueueName::kGated:
      return gated_.size();
  }
  return 0;
}

const QueuedPod* Queue::Find(std::string_view key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second->pod;
}

std::optional<QueueName> Queue::Where(std::string_view key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? std::nullopt : it->second->where;
}

}  // namespace dray::scheduler
