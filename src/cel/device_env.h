// SPDX-License-Identifier: Apache-2.0
//
// The environment of device selectors and derived attributes: the variable `device`, Kubernetes'
// libraries and limits. The one place of the language that knows what a device is.
// Spec: docs/spec/cel.md chapters 1, 2, 5 and 6.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/expression_checker.h"
#include "api/gates.h"
#include "cel/environment.h"

namespace dray::cel {

inline constexpr std::string_view kDeviceVariable = "device";
inline constexpr std::string_view kDeviceTypeName = "kubernetes.DRADevice";

struct DeviceEnvironmentOptions {
  // device.allowMultipleAllocations.
  bool consumable_capacity = true;
  // Attribute values are dyn and may be lists; includes().
  bool list_type_attributes = true;
  // Without what dray adds: device.name and include() (docs/decisions.md).
  bool kubernetes_only = false;

  // What the scheduler compiles stored objects with: all features on, whatever the gates say.
  static DeviceEnvironmentOptions Stored() { return {}; }
  // What new objects are validated with.
  static DeviceEnvironmentOptions New(const api::FeatureGates& gates);
};

// The same environment for equal options, made at first use. Thread-safe.
std::shared_ptr<const Environment> DeviceEnvironment(const DeviceEnvironmentOptions& options);

// Compiles expressions for validation. Thread-safe.
class DeviceExpressionChecker final : public api::ExpressionChecker {
 public:
  explicit DeviceExpressionChecker(bool kubernetes_only = false)
      : kubernetes_only_(kubernetes_only) {}

  Result Check(std::string_view expression, Purpose purpose,
               const api::FeatureGates& gates) const override;

 private:
  const bool kubernetes_only_;
};

}  // namespace dray::cel
