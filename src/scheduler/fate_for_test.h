// SPDX-License-Identifier: Apache-2.0
//
// Random things that happen to a cluster with devices: the same for the same seed, so that two
// schedulers can be compared that should decide the same.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/device_cluster_for_test.h"
#include "testing/pod_builder.h"

namespace dray::scheduler {

class Fate {
 public:
  struct Options {
    // Some claims have expressions that fail on the devices of some nodes, and some slices cannot
    // be read.
    bool faults = false;
    // Some pods ask for devices by the name of an extended resource, which some nodes have by
    // themselves.
    bool extended_resources = false;
    // Devices that several nodes can use come, change and go, and claims say which kind they want.
    bool fabric = false;
  };
  Fate(std::uint32_t seed, DeviceCluster& test) : Fate(seed, test, {}) {}
  Fate(std::uint32_t seed, DeviceCluster& test, Options options)
      : random_(seed), test_(test), options_(options) {}

  void Step() {
    if (options_.fabric && Below(4) == 0) return ChangeFabric();
    switch (Below(11)) {
      case 0:
        return AddNode();
      case 1:
        return RemoveNode();
      case 2:
        return ChangeNode();
      case 3:
        return RemovePod();
      case 4:
        return AllocateElsewhere();
      default:
        return AddPod();
    }
  }
  int elsewhere() const { return elsewhere_; }
  // Claims with derived attributes so far.
  int derived() const { return derived_; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }

 private:
  std::string PickNode() { return "n" + std::to_string(Below(12)); }
  void AddNode() {
    const std::string name = PickNode();
    if (test_.Find<api::Node>(name, "") != nullptr) return;
    const int gpus = Below(5);
    api::Node node = MakeNode(name, std::to_string(2 + Below(6)));
    node.metadata.labels["zone"] = std::to_string(Below(3));
    node.metadata.labels["kubernetes.io/hostname"] = name;
    if (Below(4) == 0) {
      const char* effect = Below(2) == 0 ? "NoSchedule" : "PreferNoSchedule";
      node.spec.taints.push_back({.key = "t", .value = "v", .effect = effect});
    }
    if (options_.extended_resources && Below(3) == 0) {
      node.status.allocatable[kExtended] = *base::Quantity::Parse("2");
    }
    test_.Create(std::move(node));
    if (gpus > 0 && test_.Find<api::ResourceSlice>("slice-" + name, "") == nullptr) {
      test_.Create(SliceOf(name, gpus));
    }
  }
  // With faults: on some nodes devices lack the attribute that expressions read.
  api::ResourceSlice SliceOf(const std::string& node, int gpus) {
    api::ResourceSlice slice = DeviceCluster::GpuSlice(node, gpus);
    if (!options_.faults || Below(3) == 0) return slice;
    int index = 0;
    for (api::Device& device : *slice.spec.devices) device.attributes["index"].int_value = index++;
    return slice;
  }
  void RemoveNode() {
    const std::string name = PickNode();
    static_cast<void>(test_.cluster().Delete(DeviceCluster::KindOf<api::Node>(), "", name));
    if (Below(2) == 0) {
      static_cast<void>(
          test_.cluster().Delete(DeviceCluster::KindOf<api::ResourceSlice>(), "", "slice-" + name));
    }
  }
  void ChangeNode() {
    const auto* known = test_.Find<api::Node>(PickNode(), "");
    if (known == nullptr) return;
    api::Node node = *known;
    if (Below(2) == 0) node.spec.unschedulable = !node.spec.unschedulable;
    node.metadata.labels["zone"] = std::to_string(Below(3));
    static_cast<void>(test_.cluster().Update(api::Object::Of(std::move(node))));
  }
  void RemovePod() {
    if (pods_ == 0) return;
    const std::string name = "p" + std::to_string(Below(pods_));
    static_cast<void>(test_.cluster().Delete(DeviceCluster::KindOf<api::Pod>(), "ns", name));
    const auto* claim = test_.Find<api::ResourceClaim>(name);
    if (claim == nullptr) return;
    api::ResourceClaim freed = *claim;
    freed.status = {};
    static_cast<void>(test_.cluster().UpdateStatus(api::Object::Of(std::move(freed))));
  }
  // Somebody else gives a device that is free to a claim that waits.
  void AllocateElsewhere() {
    const std::string name = "p" + std::to_string(Below(pods_ + 1));
    const std::string node = PickNode();
    const std::string device = "gpu-" + std::to_string(Below(4));
    const auto* slice = test_.Find<api::ResourceSlice>("slice-" + node, "");
    if (slice == nullptr || std::ranges::find(*slice->spec.devices, device, &api::Device::name) ==
                                slice->spec.devices->end()) {
      return;
    }
    for (const api::Object& object :
         test_.cluster().All(DeviceCluster::KindOf<api::ResourceClaim>())) {
      const auto& allocation = object.As<api::ResourceClaim>()->status.allocation;
      if (!allocation) continue;
      for (const auto& result : allocation->devices.results) {
        if (result.pool == node && result.device == device) return;
      }
    }
    const auto* known = test_.Find<api::ResourceClaim>(name);
    if (known == nullptr || known->status.allocation ||
        !known->spec.devices.requests.front().exactly ||
        known->spec.devices.requests.front().exactly->count != 1) {
      return;
    }
    api::ResourceClaim claim = *known;
    api::AllocationResult& allocation = claim.status.allocation.emplace();
    allocation.devices.results.push_back({.request = "gpus",
                                          .driver = std::string(testing::kDriver),
                                          .pool = node,
                                          .device = device});
    allocation.node_selector.emplace().node_selector_terms.push_back(
        {.match_fields = {{.key = "metadata.name", .operator_ = "In", .values = {node}}}});
    if (test_.cluster().UpdateStatus(api::Object::Of(std::move(claim))).ok()) ++elsewhere_;
  }
  void AddPod() {
    const std::string name = "p" + std::to_string(pods_++);
    testing::Pod builder(name);
    builder.Request("cpu", Below(2) == 0 ? "1" : "500m");
    builder.Priority(Below(4) == 0 ? 10 : 0);
    builder.Label("app", Below(2) == 0 ? "x" : "y");
    switch (Below(9)) {
      case 0:
        builder.NodeSelector("zone", std::to_string(Below(3)));
        break;
      case 1:
        builder.Tolerates({.key = "t", .operator_ = "Exists"});
        break;
      case 2:
        builder.AwayFrom(
            testing::PodsWith(testing::Labelled("app", "x"), "kubernetes.io/hostname"));
        break;
      case 3:
        builder.RatherNear(10, testing::PodsWith(testing::Labelled("app", "y"), "zone"));
        break;
      case 4:
        builder.HostPort(80);
        break;
      case 5: {
        api::TopologySpreadConstraint spread;
        spread.max_skew = 1;
        spread.topology_key = "zone";
        spread.when_unsatisfiable = Below(2) == 0 ? api::kDoNotSchedule : api::kScheduleAnyway;
        spread.label_selector = testing::Labelled("app", "x");
        builder.Spread(std::move(spread));
        break;
      }
      default:
        break;
    }
    api::Pod pod = builder;
    pod.spec.containers.front().image = "i";
    if (Below(2) == 0) {
      api::ResourceClaim claim = DeviceCluster::GpuClaim(name, 1 + Below(2));
      if (Below(4) == 0) {
        api::DeviceRequest& request = claim.spec.devices.requests.front();
        for (const int count : {3, 1}) {
          api::DeviceSubRequest& sub = request.first_available.emplace_back();
          sub.name = "s" + std::to_string(count);
          sub.device_class_name = "gpu";
          sub.allocation_mode = api::kAllocationModeExactCount;
          sub.count = count;
        }
        request.exactly.reset();
      }
      if (options_.faults && Below(2) == 0) AddSelector(claim);
      if (Below(3) == 0) AddDerived(claim);
      if (options_.fabric) ChooseKind(claim);
      test_.Create(std::move(claim));
      pod = DeviceCluster::WithClaim(std::move(pod), name);
    } else if (options_.extended_resources && Below(2) == 0) {
      api::ResourceRequirements& resources = pod.spec.containers.front().resources;
      resources.requests[kExtended] = resources.limits[kExtended] = *base::Quantity::Parse("1");
    }
    test_.Create(std::move(pod));
  }

