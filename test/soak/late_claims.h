// SPDX-License-Identifier: Apache-2.0
//
// A cluster whose watches tell of claims late, as on a connection of their own that is slow, or that
// breaks, so that what lies between is never told; of everything else they tell at once.
#pragma once

#include <charconv>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/forwarding_cluster.h"
#include "api/resource_claim.h"

namespace dray::soak {

// One thread.
class LateClaims final : public api::ForwardingCluster {
 public:
  explicit LateClaims(api::Cluster& cluster) : ForwardingCluster(cluster) {}

  // Of claims that are written from now on, nothing is told for the time being. `revision`: of the
  // last write that is.
  void HoldBackAfter(std::uint64_t revision) { told_until_ = revision; }
  void TellEverything() { told_until_ = std::numeric_limits<std::uint64_t>::max(); }
  // As a list that comes after a gap does: how each claim is now, and that it is gone if it had been told.
  void TellWhatIsLeft() {
    ++gaps_;
    TellEverything();
  }

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<LateWatch>(inner().Watch(kinds, selection), *this);
  }

 private:
  class LateWatch final : public api::ObjectWatch {
   public:
    LateWatch(std::unique_ptr<api::ObjectWatch> watch, const LateClaims& cluster)
        : watch_(std::move(watch)), cluster_(cluster) {}
    std::optional<api::Change> Next() override {
      if (gaps_ != cluster_.gaps_) Forget();
      if (!held_.empty() && RevisionOf(held_.front()) <= cluster_.told_until_) {
        api::Change change = std::move(held_.front());
        held_.pop_front();
        return Told(std::move(change));
      }
      while (auto change = watch_->Next()) {
        if (change->object.As<api::ResourceClaim>() == nullptr) return change;
        if (held_.empty() && RevisionOf(*change) <= cluster_.told_until_) {
          return Told(*std::move(change));
        }
        held_.push_back(*std::move(change));
      }
      return std::nullopt;
    }

   private:
    using Kind = api::Change::Kind;

    static std::uint64_t RevisionOf(const api::Change& change) {
      const std::string& text = change.object.metadata().resource_version;
      std::uint64_t revision = 0;
      std::from_chars(text.data(), text.data() + text.size(), revision);
      return revision;
    }
    static std::string NameOf(const api::Change& change) {
      return change.object.metadata().namespace_ + "/" + change.object.metadata().name;
    }

    api::Change Told(api::Change change) {
      if (change.kind == Kind::kDeleted) {
        told_.erase(NameOf(change));
      } else {
        told_.insert_or_assign(NameOf(change), change.object);
      }
      return change;
    }

    // What was held back until now was missed.
    void Forget() {
      gaps_ = cluster_.gaps_;
      std::vector<api::Change> events(std::make_move_iterator(held_.begin()),
                                      std::make_move_iterator(held_.end()));
      held_.clear();
      // Others than claims are told as they happen.
      while (auto change = watch_->Next()) {
        const bool claim = change->object.As<api::ResourceClaim>() != nullptr;
        claim ? events.push_back(*std::move(change)) : held_.push_back(*std::move(change));
      }
      std::map<std::string, api::Change> last;
      for (api::Change& event : events) last.insert_or_assign(NameOf(event), std::move(event));
      for (auto& [name, change] : last) {
        const auto told = told_.find(name);
        const bool known = told != told_.end();
        const bool gone = change.kind == Kind::kDeleted;
        const bool other =
            known && !gone && told->second.metadata().uid != change.object.metadata().uid;
        if (known && (gone || other)) held_.push_back({Kind::kDeleted, told->second});
        if (!gone) {
          held_.push_back({known && !other ? Kind::kUpdated : Kind::kAdded, change.object});
        }
      }
    }

    const std::unique_ptr<api::ObjectWatch> watch_;
    const LateClaims& cluster_;
    std::uint64_t gaps_ = 0;
    std::deque<api::Change> held_;             // of claims, in order
    std::map<std::string, api::Object> told_;  // claims, as they were last told
  };

  std::uint64_t told_until_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t gaps_ = 0;
};

}  // namespace dray::soak
