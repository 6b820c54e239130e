// SPDX-License-Identifier: Apache-2.0
#include "store/internal/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "fmt/format.h"

namespace dray::store::internal {

// Holds its place in a group's events; all of it but the waker is guarded by the timeline's lock.
class Timeline::TimelineWatch final : public Watch {
 public:
  TimelineWatch(std::shared_ptr<Timeline> timeline, WatchGroups::Group& group, Revision from,
                std::function<void()> wake)
      : timeline_(std::move(timeline)),
        group_(group),
        progress_(from),
        waker_(std::make_shared<Waker>(std::move(wake))) {
    const auto next = std::ranges::upper_bound(group.events, from, {}, &Event::revision);
    next_ = group.first + static_cast<std::uint64_t>(next - group.events.begin());
  }

  ~TimelineWatch() override {
    {
      const base::MutexLock lock(timeline_->mutex_);
      timeline_->groups_.Leave(group_, waker_);
    }
    waker_->Stop();
  }

  StatusOr<std::vector<Event>> Next(std::size_t max) override {
    const base::MutexLock lock(timeline_->mutex_);
    if (next_ < group_.first) {
      return base::OutOfRange(fmt::format(
          "the watch fell behind: events up to revision {} are gone", timeline_->compacted_.value));
    }
    std::vector<Event> events;
    const std::size_t end = group_.events.size();
    std::size_t i = next_ - group_.first;
    while (i < end &&
           (events.size() < max || events.back().revision() == group_.events[i].revision())) {
      events.push_back(group_.events[i++]);
    }
    next_ = group_.first + i;
    progress_ = i == end ? timeline_->revision_ : events.back().revision();
    if (events.empty()) WatchGroups::Wait(group_, waker_);
    return events;
  }

  Revision progress() const override { return progress_; }

