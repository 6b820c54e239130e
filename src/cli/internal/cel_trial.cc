// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/cel_trial.h"

#include "api/json.h"
#include "api/resource_slice.h"
#include "cel/device_errors.h"
#include "cel/device_values.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

DeviceTrial TryOn(const cel::Program& program, cel::Purpose purpose,
                  const api::ResourceSliceSpec& slice, const api::Device& device) {
  DeviceTrial trial{.driver = slice.driver, .pool = slice.pool.name, .device = device.name};
  cel::Arena arena;
  const cel::ApiDeviceView view(program.device_reads(), slice.driver, device);
  const cel::EvaluationResult result = cel::Evaluate(program, view, arena);
  trial.cost = result.cost;
  if (result.value.is_error()) {
    trial.error = cel::ErrorText(program, view, result.value);
    trial.hint = cel::ErrorHint(program, view, result.value);
  } else if (purpose == cel::Purpose::kDerivedAttribute) {
    const auto attribute = cel::ToAttribute(result.value);
    if (attribute.ok()) {
      trial.value = api::EncodeJson(*attribute);
    } else {
      trial.error = std::string(base::Message(attribute.status()));
    }
  } else {
    const auto match = cel::ToMatch(result.value);
    if (match.ok()) {
      trial.match = *match;
    } else {
      trial.error = std::string(base::Message(match.status()));
    }
  }
  return trial;
}

}  // namespace

std::vector<DeviceTrial> TryOnDevices(const cel::Program& program, cel::Purpose purpose,
                                      const Manifests& manifests) {
  std::vector<DeviceTrial> trials;
  for (const Manifest& manifest : manifests.manifests) {
    const auto* slice = manifest.object.As<api::ResourceSlice>();
    if (slice == nullptr || !slice->spec.devices) continue;
    for (const api::Device& device : *slice->spec.devices) {
      trials.push_back(TryOn(program, purpose, slice->spec, device));
    }
  }
  return trials;
}

std::vector<std::string> ReadNames(const cel::Reads& reads) {
  if (reads.whole_device) return {"the whole device"};
  std::vector<std::string> names;
  if (reads.driver) names.emplace_back("driver");
  if (reads.name) names.emplace_back("name");
  if (reads.allow_multiple_allocations) names.emplace_back("allowMultipleAllocations");
  if (reads.all_attributes) names.emplace_back("all attributes");
  if (reads.all_capacities) names.emplace_back("all capacities");
  for (const auto& name : reads.attributes) {
    names.push_back(fmt::format("attribute {}/{}", name.domain, name.id));
  }
  for (const auto& name : reads.capacities) {
    names.push_back(fmt::format("capacity {}/{}", name.domain, name.id));
  }
  return names;
}

}  // namespace dray::cli::internal
