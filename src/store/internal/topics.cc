// SPDX-License-Identifier: Apache-2.0
#include "store/internal/topics.h"

#include <algorithm>

namespace dray::store::internal {

bool Topics::Add(std::string_view prefix, TopicFn topic_of) {
  if (std::ranges::find(fns_, prefix, &std::pair<std::string, TopicFn>::first) != fns_.end()) {
    return false;
  }
  fns_.emplace_back(prefix, std::move(topic_of));
  return true;
}

const TopicFn* Topics::FnFor(std::string_view key) const {
  for (const auto& [prefix, fn] : fns_) {
    if (key.starts_with(prefix)) return &fn;
  }
  return nullptr;
}

std::string Topics::Of(const Entry& entry) const {
  const TopicFn* fn = FnFor(entry.key);
  return fn == nullptr ? std::string() : (*fn)(entry);
}

std::vector<std::string> Topics::Of(const Event& event) const {
  std::vector<std::string> topics;
  if (FnFor(event.entry->key) == nullptr) return topics;
  for (const EntryPtr& entry : {event.entry, event.before}) {
    if (entry == nullptr) continue;
    std::string topic = Of(*entry);
    if (topic.empty() || std::ranges::find(topics, topic) != topics.end()) continue;
    topics.push_back(std::move(topic));
  }
  return topics;
}

void Topics::Insert(std::string topic, const std::string& key) {
  if (!topic.empty()) keys_[std::move(topic)].insert(key);
}

void Topics::File(const Entry* before, const Entry* after) {
  if (before == nullptr && after == nullptr) return;
  const std::string& key = (after != nullptr ? after : before)->key;
  const TopicFn* fn = FnFor(key);
  if (fn == nullptr) return;
  const bool filed = before != nullptr && unread_.erase(key) == 0;
  const bool readable = after != nullptr && after->attachment != nullptr;
  if (after != nullptr && !readable) unread_.insert(key);
  std::string old = filed ? (*fn)(*before) : std::string();
  std::string now = readable ? (*fn)(*after) : std::string();
  if (old == now) return;
  if (const auto it = keys_.find(old); it != keys_.end()) {
    it->second.erase(key);
    if (it->second.empty()) keys_.erase(it);
  }
  Insert(std::move(now), key);
}

void Topics::Attached(const Entry& entry) {
  if (unread_.erase(entry.key) > 0) Insert(Of(entry), entry.key);
}

const Topics::Keys* Topics::KeysOf(std::string_view topic, const FindFn& find) {
  for (const std::string& key : unread_) {
    if (const EntryPtr entry = find(key)) Insert(Of(*entry), key);
  }
  unread_.clear();
  const auto it = keys_.find(topic);
  return it == keys_.end() ? nullptr : &it->second;
}

}  // namespace dray::store::internal
