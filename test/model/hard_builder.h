// SPDX-License-Identifier: Apache-2.0
//
// Puts a hard instance together: one node, a class and a pool per kind of device. Not for others.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "model/hard_instances.h"

namespace dray::model {

inline std::string DriverOf(std::string_view kind) { return fmt::format("{}.example.com", kind); }

// The most devices that one claim can have is 32; larger wants go to several claims.
inline constexpr int kPerClaim = 16;

// One thread.
class Builder {
 public:
  explicit Builder(Dice& dice) : dice_(dice) {
    instance_.features = Features::All();
    instance_.node.metadata.name = "node-1";
    instance_.claims.resize(1);
    instance_.claims[0].metadata.name = "claim-0";
  }

  // The devices, or the counter sets, of a further slice of the kind's pool: to be filled before
  // the next slice is added.
  std::vector<api::Device>& Devices(const std::string& kind) {
    AddClass(kind);
    api::ResourceSlice& slice = NewSlice(kind, kind + "-devices");
    slice.spec.devices.emplace();
    return *slice.spec.devices;
  }
  std::vector<api::CounterSet>& Counters(const std::string& kind) {
    api::ResourceSlice& slice = NewSlice(kind, kind + "-counters");
    slice.spec.shared_counters.emplace();
    return *slice.spec.shared_counters;
  }

  api::ExactDeviceRequest& Request(const std::string& name, const std::string& kind, int count,
                                   std::size_t claim = 0) {
    AddClaims(claim);
    auto& request = instance_.claims[claim].spec.devices.requests.emplace_back();
    request.name = name;
    request.exactly.emplace();
    request.exactly->device_class_name = kind;
    request.exactly->allocation_mode = "ExactCount";
    request.exactly->count = count;
    return *request.exactly;
  }
  void Match(const std::string& attribute, std::size_t claim = 0) {
    api::DeviceConstraint constraint;
    constraint.match_attribute = attribute;
    instance_.claims[claim].spec.devices.constraints.push_back(std::move(constraint));
  }
  void Match(const std::string& attribute, std::vector<std::string> requests,
             std::size_t claim = 0) {
    Match(attribute, claim);
    instance_.claims[claim].spec.devices.constraints.back().requests = std::move(requests);
  }
  void Distinct(const std::string& attribute, std::vector<std::string> requests,
                std::size_t claim = 0) {
    api::DeviceConstraint constraint;
    constraint.distinct_attribute = attribute;
    constraint.requests = std::move(requests);
    instance_.claims[claim].spec.devices.constraints.push_back(std::move(constraint));
  }
  // `count` devices, in requests of at most kPerClaim, one per claim from `claim` on.
  template <typename Configure>
  void Spread(const std::string& name, const std::string& kind, int count, Configure configure,
              std::size_t claim = 0) {
    for (; count > 0; count -= kPerClaim, ++claim) {
      configure(Request(name, kind, std::min(count, kPerClaim), claim));
    }
  }
  // A request with alternatives, none yet.
  api::DeviceRequest& List(const std::string& name, std::size_t claim = 0) {
    AddClaims(claim);
    auto& request = instance_.claims[claim].spec.devices.requests.emplace_back();
    request.name = name;
    return request;
  }
  static api::DeviceSubRequest& Alternative(api::DeviceRequest& request, const std::string& kind,
                                            int count) {
    auto& sub = request.first_available.emplace_back();
    sub.name = fmt::format("{}{}", kind, count);
    sub.device_class_name = kind;
    sub.allocation_mode = "ExactCount";
    sub.count = count;
    return sub;
  }
  api::DeviceClaim& claim(std::size_t i = 0) { return instance_.claims[i].spec.devices; }

  HardInstance Build(bool feasible) {
    std::map<std::string, std::int64_t> slices;
    for (const auto& slice : instance_.slices) ++slices[slice.spec.pool.name];
    for (auto& slice : instance_.slices) {
      slice.spec.pool.resource_slice_count = slices[slice.spec.pool.name];
    }
    // A pool that nobody can use, and a listing in any order, change nothing.
    if (dice_.Chance(0.3)) {
      auto& others = Devices("other");
      const int n = dice_.Range(1, 4);
      for (int i = 0; i < n; ++i) others.emplace_back().name = fmt::format("x{}", i);
    }
    dice_.Shuffle(instance_.slices);
    return {std::move(instance_), feasible};
  }

 private:
  void AddClaims(std::size_t last) {
    while (instance_.claims.size() <= last) {
      const std::string name = fmt::format("claim-{}", instance_.claims.size());
      instance_.claims.emplace_back().metadata.name = name;
    }
  }
  void AddClass(const std::string& kind) {
    api::DeviceClass c;
    c.metadata.name = kind;
    c.spec.selectors.push_back(
        {.cel = api::CELDeviceSelector{.expression =
                                           fmt::format("device.driver == '{}'", DriverOf(kind))}});
    instance_.classes.push_back(std::move(c));
  }
  api::ResourceSlice& NewSlice(const std::string& kind, const std::string& name) {
    api::ResourceSlice slice;
    slice.metadata.name = name;
    slice.spec.driver = DriverOf(kind);
    slice.spec.pool = {.name = kind, .generation = 1, .resource_slice_count = 1};
    slice.spec.node_name = "node-1";
    return instance_.slices.emplace_back(std::move(slice));
  }

  Dice& dice_;
  Instance instance_;
};

}  // namespace dray::model
