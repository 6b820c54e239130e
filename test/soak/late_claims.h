// SPDX-License-Identifier: Apache-2.0
//
// A cluster whose watches tell of claims late, as on a connection of their own that is slow; of
// everything else they tell at once.
#pragma once

#include <charconv>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

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

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<LateWatch>(inner().Watch(kinds, selection), told_until_);
  }

 private:
  class LateWatch final : public api::ObjectWatch {
   public:
    LateWatch(std::unique_ptr<api::ObjectWatch> watch, const std::uint64_t& told_until)
        : watch_(std::move(watch)), told_until_(told_until) {}
    std::optional<api::Change> Next() override {
      if (!held_.empty() && RevisionOf(held_.front()) <= told_until_) {
        api::Change change = std::move(held_.front());
        held_.pop_front();
        return change;
      }
      while (auto change = watch_->Next()) {
        const bool claim = change->object.As<api::ResourceClaim>() != nullptr;
        if (!claim || (held_.empty() && RevisionOf(*change) <= told_until_)) return change;
        held_.push_back(*std::move(change));
      }
      return std::nullopt;
    }

   private:
    static std::uint64_t RevisionOf(const api::Change& change) {
      const std::string& text = change.object.metadata().resource_version;
      std::uint64_t revision = 0;
      std::from_chars(text.data(), text.data() + text.size(), revision);
      return revision;
    }

    const std::unique_ptr<api::ObjectWatch> watch_;
    const std::uint64_t& told_until_;
    std::deque<api::Change> held_;  // of claims, in order
  };

  std::uint64_t told_until_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace dray::soak
