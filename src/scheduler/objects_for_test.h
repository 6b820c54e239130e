// SPDX-License-Identifier: Apache-2.0
//
// Pods and nodes for tests, in a line each, and changes made of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/quantity.h"
#include "scheduler/changes_for_test.h"
#include "testing/slice_builder.h"

namespace dray::scheduler {

struct PodText {
  std::string name;
  std::string node = {};
  std::string cpu = "1";
  std::string phase = {};
  std::int32_t priority = 0;
};

// In the namespace "ns", with one container.
inline api::Pod MakePod(const PodText& text) {
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = text.name;
  pod.metadata.uid = "uid-" + text.name;
  pod.spec.scheduler_name = api::kDefaultSchedulerName;
  pod.spec.priority = text.priority;
  pod.spec.node_name = text.node;
  pod.status.phase = text.phase;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  if (!text.cpu.empty()) container.resources.requests["cpu"] = testing::ToQuantity(text.cpu);
  return pod;
}

inline api::Node MakeNode(std::string_view name, std::string_view cpu = "8") {
  api::Node node;
  node.metadata.name = name;
  for (auto* list : {&node.status.capacity, &node.status.allocatable}) {
    (*list)["cpu"] = testing::ToQuantity(cpu);
    (*list)["memory"] = testing::ToQuantity("64Gi");
    (*list)["pods"] = testing::ToQuantity("110");
  }
  return node;
}

}  // namespace dray::scheduler
