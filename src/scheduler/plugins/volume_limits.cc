// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/volume_limits.h"

#include <algorithm>
#include <map>
#include <set>

#include "fmt/format.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/volumes.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kOncePod = "ReadWriteOncePod";

// The claims that a pod's volumes are.
std::vector<std::string> ClaimsOf(const api::Pod& pod) {
  std::vector<std::string> names;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (std::string name = VolumeClaimName(pod, volume); !name.empty()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

bool Uses(const api::Pod& pod, std::string_view namespace_, std::string_view claim) {
  return pod.metadata.namespace_ == namespace_ &&
         std::ranges::any_of(pod.spec.volumes, [&](const api::Volume& volume) {
           return VolumeClaimName(pod, volume) == claim;
         });
}

bool HasClaims(const api::Pod& pod) {
  return std::ranges::any_of(pod.spec.volumes, [](const api::Volume& volume) {
    return volume.persistent_volume_claim.has_value() || volume.ephemeral.has_value();
  });
}

// Volumes by driver, each by what tells it from others.
using VolumesByDriver = std::map<std::string, std::set<std::string>, std::less<>>;
void AddVolumes(const Volumes& volumes, const api::Pod& pod, VolumesByDriver& found) {
  for (const std::string& name : ClaimsOf(pod)) {
    const auto claim = volumes.FindClaim(pod.metadata.namespace_, name);
    if (claim == nullptr) continue;
    if (const auto volume = volumes.FindVolume(claim->spec.volume_name)) {
      if (volume->spec.csi) found[volume->spec.csi->driver].insert(volume->spec.csi->volume_handle);
    } else if (const StorageClass* storage = volumes.FindClass(claim->class_name())) {
      // One that is still to be made.
      found[storage->provisioner].insert(fmt::format("{}/{}", pod.metadata.namespace_, name));
    }
  }
}

struct LimitState {
  VolumesByDriver wanted;
};

// Somebody who had claims is gone, or something of them has changed.
Hint WakeForVolumes(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  if (Volumes::Concerns(change.object)) return Hint::kQueue;
  const PodChange other = ReadPodChange(pod, change, old);
  const bool gone = other.kind == PodChange::Kind::kGone && HasClaims(*other.before);
  return gone ? Hint::kQueue : Hint::kSkip;
}

}  // namespace

PluginStatus VolumeRestrictions::PreFilter(CycleState&, const PodInfo& pod, World& world) {
  if (!HasClaims(*pod.pod)) return PluginStatus::Skip();
  const std::string& space = pod.pod->metadata.namespace_;
  for (const std::string& name : ClaimsOf(*pod.pod)) {
    const auto claim = world.volumes().FindClaim(space, name);
    if (claim == nullptr ||
        std::ranges::find(claim->spec.access_modes, kOncePod) == claim->spec.access_modes.end()) {
      continue;
    }
    for (const NodeInfo* node : world.nodes()) {
      for (const auto& other : node->pods) {
        if (other->key == pod.key || !Uses(*other->pod, space, name)) continue;
        return PluginStatus::Unresolvable(
            {.code = "volume_in_use",
             .text = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
                     "access mode already in-use by another pod"});
      }
    }
  }
  return PluginStatus::Skip();
}

Hint VolumeRestrictions::Wake(const PodInfo& pod, const api::Change& change,
                              const api::Object* old) {
  return WakeForVolumes(pod, change, old);
}

PluginStatus NodeVolumeLimits::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  if (!HasClaims(*pod.pod)) return PluginStatus::Skip();
  LimitState& data = state.Get<LimitState>() = {};
  AddVolumes(world_.volumes(), *pod.pod, data.wanted);
  return data.wanted.empty() ? PluginStatus::Skip() : PluginStatus::Success();
}

PluginStatus NodeVolumeLimits::Filter(CycleState& state, const PodInfo&, const NodeInfo& node) {
  const LimitState* data = state.Find<LimitState>();
  if (data == nullptr) return PluginStatus::Success();
  std::optional<VolumesByDriver> used;
  for (const auto& [driver, wanted] : data->wanted) {
    const auto limit = world_.volumes().LimitOn(node.name(), driver);
    if (!limit) continue;
    if (!used) {
      used.emplace();
      for (const auto& pod : node.pods) AddVolumes(world_.volumes(), *pod->pod, *used);
    }
    std::set<std::string> together = (*used)[driver];
    const std::size_t before = together.size();
    together.insert(wanted.begin(), wanted.end());
    if (together.size() > before && together.size() > static_cast<std::size_t>(*limit)) {
      return PluginStatus::Unschedulable(
          {.code = "too_many_volumes", .text = "node(s) exceed max volume count"});
    }
  }
  return PluginStatus::Success();
}

Hint NodeVolumeLimits::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const NodeChange node = ReadNodeChange(change, old);
  if (node.before == nullptr && node.after != nullptr) return Hint::kQueue;
  return WakeForVolumes(pod, change, old);
}

}  // namespace dray::scheduler
