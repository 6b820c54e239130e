// SPDX-License-Identifier: Apache-2.0
//
// Feature gates: names, defaults, stages and dependencies, in Kubernetes's syntax
// (--feature-gates=A=true,B=false).
//
// Spec: docs/spec/api.md section 1. All five proposals that dray implements are on by
// default (docs/decisions.md), each behind its gate.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::api {

enum class Gate : std::uint8_t {
  kDynamicResourceAllocation,
  kDRAAdminAccess,
  kDRAConsumableCapacity,
  kDRADerivedAttributes,
  kDRADeviceBindingConditions,
  kDRADeviceCompatibilityGroups,
  kDRADeviceTaintRules,
  kDRADeviceTaints,
  kDRAExtendedResource,
  kDRAFractionalCapacityRange,
  kDRAListTypeAttributes,
  kDRANodeAllocatableResources,
  kDRAOptionalNodeOperations,
  kDRAPartitionableDevices,
  kDRAPartitionableDevicesType,
  kDRAPrioritizedList,
  kDRAResourceClaimDeviceStatus,
  kDRAResourceClaimGranularStatusAuthorization,
  kDRAResourcePoolStatus,
  kDRASchedulerFilterTimeout,
  kDRAWorkloadResourceClaims,
  kGenericWorkload,
  kNodeDeclaredFeatures,
  kPodGroupPreemptionPolicy,
  kResourceHealthStatus,
  kResourceHealthStatusMessage,
  kTopologyAwareWorkloadScheduling,
};
inline constexpr std::size_t kGateCount = 27;

enum class GateStage : std::uint8_t { kAlpha, kBeta, kGa };
// "ALPHA", "BETA", "GA".
std::string_view NameOf(GateStage stage);

// One row of the table that `dray features` prints.
struct GateInfo {
  Gate gate;
  std::string_view name;
  GateStage stage;
  bool dray_default;        // what dray starts with
  bool kubernetes_default;  // what a v1.37 Kubernetes starts with
  bool locked;              // Kubernetes no longer lets it be changed; dray still does
  std::span<const Gate> depends_on;
  std::string_view summary;
};

// In name order.
std::span<const GateInfo> GateTable();
const GateInfo& InfoOf(Gate gate);
std::optional<Gate> FindGate(std::string_view name);

// Which gates are on. A value, read once at construction by whoever needs it, never a global.
// Thread-compatible.
class FeatureGates {
 public:
  // dray's defaults.
  FeatureGates();
  static FeatureGates KubernetesDefaults();
  // "A=true,B=false" on top of `base`. Space around names and values is ignored, a gate named twice
  // takes the last value, and a value is anything that Go's strconv.ParseBool takes (1, t, True,
  // ...). "AllAlpha=…", "AllBeta=…" set every gate of a stage that is not named. What needs a gate
  // that is off goes off with it, told by gate_notes.h; unless it is named as on: such texts, other
  // names and values, and switching off DynamicResourceAllocation are errors that name the gate.
  static StatusOr<FeatureGates> Parse(std::string_view text, const FeatureGates& base);

  bool Enabled(Gate gate) const { return on_[static_cast<std::size_t>(gate)]; }
  void Set(Gate gate, bool on) { on_[static_cast<std::size_t>(gate)] = on; }
  // OK, or which gate is on without one that it needs.
  Status CheckDependencies() const;

  friend bool operator==(const FeatureGates&, const FeatureGates&) = default;

 private:
  std::bitset<kGateCount> on_;
};

}  // namespace dray::api
