// SPDX-License-Identifier: Apache-2.0
//
// For tests of plugins: a small world, and what a plugin says in it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/changes_for_test.h"
#include "scheduler/framework.h"
#include "scheduler/world.h"
#include "testing/pod_builder.h"

namespace dray::scheduler {

class SmallWorld {
 public:
  explicit SmallWorld(api::FeatureGates gates = {}) : world_({.gates = gates}) {}

  template <typename T>
  SmallWorld& Add(T object) {
    world_.Apply({api::Change::Kind::kAdded, api::Object::Of(std::move(object))});
    return *this;
  }
  SmallWorld& Node(const testing::Worker& node) { return Add(api::Node(node)); }
  SmallWorld& Pod(const testing::Pod& pod) { return Add(api::Pod(pod)); }

  std::shared_ptr<const PodInfo> Info(const testing::Pod& pod) {
    auto object = std::make_shared<api::Pod>(pod);
    const auto priority = object->spec.priority.value_or(0);
    return PodInfo::From(std::move(object), world_.resource_names(), priority);
  }
  NodeInfo& At(std::string_view name) { return *world_.FindNode(name); }
  World& world() { return world_; }

 private:
  World world_;
};

// "ok", "skip", or the code's letter and the reasons: "unschedulable: Insufficient cpu".
inline std::string Said(const PluginStatus& status) {
  std::string said;
  switch (status.code) {
    case PluginStatus::Code::kSuccess:
      return "ok";
    case PluginStatus::Code::kSkip:
      return "skip";
    case PluginStatus::Code::kUnschedulable:
      said = "unschedulable: ";
      break;
    case PluginStatus::Code::kUnresolvable:
      said = "unresolvable: ";
      break;
    case PluginStatus::Code::kWait:
      said = "wait: ";
      break;
    case PluginStatus::Code::kError:
      said = "error: ";
      break;
  }
  for (std::size_t i = 0; i < status.reasons.size(); ++i) {
    if (i > 0) said += ", ";
    said += status.reasons[i].text;
  }
  return said;
}

}  // namespace dray::scheduler
