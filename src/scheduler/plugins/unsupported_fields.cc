// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/unsupported_fields.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {
namespace {

struct Unsupported {
  std::string_view field;
  std::string_view why;
};

constexpr std::string_view kLimits = "limits of attached volumes per node are not supported";
constexpr std::string_view kConflicts = "conflicts between mounted disks are not supported";

// At most one source of a volume is set.
Unsupported UnsupportedIn(const api::Volume& v) {
  if (v.azure_disk.has_value()) return {"azureDisk", kLimits};
  if (v.cinder.has_value()) return {"cinder", kLimits};
  if (v.vsphere_volume.has_value()) return {"vsphereVolume", kLimits};
  if (v.portworx_volume.has_value()) return {"portworxVolume", kLimits};
  if (v.gce_persistent_disk.has_value()) return {"gcePersistentDisk", kConflicts};
  if (v.aws_elastic_block_store.has_value()) return {"awsElasticBlockStore", kConflicts};
  if (v.iscsi.has_value()) return {"iscsi", kConflicts};
  if (v.rbd.has_value()) return {"rbd", kConflicts};
  return {};
}

}  // namespace

PluginStatus UnsupportedFields::PreFilter(CycleState&, const PodInfo& pod, World& world) {
  const api::PodSpec& spec = pod.pod->spec;
  PluginStatus status = PluginStatus::Skip();
  const auto refuse = [&](std::string text) {
    status.code = PluginStatus::Code::kUnresolvable;
    status.reasons.push_back({.code = "unsupported_field", .text = std::move(text)});
  };
  for (std::size_t i = 0; i < spec.volumes.size(); ++i) {
    const Unsupported found = UnsupportedIn(spec.volumes[i]);
    if (!found.field.empty()) {
      refuse(fmt::format("spec.volumes[{}].{}: {}", i, found.field, found.why));
    }
  }
  if (spec.scheduling_group.has_value() && !world.gates().Enabled(api::Gate::kGenericWorkload)) {
    refuse("spec.schedulingGroup: the feature gate GenericWorkload is off");
  }
  return status;
}

Hint UnsupportedFields::Wake(const PodInfo& pod, const api::Change& change,
                             const api::Object* old) {
  const PodChange seen = ReadPodChange(pod, change, old);
  const bool changed = seen.kind == PodChange::Kind::kOwn && seen.before != nullptr &&
                       seen.after != nullptr && seen.before->spec != seen.after->spec;
  return changed ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler
