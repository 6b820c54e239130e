// SPDX-License-Identifier: Apache-2.0
//
// DeviceClass and DeviceTaintRule between decoding and validation.
#include <array>

#include "api/internal/gated_features.h"
#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

constexpr std::array<GatedFeature<DeviceClass>, 1> kClassFeatures = {{
    {Gate::kDRAExtendedResource,
     [](const DeviceClass& c) { return c.spec.extended_resource_name.has_value(); },
     [](DeviceClass& c) { c.spec.extended_resource_name.reset(); }},
}};

}  // namespace

void PrepareForCreate(DeviceClass& device_class, const StrategyOptions& options) {
  device_class.metadata.generation = 1;
  DropDisabled<DeviceClass>(kClassFeatures, options.gates, device_class, nullptr);
}

void PrepareForUpdate(DeviceClass& device_class, const DeviceClass& old,
                      const StrategyOptions& options) {
  DropDisabled<DeviceClass>(kClassFeatures, options.gates, device_class, &old);
  if (!SemanticEqual(device_class.spec, old.spec)) {
    device_class.metadata.generation = old.metadata.generation + 1;
  }
}

void PrepareForCreate(DeviceTaintRule& rule, const StrategyOptions&) {
  rule.status = {};
  rule.metadata.generation = 1;
}

void PrepareForUpdate(DeviceTaintRule& rule, const DeviceTaintRule& old,
                      const StrategyOptions& options) {
  rule.status = old.status;
  // timeAdded says since when the effect holds: how long it is tolerated counts from there. A
  // client that sets another time means it.
  DeviceTaint& taint = rule.spec.taint;
  const DeviceTaint& old_taint = old.spec.taint;
  if (taint.effect != old_taint.effect && taint.time_added == old_taint.time_added) {
    taint.time_added = options.now.TruncateToSeconds();
  }
  if (!SemanticEqual(rule.spec, old.spec)) rule.metadata.generation = old.metadata.generation + 1;
}

void PrepareForStatusUpdate(DeviceTaintRule& rule, const DeviceTaintRule& old,
                            const StrategyOptions&) {
  rule.spec = old.spec;
  ResetMetadataForStatus(rule.metadata, old.metadata);
}

}  // namespace dray::api::internal