 private:
  const std::shared_ptr<Timeline> timeline_;
  WatchGroups::Group& group_;
  std::uint64_t next_ = 0;
  Revision progress_;
  const std::shared_ptr<Waker> waker_;
};

Status InTheFuture(Revision at, Revision latest) {
  return base::InvalidArgument(
      fmt::format("revision {} is in the future: the latest one is {}", at.value, latest.value));
}

EntryPtr Timeline::Find(std::string_view key) const {
  const base::MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : it->second;
}

Status Timeline::CheckRevision(Revision at) const {
  if (at < compacted_) {
    return base::OutOfRange(
        fmt::format("revision {} has been compacted: the oldest one available is {}", at.value,
                    compacted_.value));
  }
  return at > revision_ ? InTheFuture(at, revision_) : Status();
}

StatusOr<RangeResult> Timeline::Range(std::string_view prefix, const RangeOptions& options) const {
  const base::MutexLock lock(mutex_);
  const Revision at = options.at.value_or(revision_);
  DRAY_RETURN_IF_ERROR(CheckRevision(at));
  RangeResult result{.revision = at};
  if (at == revision_ && !options.topic.empty()) {
    RangeOfTopic(prefix, options, result);
  } else if (at == revision_) {
    RangeNow(prefix, options, result);
  } else {
    RangeThen(prefix, options, result);
  }
  return result;
}

namespace {

// What an event that leaves the history leaves behind.
void Forget(const Event& event, std::vector<Forgotten>& forgotten) {
  if (event.before) forgotten.push_back({event.before->key, event.before->modified});
  if (event.deleted) forgotten.push_back({event.entry->key, event.revision()});
}

// Whether to go on.
bool Take(const EntryPtr& entry, const RangeOptions& options, RangeResult& result) {
  if (options.limit == 0 || result.entries.size() < options.limit) {
    result.entries.push_back(entry);
    return true;
  }
  result.more = true;
  ++result.remaining;
  return options.count;
}

}  // namespace

void Timeline::RangeNow(std::string_view prefix, const RangeOptions& options,
                        RangeResult& result) const {
  for (auto it = entries_.lower_bound(std::max(prefix, options.start));
       it != entries_.end() && std::string_view(it->first).starts_with(prefix); ++it) {
    if (!Take(it->second, options, result)) return;
  }
}

void Timeline::RangeOfTopic(std::string_view prefix, const RangeOptions& options,
                            RangeResult& result) const {
  const Topics::Keys* keys = topics_.KeysOf(options.topic, [this](const std::string& key) {
    mutex_.AssertHeld();
    const auto it = entries_.find(key);
    return it == entries_.end() ? nullptr : it->second;
  });
  if (keys == nullptr) return;
  for (auto key = keys->lower_bound(std::max(prefix, options.start));
       key != keys->end() && std::string_view(*key).starts_with(prefix); ++key) {
    if (!Take(entries_.find(*key)->second, options, result)) return;
  }
}

// The present with everything undone that has happened since. [cost] O(events since), which are few
// for the pages of one list; chains of versions at every key would cost memory all the time.
void Timeline::RangeThen(std::string_view prefix, const RangeOptions& options,
                         RangeResult& result) const {
  std::map<std::string_view, EntryPtr> then;  // null: was not there
  for (auto event = history_.rbegin(); event != history_.rend(); ++event) {
    if (event->revision() <= result.revision) break;
    const std::string_view key = event->entry->key;
    if (key.starts_with(prefix) && key >= options.start) then[key] = event->before;
  }
  const auto take = [&](const EntryPtr& entry) {
    mutex_.AssertHeld();
    if (entry == nullptr) return true;
    if (!options.topic.empty() && topics_.Of(*entry) != options.topic) return true;
    return Take(entry, options, result);
  };
  auto undone = then.begin();
  for (auto it = entries_.lower_bound(std::max(prefix, options.start));
       it != entries_.end() && std::string_view(it->first).starts_with(prefix); ++it) {
    for (; undone != then.end() && undone->first < it->first; ++undone) {
      if (!take(undone->second)) return;
    }
    const bool changed = undone != then.end() && undone->first == it->first;
    if (!take(changed ? undone->second : it->second)) return;
    if (changed) ++undone;
  }
  for (; undone != then.end(); ++undone) {
    if (!take(undone->second)) return;
  }
}

StatusOr<std::unique_ptr<Watch>> Timeline::WatchFrom(std::string_view prefix, Revision from,
                                                     std::function<void()> wake,
                                                     std::string_view topic) {
  const base::MutexLock lock(mutex_);
  DRAY_RETURN_IF_ERROR(CheckRevision(from));
  return std::make_unique<TimelineWatch>(shared_from_this(),
                                         groups_.Join(prefix, topic, from, revision_, history_),
                                         from, std::move(wake));
}

void Timeline::SetTopics(std::string prefix, TopicFn topic_of) {
  const base::MutexLock lock(mutex_);
  if (!topics_.Add(prefix, std::move(topic_of))) return;
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && std::string_view(it->first).starts_with(prefix); ++it) {
    topics_.File(nullptr, it->second.get());
  }
}

void Timeline::Attach(const Entry& version, std::shared_ptr<const void> attachment) {
  const base::MutexLock lock(mutex_);
  const auto it = entries_.find(version.key);
  if (it == entries_.end() || it->second->modified != version.modified) return;
  if (it->second->attachment) return;
  Entry with = *it->second;
  with.attachment = std::move(attachment);
  it->second = std::make_shared<const Entry>(std::move(with));
  topics_.Attached(*it->second);
}

Revision Timeline::revision() const {
  const base::MutexLock lock(mutex_);
  return revision_;
}

Revision Timeline::oldest_revision() const {
  const base::MutexLock lock(mutex_);
  return compacted_;
}

void Timeline::WaitFor(Revision at, ReadyFn ready) {
  {
    const base::MutexLock lock(mutex_);
    if (revision_ < at) {
      awaited_.emplace(at, std::move(ready));
      return;
    }
  }
  ready({});
}

void Timeline::Close(const Status& why) {
  std::multimap<Revision, ReadyFn> awaited;
  {
    const base::MutexLock lock(mutex_);
    awaited.swap(awaited_);
  }
  for (const auto& [at, ready] : awaited) ready(why);
}

void Timeline::Apply(const Event& event) {
  topics_.File(event.before.get(), event.deleted ? nullptr : event.entry.get());
  if (event.deleted) {
    entries_.erase(event.entry->key);
  } else {
    entries_[event.entry->key] = event.entry;
  }
  history_.push_back(event);
  history_bytes_ += event.entry->value->size();
  revision_ = std::max(revision_, event.revision());
}

// Whole revisions leave: a watch that starts at compacted_ must see all of what came after.
void Timeline::Trim(std::vector<Forgotten>& forgotten) {
  while (!history_.empty() &&
         (history_.size() > options_.events || history_bytes_ > options_.bytes ||
          history_.front().revision() == compacted_)) {
    const Event event = std::move(history_.front());
    history_.pop_front();
    history_bytes_ -= event.entry->value->size();
    compacted_ = event.revision();
    groups_.Forget(event);
    Forget(event, forgotten);
  }
}

std::vector<Forgotten> Timeline::Publish(const std::vector<Event>& events) {
  std::vector<Forgotten> forgotten;
  std::vector<std::shared_ptr<Waker>> wake;
  std::vector<ReadyFn> reached;
  {
    const base::MutexLock lock(mutex_);
    for (const Event& event : events) {
      Apply(event);
      groups_.Append(event, wake);
    }
    Trim(forgotten);
    reached = TakeReached();
  }
  for (const auto& waker : wake) waker->Wake();
  for (const ReadyFn& ready : reached) ready({});
  return forgotten;
}

std::vector<ReadyFn> Timeline::TakeReached() {
  std::vector<ReadyFn> reached;
  const auto end = awaited_.upper_bound(revision_);
  for (auto it = awaited_.begin(); it != end; ++it) reached.push_back(std::move(it->second));
  awaited_.erase(awaited_.begin(), end);
  return reached;
}

void Timeline::Advance(Revision revision) {
  std::vector<ReadyFn> reached;
  {
    const base::MutexLock lock(mutex_);
    revision_ = std::max(revision_, revision);
    reached = TakeReached();
  }
  for (const ReadyFn& ready : reached) ready({});
}

void Timeline::Replace(std::vector<EntryPtr> entries, Revision revision) {
  std::vector<std::shared_ptr<Waker>> wake;
  std::vector<ReadyFn> reached;
  {
    const base::MutexLock lock(mutex_);
    Entries now;
    for (EntryPtr& entry : entries) {
      const auto old = entries_.find(entry->key);
      const bool known = old != entries_.end();
      if (known && old->second->modified == entry->modified) entry = old->second;
      topics_.File(known ? old->second.get() : nullptr, entry.get());
      std::string key = entry->key;
      now.emplace_hint(now.end(), std::move(key), std::move(entry));
    }
    for (const auto& [key, entry] : entries_) {
      if (!now.contains(key)) topics_.File(entry.get(), nullptr);
    }
    entries_.swap(now);
    history_.clear();
    history_bytes_ = 0;
    revision_ = compacted_ = revision;
    groups_.Break(revision, wake);
    reached = TakeReached();
  }
  for (const auto& waker : wake) waker->Wake();
  for (const ReadyFn& ready : reached) ready({});
}

void Timeline::BeginRestore(Revision compacted) {
  const base::MutexLock lock(mutex_);
  revision_ = compacted_ = compacted;
}

void Timeline::Restore(std::string key, std::shared_ptr<const std::string> value, Revision created,
                       Revision modified, std::vector<Forgotten>& forgotten) {
  const base::MutexLock lock(mutex_);
  const auto it = entries_.find(key);
  const EntryPtr before = it == entries_.end() ? nullptr : it->second;
  const bool deleted = value == nullptr;
  if (deleted) {
    // Without a version before it, the deletion is what a compaction has left.
    value = before ? before->value : std::make_shared<const std::string>();
  }
  Event event{.entry = std::make_shared<const Entry>(Entry{.key = std::move(key),
                                                           .value = std::move(value),
                                                           .created = created,
                                                           .modified = modified}),
              .before = before,
              .deleted = deleted};
  Apply(event);
  if (modified > compacted_) return Trim(forgotten);
  Forget(event, forgotten);
  history_bytes_ -= event.entry->value->size();
  history_.pop_back();
}

}  // namespace dray::store::internal
