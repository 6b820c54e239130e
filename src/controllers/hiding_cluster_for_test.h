// SPDX-License-Identifier: Apache-2.0
//
// A cluster in which one object cannot be read: its watches do not tell of it, and say so.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/forwarding_cluster.h"
#include "controllers/object_key.h"

namespace dray::controllers {

// One thread.
class HidingCluster final : public api::ForwardingCluster {
 public:
  using ForwardingCluster::ForwardingCluster;

  // From now on; watches that are told of it later tell nothing.
  void Hide(ObjectKey key) { hidden_ = std::move(key); }
  // It can be read again, or is gone.
  void Show() { hidden_.reset(); }

  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    if (hidden_ && kind.hub == hidden_->kind && namespace_ == hidden_->namespace_ &&
        name == hidden_->name) {
      return Unreadable();
    }
    return inner().Find(kind, namespace_, name);
  }
  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override {
    if (hidden_ && kind.hub == hidden_->kind) return Unreadable();
    return inner().List(kind);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<HidingWatch>(*this, inner().Watch(kinds, selection), kinds, selection);
  }

 private:
  static Status Unreadable() {
    return base::MakeStatus(StatusCode::kDataLoss, "what is stored cannot be read");
  }

  class HidingWatch final : public api::ObjectWatch {
   public:
    HidingWatch(const HidingCluster& cluster, std::unique_ptr<api::ObjectWatch> watch,
                std::span<const api::KindInfo* const> kinds, const api::Selection& selection)
        : cluster_(cluster), watch_(std::move(watch)), namespace_(selection.namespace_) {
      for (const api::KindInfo* kind : kinds) hubs_.insert(kind->hub);
    }

    std::optional<api::Change> Next() override {
      const auto& hidden = cluster_.hidden_;
      if (!hidden && !untold_.empty()) {
        auto change = std::move(untold_.front());
        untold_.pop_front();
        return change;
      }
      while (auto change = watch_->Next()) {
        if (!hidden || ObjectKey::Of(change->object) != *hidden) return change;
        untold_.push_back(*std::move(change));
      }
      return std::nullopt;
    }
    Status Stale() const override {
      const auto& hidden = cluster_.hidden_;
      const bool here = hidden && hubs_.contains(hidden->kind) &&
                        (namespace_.empty() || namespace_ == hidden->namespace_);
      return here ? HidingCluster::Unreadable() : Status();
    }

   private:
    const HidingCluster& cluster_;
    std::unique_ptr<api::ObjectWatch> watch_;
    const std::string namespace_;
    std::set<const api::TypeInfo*> hubs_;
    std::deque<api::Change> untold_;
  };

  std::optional<ObjectKey> hidden_;
};

}  // namespace dray::controllers
