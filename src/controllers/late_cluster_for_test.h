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

namespace dray::controllers {

// One thread.
class LateCluster final : public api::Cluster {
 public:
  // `late` is asked before a watch tells a change: true, and it tells nothing more for now. The
  // cluster outlives this one.
  LateCluster(api::Cluster& cluster, std::function<bool()> late)
      : cluster_(cluster), late_(std::move(late)) {}

  std::vector<api::Object> List(const api::KindInfo& kind) const override {
    return cluster_.List(kind);
  }
  std::optional<api::Object> Find(const api::KindInfo& kind, std::string_view namespace_,
                                  std::string_view name) const override {
    return cluster_.Find(kind, namespace_, name);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds) override {
    return std::make_unique<LateWatch>(cluster_.Watch(kinds), late_);
  }
  StatusOr<api::Object> Create(api::Object object) override {
    return cluster_.Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    return cluster_.Update(std::move(object));
  }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    return cluster_.UpdateStatus(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override {
    return cluster_.Delete(kind, namespace_, name, uid);
  }
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    return cluster_.Bind(namespace_, pod, uid, node);
  }
  void Note(const api::EventNote& note) override { cluster_.Note(note); }

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

  api::Cluster& cluster_;
  const std::function<bool()> late_;
};

}  // namespace dray::controllers
