// SPDX-License-Identifier: Apache-2.0
#include "api/gates.h"

#include <algorithm>
#include <vector>

#include "api/gate_notes.h"
#include "base/check.h"
#include "base/edit_distance.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using enum Gate;
using enum GateStage;

constexpr bool kOn = true;
constexpr bool kOff = false;
constexpr bool kLocked = true;
constexpr bool kOpen = false;

constexpr std::array kDra = {kDynamicResourceAllocation};
constexpr std::array kBindingNeeds = {kDRAResourceClaimDeviceStatus, kDynamicResourceAllocation};
constexpr std::array kGroupsNeed = {kDRAPartitionableDevices, kDynamicResourceAllocation};
constexpr std::array kTaintRulesNeed = {kDRADeviceTaints};
constexpr std::array kFractionalNeeds = {kDRAConsumableCapacity};
constexpr std::array kNodeOperationsNeed = {kDynamicResourceAllocation, kNodeDeclaredFeatures};
constexpr std::array kPartitionTypeNeeds = {kDRAPartitionableDevices, kDRAResourcePoolStatus,
                                            kDynamicResourceAllocation};
constexpr std::array kWorkloadClaimsNeed = {kDynamicResourceAllocation, kGenericWorkload};
constexpr std::array kGroupFieldsNeed = {kGenericWorkload};
constexpr std::array kHealthMessageNeeds = {kResourceHealthStatus};

// Gate, name, stage, dray's default, Kubernetes's default, locked in Kubernetes, needs, summary.
// dray differs from v1.37 in four rows: the three alpha proposals, and DRAFractionalCapacityRange,
// which v1.38 switches on; amounts like 500m in a request policy are of no use without it.
constexpr std::array<GateInfo, kGateCount> kTable = {{
    {kDRAAdminAccess, "DRAAdminAccess", kGa, kOn, kOn, kLocked, kDra,
     "requests that reach devices in use by others, in labelled namespaces (KEP-5018)"},
    {kDRAConsumableCapacity, "DRAConsumableCapacity", kBeta, kOn, kOn, kOpen, kDra,
     "devices shared by amounts of their capacity (KEP-5075)"},
    {kDRADerivedAttributes, "DRADerivedAttributes", kAlpha, kOn, kOff, kOpen, kDra,
     "attributes that a request computes with CEL (KEP-6080)"},
    {kDRADeviceBindingConditions, "DRADeviceBindingConditions", kBeta, kOn, kOn, kOpen,
     kBindingNeeds, "pods wait for devices to be attached before they are bound (KEP-5007)"},
    {kDRADeviceCompatibilityGroups, "DRADeviceCompatibilityGroups", kAlpha, kOn, kOff, kOpen,
     kGroupsNeed, "partitions that cannot be in use together (KEP-5963)"},
    {kDRADeviceTaintRules, "DRADeviceTaintRules", kGa, kOn, kOn, kOpen, kTaintRulesNeed,
     "taints on devices set by administrators (KEP-5055)"},
    {kDRADeviceTaints, "DRADeviceTaints", kGa, kOn, kOn, kOpen, kDra,
     "taints on devices set by drivers, tolerations in requests (KEP-5055)"},
    {kDRAExtendedResource, "DRAExtendedResource", kGa, kOn, kOn, kLocked, kDra,
     "extended resources of pods served by device classes (KEP-5004)"},
    {kDRAFractionalCapacityRange, "DRAFractionalCapacityRange", kBeta, kOn, kOff, kOpen,
     kFractionalNeeds, "request policies in thousandths; on in Kubernetes from v1.38"},
    {kDRAListTypeAttributes, "DRAListTypeAttributes", kAlpha, kOn, kOff, kOpen, kDra,
     "attributes with several values (KEP-5491)"},
    {kDRANodeAllocatableResources, "DRANodeAllocatableResources", kAlpha, kOff, kOff, kOpen, kDra,
     "devices that stand for a node's cpu, memory and huge pages"},
    {kDRAOptionalNodeOperations, "DRAOptionalNodeOperations", kAlpha, kOff, kOff, kOpen,
     kNodeOperationsNeed, "devices that need no preparation on the node"},
    {kDRAPartitionableDevices, "DRAPartitionableDevices", kBeta, kOn, kOn, kOpen, kDra,
     "devices that share counters, nodes per device (KEP-4815)"},
    {kDRAPartitionableDevicesType, "DRAPartitionableDevicesType", kAlpha, kOff, kOff, kOpen,
     kPartitionTypeNeeds, "the attribute that names a partition's type"},
    {kDRAPrioritizedList, "DRAPrioritizedList", kGa, kOn, kOn, kLocked, kDra,
     "requests with alternatives in order of preference (KEP-4816)"},
    {kDRAResourceClaimDeviceStatus,
     "DRAResourceClaimDeviceStatus",
     kGa,
     kOn,
     kOn,
     kLocked,
     {},
     "drivers report on allocated devices in claims (KEP-4817)"},
    {kDRAResourceClaimGranularStatusAuthorization, "DRAResourceClaimGranularStatusAuthorization",
     kBeta, kOn, kOn, kOpen, kBindingNeeds,
     "separate permissions for binding claims and for reporting on devices"},
    {kDRAResourcePoolStatus, "DRAResourcePoolStatus", kAlpha, kOff, kOff, kOpen, kDra,
     "requests for a summary of a pool (KEP-5677)"},
    {kDRASchedulerFilterTimeout, "DRASchedulerFilterTimeout", kBeta, kOn, kOn, kOpen, kDra,
     "a limit on the search for devices per node"},
    {kDRAWorkloadResourceClaims, "DRAWorkloadResourceClaims", kBeta, kOff, kOff, kOpen,
     kWorkloadClaimsNeed, "claims shared by a group of pods"},
    {kDynamicResourceAllocation,
     "DynamicResourceAllocation",
     kGa,
     kOn,
     kOn,
     kLocked,
     {},
     "claims, classes and slices (KEP-4381)"},
    {kGenericWorkload,
     "GenericWorkload",
     kBeta,
     kOff,
     kOff,
     kOpen,
     {},
     "the Workload and PodGroup kinds"},
    {kNodeDeclaredFeatures,
     "NodeDeclaredFeatures",
     kGa,
     kOn,
     kOn,
     kLocked,
     {},
     "nodes say which features they support"},
    {kPodGroupPreemptionPolicy, "PodGroupPreemptionPolicy", kAlpha, kOff, kOff, kOpen,
     kGroupFieldsNeed, "groups of pods say whether they push out others"},
    {kResourceHealthStatus, "ResourceHealthStatus", kBeta, kOn, kOn, kOpen, kDra,
     "health of devices in the status of pods (KEP-4680)"},
    {kResourceHealthStatusMessage, "ResourceHealthStatusMessage", kBeta, kOn, kOn, kOpen,
     kHealthMessageNeeds, "a text beside that health"},
    {kTopologyAwareWorkloadScheduling, "TopologyAwareWorkloadScheduling", kAlpha, kOff, kOff, kOpen,
     kGroupFieldsNeed, "all pods of a group in one rack or zone (KEP-5732)"},
}};
static_assert(std::ranges::is_sorted(kTable, {}, &GateInfo::name));

