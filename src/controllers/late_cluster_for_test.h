// SPDX-License-Identifier: Apache-2.0
//
// A cluster whose watches are late, as they are at the other end of a connection: what has happened
// is told some time after it can be read.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/forwarding_cluster.h"

namespace dray::controllers {

// One thread.
class LateCluster final : public api::ForwardingCluster {
 public:
  // `late` is asked before a watch tells a change: true, and it tells nothing more for now. The
  // cluster outlives this one.
  LateCluster(api::Cluster& cluster, std::function<bool()> late)
      : ForwardingCluster(cluster), late_(std::move(late)) {}

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<LateWatch>(inner().Watch(kinds, selection), late_);
  }

 private:
  class LateWatch final : public api::ObjectWatch {
   public:
    LateWatch(std::unique_ptr<api::ObjectWatch> watch, const std::function<bool()>& late)
        : watch_(std::move(watch)), late_(late) {
      // What is there at the beginning is known before anybody decides anything.
      while (auto change = watch_->Next()) present_.push_back(*std::move(change));
    }
    std::optional<api::Change> Next() override {
      if (present_.empty()) return late_() ? std::nullopt : watch_->Next();
      auto change = std::move(present_.front());
      present_.pop_front();
      return change;
    }

   private:
    std::unique_ptr<api::ObjectWatch> watch_;
    const std::function<bool()>& late_;
    std::deque<api::Change> present_;
  };

  const std::function<bool()> late_;
};

}  // namespace dray::controllers
