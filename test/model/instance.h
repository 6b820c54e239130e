// SPDX-License-Identifier: Apache-2.0
//
// One allocation attempt as data: everything that an allocator is told, for one node.
//
// Its JSON is the format of the recorded cases (shared/conformance/allocator/README.md) with two
// keys of our own: `allocatedClaims`, whole claims with their status.allocation, and `taintRules`.
// Any instance can be written to a file and read again, so that a random one that went wrong can
// be kept.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "api/device_class.h"
#include "api/document.h"
#include "api/node.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/status.h"

namespace dray::model {

// The features as the recorded cases name them, see there for the gates.
struct Features {
  bool admin_access = false;
  bool compatibility_groups = false;
  bool consumable_capacity = false;
  bool derived_attributes = false;
  bool device_binding_and_status = false;
  bool device_taints = false;
  bool fractional_capacity_range = false;
  bool list_type_attributes = false;
  bool optional_node_operations = false;
  bool partitionable_devices = false;
  bool prioritized_list = false;

  static Features All();
  friend bool operator==(const Features&, const Features&) = default;
};

struct FeatureName {
  std::string_view name;
  bool Features::*flag;
};
const std::vector<FeatureName>& FeatureNames();

struct DeviceId {
  std::string driver;
  std::string pool;
  std::string device;
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};
std::string ToString(const DeviceId& id);

struct Instance {
  std::string name;
  Features features;
  api::Node node;
  std::vector<api::DeviceClass> classes;
  std::vector<api::ResourceSlice> slices;  // of the whole cluster, in listing order
  std::vector<api::DeviceTaintRule> taint_rules;
  std::vector<api::ResourceClaim> claims;            // to allocate together
  std::vector<api::ResourceClaim> allocated_claims;  // what is taken, also by other nodes

  friend bool operator==(const Instance&, const Instance&) = default;
};

// Reads a recorded case; `expect` and unknown keys are not looked at. What the format says about
// taken devices (exclusive ones, shares, sums per device) becomes one synthetic claim per device or
// share; a sum goes to the first share of its device, and makes one when there is none.
StatusOr<Instance> ReadInstance(const api::DocumentNode& recorded);
StatusOr<Instance> ParseInstance(std::string_view json);

// The same format. `more` are further members as JSON text without braces (`"expect":{...}`).
std::string WriteInstance(const Instance& instance, std::string_view more = {});

}  // namespace dray::model
