// SPDX-License-Identifier: Apache-2.0
//
// A Cluster that leaves everything to another one: for those that do a verb or two differently.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster.h"

namespace dray::api {

// Of as many threads as the other one.
class ForwardingCluster : public Cluster {
 public:
  // It outlives this one.
  explicit ForwardingCluster(Cluster& inner) : inner_(inner) {}

  StatusOr<std::vector<Object>> List(const KindInfo& kind) const override {
    return inner_.List(kind);
  }
  StatusOr<std::optional<Object>> Find(const KindInfo& kind, std::string_view namespace_,
                                       std::string_view name) const override {
    return inner_.Find(kind, namespace_, name);
  }
  std::unique_ptr<ObjectWatch> Watch(std::span<const KindInfo* const> kinds,
                                     const Selection& selection = {}) override {
    return inner_.Watch(kinds, selection);
  }
  StatusOr<Object> Create(Object object) override { return inner_.Create(std::move(object)); }
  StatusOr<Object> Update(Object object) override { return inner_.Update(std::move(object)); }
  StatusOr<Object> UpdateStatus(Object object) override {
    return inner_.UpdateStatus(std::move(object));
  }
  Status Delete(const KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid = {}) override {
    return inner_.Delete(kind, namespace_, name, uid);
  }
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override {
    return inner_.Bind(namespace_, pod, uid, node);
  }
  void Note(const EventNote& note) override { inner_.Note(note); }

 protected:
  Cluster& inner() const { return inner_; }

 private:
  Cluster& inner_;
};

}  // namespace dray::api
