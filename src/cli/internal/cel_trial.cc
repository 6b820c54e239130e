// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/cel_trial.h"

#include "api/json.h"
#include "api/resource_slice.h"

namespace dray::cli::internal {

std::vector<DeviceTrial> TryOnDevices(const cel::Program& program, cel::Purpose purpose,
                                      const Manifests& manifests) {
  std::vector<DeviceTrial> trials;
  for (const Manifest& manifest : manifests.manifests) {
    const auto* slice = manifest.object.As<api::ResourceSlice>();
    if (slice == nullptr || !slice->spec.devices) continue;
    for (const api::Device& device : *slice->spec.devices) {
      cel::DeviceTrial tried = cel::TryOn(program, purpose, slice->spec.driver, device);
      DeviceTrial& trial = trials.emplace_back();
      trial.driver = slice->spec.driver;
      trial.pool = slice->spec.pool.name;
      trial.device = device.name;
      trial.error = std::move(tried.error);
      trial.hint = std::move(tried.hint);
      trial.match = tried.match;
      if (tried.attribute) trial.value = api::EncodeJson(*tried.attribute);
      trial.cost = tried.cost;
    }
  }
  return trials;
}

}  // namespace dray::cli::internal
