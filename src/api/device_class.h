// SPDX-License-Identifier: Apache-2.0
//
// resource.k8s.io DeviceClass and DeviceTaintRule: what administrators say about devices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/values.h"

namespace dray::api {

inline constexpr std::size_t kDeviceTaintRuleStatusMaxConditions = 8;

struct DeviceClassConfiguration {
  Box<OpaqueDeviceConfiguration> opaque;
  UnknownFields unknown;
  friend bool operator==(const DeviceClassConfiguration&,
                         const DeviceClassConfiguration&) = default;
};
const StructInfo& InfoOf(const DeviceClassConfiguration*);

struct DeviceClassSpec {
  std::vector<DeviceSelector> selectors;
  std::vector<DeviceClassConfiguration> config;
  std::optional<std::string> extended_resource_name;  // KEP-5004
  UnknownFields unknown;
  friend bool operator==(const DeviceClassSpec&, const DeviceClassSpec&) = default;
};
const StructInfo& InfoOf(const DeviceClassSpec*);

struct DeviceClass {
  ObjectMeta metadata;
  DeviceClassSpec spec;
  UnknownFields unknown;
  friend bool operator==(const DeviceClass&, const DeviceClass&) = default;
};
const StructInfo& InfoOf(const DeviceClass*);

// Empty fields match everything.
struct DeviceTaintSelector {
  std::optional<std::string> driver;
  std::optional<std::string> pool;
  std::optional<std::string> device;
  UnknownFields unknown;
  friend bool operator==(const DeviceTaintSelector&, const DeviceTaintSelector&) = default;
};
const StructInfo& InfoOf(const DeviceTaintSelector*);

struct DeviceTaintRuleSpec {
  Box<DeviceTaintSelector> device_selector;
  DeviceTaint taint;
  UnknownFields unknown;
  friend bool operator==(const DeviceTaintRuleSpec&, const DeviceTaintRuleSpec&) = default;
};
const StructInfo& InfoOf(const DeviceTaintRuleSpec*);

struct DeviceTaintRuleStatus {
  std::vector<Condition> conditions;
  UnknownFields unknown;
  friend bool operator==(const DeviceTaintRuleStatus&, const DeviceTaintRuleStatus&) = default;
};
const StructInfo& InfoOf(const DeviceTaintRuleStatus*);

struct DeviceTaintRule {
  ObjectMeta metadata;
  DeviceTaintRuleSpec spec;
  DeviceTaintRuleStatus status;
  UnknownFields unknown;
  friend bool operator==(const DeviceTaintRule&, const DeviceTaintRule&) = default;
};
const StructInfo& InfoOf(const DeviceTaintRule*);

}  // namespace dray::api
