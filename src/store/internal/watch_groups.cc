// SPDX-License-Identifier: Apache-2.0
#include "store/internal/watch_groups.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace dray::store::internal {

void Waker::Wake() {
  const std::lock_guard lock(mutex_);
  if (wake_) wake_();
}

void Waker::Stop() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

WatchGroups::Group& WatchGroups::Join(std::string_view prefix, const std::deque<Event>& history) {
  auto [it, is_new] = groups_.try_emplace(std::string(prefix));
  if (is_new) {
    it->second = std::make_unique<Group>();
    Group& group = *it->second;
    group.prefix = prefix;
    std::ranges::copy_if(history, std::back_inserter(group.events), [&](const Event& event) {
      return std::string_view(event.entry->key).starts_with(prefix);
    });
    ++lengths_[prefix.size()];
  }
  ++it->second->watches;
  return *it->second;
}

void WatchGroups::Leave(Group& group, const std::shared_ptr<Waker>& waker) {
  if (waker->waiting) std::erase(group.waiting, waker);
  if (--group.watches > 0) return;
  const auto length = lengths_.find(group.prefix.size());
  if (--length->second == 0) lengths_.erase(length);
  groups_.erase(std::string(group.prefix));
}

void WatchGroups::Wait(Group& group, const std::shared_ptr<Waker>& waker) {
  if (std::exchange(waker->waiting, true)) return;
  group.waiting.push_back(waker);
}

// [cost] A look-up per distinct length of a watched prefix, not per prefix.
template <typename F>
void WatchGroups::ForEachGroupOf(std::string_view key, F f) {
  for (const auto& [length, count] : lengths_) {
    if (length > key.size()) return;
    if (const auto it = groups_.find(key.substr(0, length)); it != groups_.end()) f(*it->second);
  }
}

void WatchGroups::Append(const Event& event, std::vector<std::shared_ptr<Waker>>& wake) {
  ForEachGroupOf(event.entry->key, [&](Group& group) {
    group.events.push_back(event);
    for (auto& waker : group.waiting) {
      waker->waiting = false;
      wake.push_back(std::move(waker));
    }
    group.waiting.clear();
  });
}

void WatchGroups::Forget(const Event& event) {
  ForEachGroupOf(event.entry->key, [&](Group& group) {
    DRAY_CHECK(!group.events.empty() && group.events.front().entry == event.entry);
    group.events.pop_front();
    ++group.first;
  });
}

}  // namespace dray::store::internal
