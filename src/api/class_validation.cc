// SPDX-License-Identifier: Apache-2.0
#include "api/field_table.h"
#include "api/internal/claim_validation.h"
#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"

namespace dray::api::internal {
namespace {

void CheckConfig(Report& report, const Path& at,
                 const std::vector<DeviceClassConfiguration>& config, bool stored) {
  if (!CheckSize(report, at, config.size(), kDeviceConfigMaxSize)) return;
  for (std::size_t i = 0; i < config.size(); ++i) {
    ValidateOpaqueConfiguration(report, at.Index(i), config[i].opaque, stored);
  }
}

}  // namespace

void ValidateClass(Report& report, const DeviceClass& object, const DeviceClass* old) {
  const Path at("spec");
  const DeviceClassSpec& spec = object.spec;
  const bool same_selectors = old != nullptr && SemanticEqual(spec.selectors, old->spec.selectors);
  const bool same_config = old != nullptr && SemanticEqual(spec.config, old->spec.config);
  ValidateSelectors(report, at.Child("selectors"), spec.selectors, same_selectors);
  CheckConfig(report, at.Child("config"), spec.config, same_config);
  if (spec.extended_resource_name) {
    CheckExtendedResourceName(report, at.Child("extendedResourceName"),
                              *spec.extended_resource_name);
  }
}

}  // namespace dray::api::internal