constexpr std::array<std::size_t, kGateCount> RowsByGate() {
  std::array<std::size_t, kGateCount> rows{};
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    rows[static_cast<std::size_t>(kTable[i].gate)] = i;
  }
  return rows;
}
constexpr std::array<std::size_t, kGateCount> kRowOf = RowsByGate();

constexpr std::string_view kAllAlpha = "AllAlpha";
constexpr std::string_view kAllBeta = "AllBeta";

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "true", "TRUE", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return std::nullopt;
}

Status UnknownGate(std::string_view name) {
  std::vector<std::string_view> known = {kAllAlpha, kAllBeta};
  for (const GateInfo& row : kTable) known.push_back(row.name);
  std::string message = fmt::format("unknown feature gate \"{}\"", name);
  if (const auto closest = base::ClosestMatch(name, known)) {
    message += fmt::format(" (did you mean {}?)", *closest);
  }
  return base::InvalidArgument(message);
}

// What a text says, before it is applied: names may come in any order and more than once.
struct Wishes {
  std::array<std::optional<bool>, kGateCount> gates;
  std::optional<bool> all_alpha;
  std::optional<bool> all_beta;
};

StatusOr<Wishes> ParseWishes(std::string_view text) {
  Wishes wishes;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    std::string_view name = Trim(item.substr(0, equals));
    // As Kubernetes's components write it that have gates of several releases.
    if (name.starts_with("kube:")) name.remove_prefix(5);
    if (equals == std::string_view::npos) {
      return base::InvalidArgument(fmt::format(
          "feature gate \"{}\" has no value, expected {}=true or {}=false", name, name, name));
    }
    const std::string_view value = Trim(item.substr(equals + 1));
    const std::optional<bool> on = ParseBool(value);
    if (!on) {
      return base::InvalidArgument(
          fmt::format("feature gate {} has the value \"{}\", expected true or false", name, value));
    }
    if (name == kAllAlpha) {
      wishes.all_alpha = on;
    } else if (name == kAllBeta) {
      wishes.all_beta = on;
    } else if (const auto gate = FindGate(name)) {
      wishes.gates[static_cast<std::size_t>(*gate)] = on;
    } else {
      return UnknownGate(name);
    }
  }
  return wishes;
}

