// SPDX-License-Identifier: Apache-2.0
//
// The changes that cures consist of, as objects: nothing is decided here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/explanation.h"
#include "api/affinity.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "planner/cures.h"
#include "planner/internal/trial.h"

namespace dray::planner::internal {

// Somebody who has something on a node: a pod, or a claim that no pod uses.
struct Occupant {
  bool pod = true;
  std::string namespace_;
  std::string name;
  std::string devices;  // "gpu-0, gpu-1"; empty: none
  friend auto operator<=>(const Occupant&, const Occupant&) = default;
};

// Who has what they have only in the plan, not before.
class PlannedOccupants {
 public:
  void Add(bool pod, std::string namespace_, std::string name) {
    known_.insert({.pod = pod, .namespace_ = std::move(namespace_), .name = std::move(name)});
  }
  bool contains(const Occupant& occupant) const {
    return known_.contains(
        {.pod = occupant.pod, .namespace_ = occupant.namespace_, .name = occupant.name});
  }

 private:
  std::set<Occupant> known_;
};

// Those with devices of the pools that nodes of this name have, and, with `pods`, all that run
// there. Other users of pools without a node are among the first.
std::vector<Occupant> OccupantsOf(const Trial& trial, const std::string& node, bool pods);
// They are gone, and what only they used is free again.
Changes Without(const Trial& trial, const std::vector<Occupant>& occupants);

// A node that has all that this one has, under another name, and nothing on it.
Changes OneMoreNode(const Trial& trial, const std::string& node);

// So many more devices on a node, like one that is there or elsewhere; without its counters, which
// belong to a pool, and its taints. Nothing when there is no such device.
std::optional<api::Object> MoreDevices(const Trial& trial, const std::string& node,
                                       const allocator::DeviceName& like, std::int64_t count);

// Fields that requests and their alternatives have in common.
struct RequestFields {
  std::string* device_class = nullptr;
  std::vector<api::DeviceSelector>* selectors = nullptr;
  std::string* mode = nullptr;
  std::int64_t* count = nullptr;
  std::vector<api::DeviceToleration>* tolerations = nullptr;
  api::Box<api::CapacityRequirements>* capacity = nullptr;
};
// Of "request" or "request/subrequest"; null members when the claim has none of that name.
RequestFields FieldsOf(api::ResourceClaim& claim, std::string_view alternative);

// The pod on this node or nowhere.
void Pin(api::Pod& pod, const std::string& node);
// The pod anywhere but there.
void Shun(api::Pod& pod, const std::string& node);

// "key=value:effect" or "key:effect".
struct TaintText {
  std::string key;
  std::string effect;
};
TaintText ParseTaint(std::string_view text);

}  // namespace dray::planner::internal
