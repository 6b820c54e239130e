// SPDX-License-Identifier: Apache-2.0
#include "registry/local_watch.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace dray::registry {
namespace {

// The same as who waits for anything at all: one list of events for both.
constexpr std::string_view kEverything;
constexpr std::size_t kBatch = 512;

class LocalWatch final : public api::ObjectWatch {
 public:
  LocalWatch(const Objects& objects, std::span<const api::KindInfo* const> kinds,
             std::string_view namespace_)
      : objects_(objects) {
    for (const api::KindInfo* kind : kinds) {
      if (!hubs_.insert(kind->hub).second) continue;
      watched_.push_back({&api::HubKind(*kind->hub),
                          PrefixOf(*kind, kind->namespaced ? namespace_ : std::string_view())});
    }
    Catch();
  }

  std::optional<api::Change> Next() override {
    while (changes_.empty()) {
      // One watch of everything, so that changes of several kinds come in the order they happened.
      auto events = watch_->Next(kBatch);
      if (!events.ok()) {
        Catch();
        if (changes_.empty()) return std::nullopt;
        break;
      }
      if (events->empty()) return std::nullopt;
      for (const store::Event& event : *events) Take(event);
    }
    api::Change change = std::move(changes_.front());
    changes_.pop_front();
    return change;
  }

  Status Stale() const override {
    return unreadable_.empty() ? Status() : unreadable_.begin()->second;
  }

  std::vector<api::UnreadableObject> Unreadable() const override {
    std::vector<api::UnreadableObject> all;
    for (const auto& [key, why] : unreadable_) {
      const Watched& watched = *FindWatched(key);
      std::string_view name = std::string_view(key).substr(PrefixOf(*watched.kind).size());
      const std::size_t slash = watched.kind->namespaced ? name.find('/') : name.npos;
      std::string_view space;
      if (slash != name.npos) {
        space = name.substr(0, slash);
        name.remove_prefix(slash + 1);
      }
      all.push_back({watched.kind, std::string(space), std::string(name)});
    }
    return all;
  }

 private:
  // By key.
  using Known = absl::flat_hash_map<std::string, StoredObjectPtr>;
  struct Watched {
    const api::KindInfo* kind;
    std::string prefix;  // of its keys
  };

  // Null: nobody wants to know of it.
  const Watched* FindWatched(std::string_view key) const {
    const auto found = std::ranges::find_if(
        watched_, [&](const Watched& watched) { return key.starts_with(watched.prefix); });
    return found == watched_.end() ? nullptr : &*found;
  }

  void Take(const store::Event& event) {
    const std::string& key = event.entry->key;
    if (FindWatched(key) == nullptr) return;
    unreadable_.erase(key);
    auto stored = objects_.Read(*event.entry);
    if (!stored.ok() && !event.deleted) {
      unreadable_[key] = stored.status();
      return;
    }
    if (!stored.ok()) {
      // Gone is gone, whatever it was.
      const auto known = known_.find(key);
      if (known == known_.end()) return;
      changes_.push_back({api::Change::Kind::kDeleted, known->second->object()});
      known_.erase(known);
      return;
    }
    if (!hubs_.contains((*stored)->object().kind().hub)) return;
    if (event.deleted) {
      known_.erase(event.entry->key);
      changes_.push_back({api::Change::Kind::kDeleted, (*stored)->object()});
      return;
    }
    const auto [it, added] = known_.insert_or_assign(event.entry->key, *stored);
    changes_.push_back(
        {added ? api::Change::Kind::kAdded : api::Change::Kind::kUpdated, it->second->object()});
  }

  // All that is there now against what is known: at first nothing is.
  void Catch() {
    std::map<std::string, StoredObjectPtr> present;  // in order, for all who look on
    unreadable_.clear();
    std::optional<store::Revision> at;
    for (const Watched& watched : watched_) {
      auto range = objects_.store().Range(watched.prefix, {.at = at});
      if (!range.ok()) {
        // The moment has left the history in between: begin again.
        return Catch();
      }
      at = range->revision;
      for (const store::EntryPtr& entry : range->entries) {
        if (auto stored = objects_.Read(*entry); stored.ok()) {
          present[entry->key] = *stored;
        } else {
          unreadable_[entry->key] = stored.status();
          // As it was last known, not as if it had gone.
          const auto known = known_.find(entry->key);
          if (known != known_.end()) present[entry->key] = known->second;
        }
      }
    }
    const store::Revision from = at.value_or(objects_.store().revision());
    auto watch = objects_.store().WatchFrom(kEverything, from, [] {});
    if (!watch.ok()) return Catch();
    watch_ = *std::move(watch);
    for (const auto& [key, stored] : known_) {
      if (!present.contains(key)) {
        changes_.push_back({api::Change::Kind::kDeleted, stored->object()});
      }
    }
    for (const auto& [key, stored] : present) {
      const auto it = known_.find(key);
      if (it == known_.end()) {
        changes_.push_back({api::Change::Kind::kAdded, stored->object()});
      } else if (it->second->object().metadata().resource_version !=
                 stored->object().metadata().resource_version) {
        changes_.push_back({api::Change::Kind::kUpdated, stored->object()});
      }
    }
    known_ = Known(present.begin(), present.end());
  }

  const Objects& objects_;
  absl::flat_hash_set<const api::TypeInfo*> hubs_;  // what is watched
  std::vector<Watched> watched_;
  std::unique_ptr<store::Watch> watch_;
  Known known_;
  std::map<std::string, Status> unreadable_;  // what is there and cannot be told, by key
  std::deque<api::Change> changes_;
};

}  // namespace

std::unique_ptr<api::ObjectWatch> MakeLocalWatch(const Objects& objects,
                                                 std::span<const api::KindInfo* const> kinds,
                                                 std::string_view namespace_) {
  return std::make_unique<LocalWatch>(objects, kinds, namespace_);
}

}  // namespace dray::registry
