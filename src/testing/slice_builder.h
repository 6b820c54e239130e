// SPDX-License-Identifier: Apache-2.0
//
// Slices, devices and nodes for tests, in a line each:
//
//   Slice("a").OnNode("n1").With(
//       Device("gpu-0").String("model", "H100").Capacity("memory", "80Gi"))
//
// What is not said is what matters least: driver "gpu.example.com", pool "pool", generation 1, one
// slice.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/resource_slice.h"
#include "base/check.h"
#include "base/quantity.h"

namespace dray::testing {

inline constexpr std::string_view kDriver = "gpu.example.com";

using Amounts = std::initializer_list<std::pair<std::string_view, std::string_view>>;

inline base::Quantity ToQuantity(std::string_view text) {
  auto quantity = base::Quantity::Parse(text);
  DRAY_CHECK(quantity.ok());
  return *quantity;
}

inline api::Map<api::Counter> ToCounters(Amounts amounts) {
  api::Map<api::Counter> counters;
  for (const auto& [name, amount] : amounts) counters[name].value = ToQuantity(amount);
  return counters;
}

inline api::NodeSelector LabelIs(std::string_view key, std::string_view value) {
  return {.node_selector_terms = {
              {.match_expressions = {
                   {.key = std::string(key), .operator_ = "In", .values = {std::string(value)}}}}}};
}

// Each method gives the builder back, so that calls join. One thread.
class Device {
 public:
  explicit Device(std::string_view name) { device_.name = name; }

  Device& String(std::string_view name, std::string_view value) {
    device_.attributes[name].string_value = base::OptionalText(value);
    return *this;
  }
  Device& Int(std::string_view name, std::int64_t value) {
    device_.attributes[name].int_value = value;
    return *this;
  }
  Device& Bool(std::string_view name, bool value) {
    device_.attributes[name].bool_value = value;
    return *this;
  }
  Device& Version(std::string_view name, std::string_view value) {
    device_.attributes[name].version_value = base::OptionalText(value);
    return *this;
  }
  Device& Strings(std::string_view name, std::vector<std::string> values) {
    device_.attributes[name].MutableLists().string_values = std::move(values);
    return *this;
  }
  Device& Ints(std::string_view name, std::vector<std::int64_t> values) {
    device_.attributes[name].MutableLists().int_values = std::move(values);
    return *this;
  }
  Device& Versions(std::string_view name, std::vector<std::string> values) {
    device_.attributes[name].MutableLists().version_values = std::move(values);
    return *this;
  }
  // An attribute of which no member is set.
  Device& NoValue(std::string_view name) {
    device_.attributes[name] = {};
    return *this;
  }
  Device& Capacity(std::string_view name, std::string_view value) {
    device_.capacity[name].value = ToQuantity(value);
    return *this;
  }
  Device& Capacity(std::string_view name, std::string_view value,
                   api::CapacityRequestPolicy policy) {
    Capacity(name, value);
    device_.capacity[name].request_policy = std::move(policy);
    return *this;
  }
  Device& Consumes(std::string_view counter_set, Amounts counters,
                   std::vector<std::string> groups = {}) {
    device_.consumes_counters.push_back({.counter_set = std::string(counter_set),
                                         .counters = ToCounters(counters),
                                         .compatibility_groups = std::move(groups)});
    return *this;
  }
  Device& OnNode(std::string_view node) {
    device_.node_name = std::string(node);
    return *this;
  }
  Device& OnAllNodes() {
    device_.all_nodes = true;
    return *this;
  }
  Device& Where(api::NodeSelector selector) {
    device_.node_selector = std::move(selector);
    return *this;
  }
  Device& Taint(std::string_view key, std::string_view effect = api::kTaintEffectNoSchedule) {
    device_.taints.push_back({.key = std::string(key), .effect = std::string(effect)});
    return *this;
  }
  Device& BindingCondition(std::string_view condition) {
    device_.binding_conditions.emplace_back(condition);
    return *this;
  }
  Device& BindingFailure(std::string_view condition) {
    device_.binding_failure_conditions.emplace_back(condition);
    return *this;
  }
  Device& BindsToNode() {
    device_.binds_to_node = true;
    return *this;
  }
  Device& Shared() {
    device_.allow_multiple_allocations = true;
    return *this;
  }

  operator api::Device() const { return device_; }  // NOLINT: that is what it is for

 private:
  api::Device device_;
};

class Slice {
 public:
  explicit Slice(std::string_view name) {
    slice_.metadata.name = name;
    slice_.spec.driver = kDriver;
    slice_.spec.pool = {.name = "pool", .generation = 1, .resource_slice_count = 1};
  }

  Slice& Driver(std::string_view driver) {
    slice_.spec.driver = driver;
    return *this;
  }
  Slice& Pool(std::string_view name) {
    slice_.spec.pool.name = name;
    return *this;
  }
  Slice& Generation(std::int64_t generation) {
    slice_.spec.pool.generation = generation;
    return *this;
  }
  // How many slices the pool has.
  Slice& Of(std::int64_t slices) {
    slice_.spec.pool.resource_slice_count = slices;
    return *this;
  }
  Slice& OnNode(std::string_view node) {
    slice_.spec.node_name = std::string(node);
    return *this;
  }
  Slice& OnAllNodes() {
    slice_.spec.all_nodes = true;
    return *this;
  }
  Slice& Where(api::NodeSelector selector) {
    slice_.spec.node_selector = std::move(selector);
    return *this;
  }
  Slice& PerDevice(bool value = true) {
    slice_.spec.per_device_node_selection = value;
    return *this;
  }
  Slice& SkipsNodeOperations() {
    slice_.spec.skip_node_operations.emplace_back(api::kSkipAllNodeOperations);
    return *this;
  }
  Slice& With(api::Device device) {
    if (!slice_.spec.devices.has_value()) slice_.spec.devices.emplace();
    slice_.spec.devices->push_back(std::move(device));
    return *this;
  }
  Slice& Counters(std::string_view set, Amounts counters) {
    if (!slice_.spec.shared_counters.has_value()) slice_.spec.shared_counters.emplace();
    slice_.spec.shared_counters->push_back(
        {.name = std::string(set), .counters = ToCounters(counters)});
    return *this;
  }

  operator api::ResourceSlice() const { return slice_; }  // NOLINT: that is what it is for

 private:
  api::ResourceSlice slice_;
};

class Node {
 public:
  explicit Node(std::string_view name) { node_.metadata.name = name; }

  Node& Label(std::string_view key, std::string_view value) {
    node_.metadata.labels[key] = value;
    return *this;
  }
  Node& Declares(std::string_view feature) {
    node_.status.declared_features.emplace_back(feature);
    return *this;
  }

  operator api::Node() const { return node_; }  // NOLINT: that is what it is for

 private:
  api::Node node_;
};

}  // namespace dray::testing
