// SPDX-License-Identifier: Apache-2.0
#include "store/internal/watch_groups.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dray::store::internal {

void Waker::Wake() {
  const base::MutexLock lock(mutex_);
  if (wake_) wake_();
}

void Waker::Stop() {
  const base::MutexLock lock(mutex_);
  wake_ = nullptr;
}

// No prefix has a zero byte in it.
std::string WatchGroups::NameOf(std::string_view prefix, std::string_view topic) {
  std::string name(prefix);
  if (!topic.empty()) name.append(1, '\0').append(topic);
  return name;
}

WatchGroups::Group& WatchGroups::Join(std::string_view prefix, std::string_view topic,
                                      Revision from, Revision now,
                                      const std::deque<Event>& history) {
  std::string name = NameOf(prefix, topic);
  auto [it, is_new] = groups_.try_emplace(name);
  if (is_new) {
    it->second = std::make_unique<Group>();
    it->second->name = std::move(name);
    it->second->prefix_size = prefix.size();
    it->second->of_topic = !topic.empty();
    it->second->since = now;
    ++(it->second->of_topic ? topic_lengths_ : lengths_)[prefix.size()];
  }
  Group& group = *it->second;
  if (from < group.since) {
    for (auto event = history.rbegin(); event != history.rend() && event->revision() > from;
         ++event) {
      if (event->revision() > group.since) continue;
      if (!std::string_view(event->entry->key).starts_with(prefix)) continue;
      if (group.of_topic) {
        const std::vector<std::string> topics = topics_.Of(*event);
        if (std::ranges::find(topics, topic) == topics.end()) continue;
      }
      group.events.push_front(*event);
      --group.first;
    }
    group.since = from;
  }
  ++group.watches;
  return group;
}

void WatchGroups::Leave(Group& group, const std::shared_ptr<Waker>& waker) {
  if (waker->waiting) std::erase(group.waiting, waker);
  if (--group.watches > 0) return;
  Lengths& lengths = group.of_topic ? topic_lengths_ : lengths_;
  const auto length = lengths.find(group.prefix_size);
  if (--length->second == 0) lengths.erase(length);
  groups_.erase(std::string(group.name));
}

void WatchGroups::Wait(Group& group, const std::shared_ptr<Waker>& waker) {
  if (std::exchange(waker->waiting, true)) return;
  group.waiting.push_back(waker);
}

// [cost] A look-up per distinct length of a watched prefix, not per prefix, and as many for each topic.
template <typename F>
void WatchGroups::ForEachGroupOf(const Event& event, F f) {
  const std::string_view key = event.entry->key;
  const auto visit = [&](const Lengths& lengths, std::string_view topic) {
    for (const auto& [length, count] : lengths) {
      if (length > key.size()) return;
      const auto it = topic.empty() ? groups_.find(key.substr(0, length))
                                    : groups_.find(NameOf(key.substr(0, length), topic));
      if (it != groups_.end()) f(*it->second);
    }
  };
  visit(lengths_, {});
  if (topic_lengths_.empty()) return;
  for (const std::string& topic : topics_.Of(event)) visit(topic_lengths_, topic);
}

void WatchGroups::Append(const Event& event, std::vector<std::shared_ptr<Waker>>& wake) {
  ForEachGroupOf(event, [&](Group& group) {
    group.events.push_back(event);
    for (auto& waker : group.waiting) {
      waker->waiting = false;
      wake.push_back(std::move(waker));
    }
    group.waiting.clear();
  });
}

void WatchGroups::Forget(const Event& event) {
  ForEachGroupOf(event, [&](Group& group) {
    // A group that nobody joined from so early does not have it.
    if (event.revision() <= group.since) return;
    DRAY_CHECK(!group.events.empty() && group.events.front().entry == event.entry);
    group.events.pop_front();
    ++group.first;
  });
}

void WatchGroups::Break(Revision now, std::vector<std::shared_ptr<Waker>>& wake) {
  for (auto& [name, group] : groups_) {
    // Also past those that have had everything: what they have not had was never filed.
    group->first += group->events.size() + 1;
    group->events.clear();
    group->since = now;
    for (auto& waker : group->waiting) {
      waker->waiting = false;
      wake.push_back(std::move(waker));
    }
    group->waiting.clear();
  }
}

}  // namespace dray::store::internal