// Switches off what is on without one that it needs, unless it was asked for by name; then what
// needs that. Returns each with the gate that it went with.
struct WentOff {
  Gate gate;
  Gate with;
};
std::vector<WentOff> SwitchOffDependents(const Wishes& wishes, FeatureGates& gates) {
  std::vector<WentOff> gone;
  for (bool changed = true; changed;) {
    changed = false;
    for (const GateInfo& row : kTable) {
      if (!gates.Enabled(row.gate) || wishes.gates[static_cast<std::size_t>(row.gate)]) continue;
      const auto needed =
          std::ranges::find_if(row.depends_on, [&](Gate needed) { return !gates.Enabled(needed); });
      if (needed == row.depends_on.end()) continue;
      gates.Set(row.gate, false);
      gone.push_back({row.gate, *needed});
      changed = true;
    }
  }
  return gone;
}

FeatureGates Apply(const Wishes& wishes, const FeatureGates& base) {
  FeatureGates gates = base;
  for (const GateInfo& row : kTable) {
    const auto& named = wishes.gates[static_cast<std::size_t>(row.gate)];
    const auto& stage = row.stage == kAlpha ? wishes.all_alpha : wishes.all_beta;
    if (named) {
      gates.Set(row.gate, *named);
    } else if (row.stage != kGa && stage) {
      gates.Set(row.gate, *stage);
    }
  }
  return gates;
}

}  // namespace

std::string_view NameOf(GateStage stage) {
  switch (stage) {
    case kAlpha:
      return "ALPHA";
    case kBeta:
      return "BETA";
    case kGa:
      return "GA";
  }
  DRAY_CHECK(false, "a stage without a name");
}

std::span<const GateInfo> GateTable() { return kTable; }

const GateInfo& InfoOf(Gate gate) { return kTable[kRowOf[static_cast<std::size_t>(gate)]]; }

std::optional<Gate> FindGate(std::string_view name) {
  const auto row = std::ranges::lower_bound(kTable, name, {}, &GateInfo::name);
  if (row == kTable.end() || row->name != name) return std::nullopt;
  return row->gate;
}

FeatureGates::FeatureGates() {
  for (const GateInfo& row : kTable) Set(row.gate, row.dray_default);
}

FeatureGates FeatureGates::KubernetesDefaults() {
  FeatureGates gates;
  for (const GateInfo& row : kTable) gates.Set(row.gate, row.kubernetes_default);
  return gates;
}

StatusOr<FeatureGates> FeatureGates::Parse(std::string_view text, const FeatureGates& base) {
  DRAY_ASSIGN_OR_RETURN(const Wishes wishes, ParseWishes(text));
  if (wishes.gates[static_cast<std::size_t>(kDynamicResourceAllocation)] == false) {
    return base::InvalidArgument(
        "feature gate DynamicResourceAllocation cannot be switched off: it is what dray does");
  }
  FeatureGates gates = Apply(wishes, base);
  SwitchOffDependents(wishes, gates);
  DRAY_RETURN_IF_ERROR(gates.CheckDependencies());
  return gates;
}

std::vector<std::string> GateNotes(std::string_view text, const FeatureGates& base) {
  const auto wishes = ParseWishes(text);
  if (!wishes.ok()) return {};
  FeatureGates gates = Apply(*wishes, base);
  std::vector<std::string> notes;
  for (const auto& [gate, with] : SwitchOffDependents(*wishes, gates)) {
    notes.push_back(fmt::format("feature gate {} is off, too: it needs {}, which is off",
                                InfoOf(gate).name, InfoOf(with).name));
  }
  return notes;
}

Status FeatureGates::CheckDependencies() const {
  std::string faults;
  for (const GateInfo& row : kTable) {
    if (!Enabled(row.gate)) continue;
    for (const Gate needed : row.depends_on) {
      if (Enabled(needed)) continue;
      if (!faults.empty()) faults += "; ";
      faults += fmt::format("feature gate {} is on but needs {}, which is off", row.name,
                            InfoOf(needed).name);
    }
  }
  return faults.empty() ? absl::OkStatus() : base::InvalidArgument(faults);
}

}  // namespace dray::api