  // Fails where a device has no index; few different ones, so that some are met again.
  void AddSelector(api::ResourceClaim& claim) {
    const std::string expression = "device.attributes['" + std::string(testing::kDriver) +
                                   "'].index >= " + std::to_string(Below(3));
    api::DeviceRequest& request = claim.spec.devices.requests.front();
    const std::vector<api::DeviceSelector> selectors = {
        {.cel = api::CELDeviceSelector{.expression = expression}}};
    if (request.exactly) request.exactly->selectors = selectors;
    for (api::DeviceSubRequest& sub : request.first_available) sub.selectors = selectors;
  }

  // A pool of one slice or two: for all nodes, for a zone, or, with faults, for whom nobody can say;
  // sometimes it contradicts itself.
  void ChangeFabric() {
    const std::string pool = "fabric-" + std::to_string(Below(3));
    const std::string name = pool + "-" + std::to_string(Below(2));
    if (test_.Find<api::ResourceSlice>(name, "") != nullptr) {
      static_cast<void>(
          test_.cluster().Delete(DeviceCluster::KindOf<api::ResourceSlice>(), "", name));
      if (Below(2) == 0) return;
    }
    testing::Slice slice(name);
    slice.Driver("fabric.example.com").Pool(pool);
    if (Below(3) == 0) slice.Of(2);
    const int where = Below(options_.faults ? 9 : 8);
    if (where < 5) {
      slice.OnAllNodes();
    } else {
      const char* in = where < 8 ? "In" : "Near";
      slice.Where(
          {.node_selector_terms = {
               {.match_expressions = {
                    {.key = "zone", .operator_ = in, .values = {std::to_string(Below(3))}}}}}});
    }
    for (int i = 0; i <= Below(2); ++i) {
      slice.With(testing::Device("port-" + std::to_string(Below(4) == 0 ? 0 : i)));
    }
    test_.Create(api::ResourceSlice(slice));
  }
  void ChooseKind(api::ResourceClaim& claim) {
    const int kind = Below(4);
    if (kind == 3) return;  // either
    const std::string driver = kind == 0 ? "fabric.example.com" : std::string(testing::kDriver);
    const api::DeviceSelector selector = {
        .cel = api::CELDeviceSelector{.expression = "device.driver == '" + driver + "'"}};
    api::DeviceRequest& request = claim.spec.devices.requests.front();
    if (request.exactly) request.exactly->selectors.push_back(selector);
    for (api::DeviceSubRequest& sub : request.first_available) sub.selectors.push_back(selector);
  }

  // The claim's devices have in common, or must not, what nobody publishes: on which side of the
  // node they are. With faults also what some devices have nothing to derive from.
  void AddDerived(api::ResourceClaim& claim) {
    const std::string index = "device.attributes['" + std::string(testing::kDriver) + "'].index";
    const std::vector<std::string> expressions = {"device.name in ['gpu-0', 'gpu-1']",
                                                  "device.name.replace('gpu-', '') < '2' ? 1 : 2",
                                                  "device.name", index + " / 2"};
    const std::vector<api::DeviceDerivedAttribute> derived = {
        {.name = "side",
         .expression = expressions[static_cast<std::size_t>(Below(options_.faults ? 4 : 3))]}};
    api::DeviceRequest& request = claim.spec.devices.requests.front();
    if (request.exactly) request.exactly->derived_attributes = derived;
    for (api::DeviceSubRequest& sub : request.first_available) sub.derived_attributes = derived;
    api::DeviceConstraint& constraint = claim.spec.devices.constraints.emplace_back();
    (Below(2) == 0 ? constraint.match_attribute : constraint.distinct_attribute) = "side";
    ++derived_;
  }

  static constexpr const char* kExtended = "example.com/gpu";

  std::mt19937 random_;
  DeviceCluster& test_;
  Options options_;
  int pods_ = 0;
  int elsewhere_ = 0;
  int derived_ = 0;
};

inline std::vector<std::string> Told(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> told;
  for (const Outcome& outcome : outcomes) {
    told.push_back(outcome.pod + " " + std::to_string(static_cast<int>(outcome.kind)) + " " +
                   outcome.node + " " + outcome.message);
  }
  return told;
}

}  // namespace dray::scheduler
