// SPDX-License-Identifier: Apache-2.0
//
// The workload shapes of Kubernetes's scheduler_perf for devices, as objects: what a node's driver
// publishes, and what each pod asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::scheduler::workloads {

inline constexpr const char* kDriver = "gpu.example.com";
inline constexpr const char* kExtended = "example.com/gpu";

inline base::Quantity Amount(std::string_view text) { return *base::Quantity::Parse(text); }

inline std::string NodeName(std::int64_t i) {
  std::string digits = std::to_string(i);
  return "node-" + std::string(6 - digits.size(), '0') + digits;
}

inline api::Node MakeNode(std::int64_t i) {
  api::Node node;
  node.metadata.name = NodeName(i);
  node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
  node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 3);
  node.status.allocatable["cpu"] = Amount("64");
  node.status.allocatable["memory"] = Amount("512Gi");
  node.status.allocatable["pods"] = Amount("110");
  node.status.capacity = node.status.allocatable;
  return node;
}

// What the driver of one node publishes, and what a pod asks for.
struct Workload {
  std::function<void(std::vector<api::Device>&)> devices;
  std::vector<api::CounterSet> counters = {};
  // None: by an extended resource.
  std::function<void(api::DeviceClaim&)> asks = {};
};

inline std::vector<api::ResourceSlice> SlicesOf(const Workload& workload, std::int64_t node) {
  api::ResourceSlice slice;
  slice.metadata.name = NodeName(node) + "-" + kDriver;
  slice.spec.driver = kDriver;
  slice.spec.pool = {.name = NodeName(node), .generation = 1, .resource_slice_count = 1};
  slice.spec.node_name = NodeName(node);
  workload.devices(slice.spec.devices.emplace());
  if (workload.counters.empty()) return {std::move(slice)};
  slice.spec.pool.resource_slice_count = 2;
  api::ResourceSlice counters = slice;
  counters.metadata.name += "-counters";
  counters.spec.devices.reset();
  counters.spec.shared_counters = workload.counters;
  return {std::move(slice), std::move(counters)};
}

inline api::DeviceClass MakeClass() {
  api::DeviceClass gpu;
  gpu.metadata.name = kDriver;
  gpu.spec.extended_resource_name = kExtended;
  gpu.spec.selectors.emplace_back().cel.emplace().expression =
      "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'H100'";
  return gpu;
}

// As the claims' controller makes them from a template.
inline api::ResourceClaim MakeClaim(const Workload& workload, const std::string& pod) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "default";
  claim.metadata.name = pod + "-gpu";
  claim.metadata.annotations[api::kPodClaimNameAnnotation] = "gpu";
  claim.metadata.owner_references.push_back(
      {.api_version = "v1", .kind = "Pod", .name = pod, .uid = "uid-" + pod, .controller = true});
  workload.asks(claim.spec.devices);
  return claim;
}

inline api::Pod MakePod(const std::string& name, bool claim) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = name;
  pod.metadata.uid = "uid-" + name;
  pod.metadata.labels["app"] = "training";
  pod.spec.scheduler_name = api::kDefaultSchedulerName;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  container.image = "registry.example.com/training:1";
  container.resources.requests["cpu"] = Amount("1");
  container.resources.requests["memory"] = Amount("4Gi");
  if (!claim) return pod;
  container.resources.claims.push_back({.name = "gpu"});
  pod.spec.resource_claims.push_back({.name = "gpu", .resource_claim_template_name = "gpu"});
  pod.status.resource_claim_statuses.emplace().push_back(
      {.name = "gpu", .resource_claim_name = name + "-gpu"});
  return pod;
}

// Whole devices of two NUMA nodes.
inline auto Gpus(std::int64_t count) {
  return [count](std::vector<api::Device>& devices) {
    for (std::int64_t d = 0; d < count; ++d) {
      api::Device& device = devices.emplace_back();
      device.name = "gpu-" + std::to_string(d);
      device.attributes["model"].string_value = base::OptionalText("H100");
      device.attributes["index"].int_value = d;
      device.attributes["numa"].int_value = d % 2;
      device.capacity["memory"].value = Amount("80Gi");
    }
  };
}

inline api::ExactDeviceRequest& Ask(api::DeviceClaim& claim, std::string_view name,
                                    std::int64_t count, std::string_view selector = {}) {
  api::DeviceRequest& request = claim.requests.emplace_back();
  request.name = name;
  request.exactly.emplace();
  request.exactly->device_class_name = kDriver;
  request.exactly->allocation_mode = api::kAllocationModeExactCount;
  request.exactly->count = count;
  if (!selector.empty()) {
    request.exactly->selectors.emplace_back().cel.emplace().expression = selector;
  }
  return *request.exactly;
}

inline Workload Plain(std::int64_t devices = 10, std::int64_t count = 1) {
  return {.devices = Gpus(devices), .asks = [count](auto& claim) { Ask(claim, "gpu", count); }};
}
inline Workload Selector() {
  return {.devices = Gpus(10), .asks = [](auto& claim) {
            Ask(claim, "gpu", 1, "device.attributes['gpu.example.com'].index >= 5");
          }};
}
inline Workload Match() {
  return {.devices = Gpus(10), .asks = [](auto& claim) {
            Ask(claim, "gpu", 2);
            claim.constraints.push_back({.match_attribute = "gpu.example.com/numa"});
          }};
}
inline Workload Distinct() {
  return {.devices = Gpus(10), .asks = [](auto& claim) {
            Ask(claim, "gpu", 2);
            claim.constraints.push_back({.distinct_attribute = "gpu.example.com/numa"});
          }};
}
// Match, by an attribute that the claim makes of the device's.
inline Workload Derived() {
  return {
      .devices = Gpus(10), .asks = [](auto& claim) {
        Ask(claim, "gpu", 2)
            .derived_attributes.push_back(
                {.name = "side", .expression = "device.attributes['gpu.example.com'].numa % 2"});
        claim.constraints.push_back({.match_attribute = "side"});
      }};
}
inline Workload ExtendedResource() { return {.devices = Gpus(10)}; }

// Eight shares of each device.
inline Workload ConsumableCapacity() {
  const auto devices = [](std::vector<api::Device>& list) {
    Gpus(10)(list);
    for (api::Device& device : list) device.allow_multiple_allocations = true;
  };
  return {.devices = devices, .asks = [](auto& claim) {
            Ask(claim, "gpu", 1).capacity.emplace().requests["memory"] = Amount("10Gi");
          }};
}

// Two cards, each as one, two halves or two quarters. `groups`: with the groups that partitions of
// one card must have in common, which they do. `second`: what the second card has.
inline Workload Partitions(bool groups, std::int64_t second = 80) {
  const auto devices = [groups](std::vector<api::Device>& list) {
    for (int card = 0; card < 2; ++card) {
      const auto add = [&](const std::string& profile, int number, std::int64_t memory) {
        api::Device& device = list.emplace_back();
        device.name = profile + "-" + std::to_string(card) + "-" + std::to_string(number);
        device.attributes["model"].string_value = base::OptionalText("H100");
        device.attributes["profile"].string_value = base::OptionalText(profile);
        api::DeviceCounterConsumption& use = device.consumes_counters.emplace_back();
        use.counter_set = "card-" + std::to_string(card);
        use.counters["memory"].value = base::Quantity::FromInt(memory);
        if (groups) use.compatibility_groups = {"mig"};
      };
      add("quarter", 0, 20);
      add("quarter", 1, 20);
      add("half", 0, 40);
      add("half", 1, 40);
      add("whole", 0, 80);
    }
  };
  Workload workload{.devices = devices, .asks = [](auto& claim) {
                      Ask(claim, "gpu", 1,
                          "device.attributes['gpu.example.com'].profile == 'quarter'");
                    }};
  for (int card = 0; card < 2; ++card) {
    api::CounterSet& set = workload.counters.emplace_back();
    set.name = "card-" + std::to_string(card);
    set.counters["memory"].value = base::Quantity::FromInt(card == 0 ? 80 : second);
  }
  return workload;
}
// The first quarter that is found is of the only card that can be given whole.
inline Workload Backtracking() {
  Workload workload = Partitions(/*groups=*/false, /*second=*/40);
  workload.asks = [](auto& claim) {
    Ask(claim, "part", 1, "device.attributes['gpu.example.com'].profile == 'quarter'");
    Ask(claim, "whole", 1, "device.attributes['gpu.example.com'].profile == 'whole'");
  };
  return workload;
}

// Two of 64 devices that have one of their 47 roots in common; or the same of one root each.
inline Workload Roots(bool lists) {
  const auto devices = [lists](std::vector<api::Device>& list) {
    Gpus(64)(list);
    for (std::size_t d = 0; d < list.size(); ++d) {
      api::DeviceAttribute& roots = list[d].attributes["roots"];
      if (!lists) {
        roots.string_value = base::OptionalText("root-" + std::to_string(d % 2));
        continue;
      }
      std::vector<std::string> values;
      for (std::size_t i = 0; i < 47; ++i) {
        values.push_back("root-" + std::to_string(d % 2 + 2 * i));
      }
      roots.MutableLists().string_values = std::move(values);
    }
  };
  return {.devices = devices, .asks = [](auto& claim) {
            Ask(claim, "gpu", 2);
            claim.constraints.push_back({.match_attribute = "gpu.example.com/roots"});
          }};
}

}  // namespace dray::scheduler::workloads
