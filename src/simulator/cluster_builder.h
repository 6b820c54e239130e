// SPDX-License-Identifier: Apache-2.0
//
// ClusterBuilder: the objects that a scenario describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_slice.h"
#include "simulator/fault.h"
#include "simulator/scenario.h"

namespace dray::simulator {

// Makes what is equal for all nodes or pods once. One thread; the scenario outlives it.
class ClusterBuilder {
 public:
  explicit ClusterBuilder(const Scenario& scenario);

  static std::string NodeName(const NodeGroup& group, std::int64_t node);

  // What is wrong with the first and the last of everything: placeholders that fail, and the rules
  // of the API, with those gates.
  std::vector<Fault> Check(const api::FeatureGates& gates);

  // Objects, nodes and slices. What a placeholder could not make has its default; see Check.
  std::vector<api::Object> Everything();
  api::Node Node(std::size_t group, std::int64_t node);
  std::vector<api::ResourceSlice> Slices(std::size_t group, std::int64_t node);
  api::Pod Pod(std::size_t workload, std::int64_t index);

 private:
  std::vector<api::Device> Devices(const DriverDevices& driver, std::int64_t node);
  std::vector<api::CounterSet> CounterSets(const DriverDevices& driver, std::int64_t node);
  template <typename T>
  T Make(const Template& made_from, const Variables& variables);
  std::optional<api::Object> MakeObject(const Copies& copies, std::int64_t index);
  void CheckObject(const Template& made_from, api::Object object, const api::FeatureGates& gates);

  const Scenario& scenario_;
  std::vector<Fault> faults_;
  // Of drivers whose devices do not depend on the node, group by group.
  std::vector<std::vector<std::optional<std::vector<api::Device>>>> devices_;
  // Of workloads whose pods do not depend on the index.
  std::vector<std::optional<api::PodTemplateSpec>> pods_;
};

}  // namespace dray::simulator
