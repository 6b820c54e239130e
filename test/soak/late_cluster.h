// SPDX-License-Identifier: Apache-2.0
//
// A cluster whose watches tell of some kinds late, as on connections of their own that are slow, or
// that break, so that what lies between is never told; of everything else they tell at once.
#pragma once

#include <charconv>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/forwarding_cluster.h"

namespace dray::soak {

// One thread.
class LateCluster final : public api::ForwardingCluster {
 public:
  explicit LateCluster(api::Cluster& cluster) : ForwardingCluster(cluster) {}

  // Of objects of these kinds that are written from now on, nothing is told for the time being.
  // `revision`: of the last write that is.
  void HoldBackAfter(std::uint64_t revision, std::set<const api::TypeInfo*> kinds) {
    told_until_ = revision;
    kinds_ = std::move(kinds);
  }
  void TellEverything() { told_until_ = std::numeric_limits<std::uint64_t>::max(); }
  // As a list that comes after a gap does: how each object is now, and that it is gone if it had
  // been told. What has happened until somebody listens again is missed, too.
  void TellWhatIsLeft() {
    ++gaps_;
    missed_ = kinds_;
    TellEverything();
  }

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<LateWatch>(inner().Watch(kinds, selection), *this);
  }

 private:
  class LateWatch final : public api::ObjectWatch {
   public:
    LateWatch(std::unique_ptr<api::ObjectWatch> watch, const LateCluster& cluster)
        : watch_(std::move(watch)), cluster_(cluster) {}
    std::optional<api::Change> Next() override {
      if (std::exchange(gaps_, cluster_.gaps_) != cluster_.gaps_) GoOnFromAList();
      if (!held_.empty() && RevisionOf(held_.front()) <= cluster_.told_until_) {
        api::Change change = std::move(held_.front());
        held_.pop_front();
        return Told(std::move(change));
      }
      while (auto change = watch_->Next()) {
        const bool now = held_.empty() && RevisionOf(*change) <= cluster_.told_until_;
        if (now || !IsOf(cluster_.kinds_, *change)) return Told(*std::move(change));
        held_.push_back(*std::move(change));
      }
      return std::nullopt;
    }

   private:
    using Kind = api::Change::Kind;
    using Key = std::pair<const api::TypeInfo*, std::string>;

    static std::uint64_t RevisionOf(const api::Change& change) {
      const std::string& text = change.object.metadata().resource_version;
      std::uint64_t revision = 0;
      std::from_chars(text.data(), text.data() + text.size(), revision);
      return revision;
    }
    static Key KeyOf(const api::Change& change) {
      const api::ObjectMeta& metadata = change.object.metadata();
      return {change.object.kind().hub, metadata.namespace_ + "/" + metadata.name};
    }
    static bool IsOf(const std::set<const api::TypeInfo*>& kinds, const api::Change& change) {
      return kinds.contains(change.object.kind().hub);
    }

    api::Change Told(api::Change change) {
      if (change.kind == Kind::kDeleted) {
        told_.erase(KeyOf(change));
      } else {
        told_.insert_or_assign(KeyOf(change), change.object);
      }
      return change;
    }

    void GoOnFromAList() {
      while (auto change = watch_->Next()) held_.push_back(*std::move(change));
      std::deque<api::Change> others;
      std::vector<Key> order;  // as they were first missed: not by addresses
      std::map<Key, api::Change> last;
      for (api::Change& change : std::exchange(held_, {})) {
        if (!IsOf(cluster_.missed_, change)) {
          others.push_back(std::move(change));
          continue;
        }
        const Key key = KeyOf(change);
        if (!last.contains(key)) order.push_back(key);
        last.insert_or_assign(key, std::move(change));
      }
      for (const Key& key : order) {
        const api::Change& change = last.at(key);
        const auto told = told_.find(key);
        const bool known = told != told_.end();
        const bool gone = change.kind == Kind::kDeleted;
        const bool another =
            known && !gone && told->second.metadata().uid != change.object.metadata().uid;
        if (known && (gone || another)) held_.push_back({Kind::kDeleted, told->second});
        if (gone) continue;
        held_.push_back({known && !another ? Kind::kUpdated : Kind::kAdded, change.object});
      }
      for (api::Change& change : others) held_.push_back(std::move(change));
    }

    const std::unique_ptr<api::ObjectWatch> watch_;
    const LateCluster& cluster_;
    std::uint64_t gaps_ = 0;
    std::deque<api::Change> held_;     // in order
    std::map<Key, api::Object> told_;  // as it was last told
  };

  std::uint64_t told_until_ = std::numeric_limits<std::uint64_t>::max();
  std::set<const api::TypeInfo*> kinds_;   // that are told late
  std::set<const api::TypeInfo*> missed_;  // of which the last gap was
  std::uint64_t gaps_ = 0;
};

}  // namespace dray::soak
