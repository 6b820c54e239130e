// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/open_volumes.h"

#include <set>

#include "api/cluster.h"
#include "api/pod.h"
#include "fmt/format.h"
#include "planner/internal/outcomes.h"
#include "scheduler/volumes.h"

namespace dray::planner::internal {
namespace {

constexpr std::size_t kNamed = 3;

// Whether a plan can say nothing about where the volume would be.
bool IsOpen(const api::Pod& pod, const api::Volume& volume, const scheduler::Volumes& volumes,
            bool missing_too) {
  const std::string name = scheduler::VolumeClaimName(pod, volume);
  if (name.empty()) return false;
  const auto claim = volumes.FindClaim(pod.metadata.namespace_, name);
  if (claim == nullptr) return missing_too || volume.ephemeral.has_value();
  if (claim->bound() || claim->metadata.deletion_timestamp || claim->status.phase == "Lost") {
    return false;
  }
  const std::string_view class_name = claim->class_name();
  const scheduler::StorageClass* storage =
      class_name.empty() ? nullptr : volumes.FindClass(class_name);
  return storage == nullptr || !storage->waits_for_consumer() || !claim->spec.volume_name.empty();
}

}  // namespace

OpenVolumes::OpenVolumes(std::vector<api::Object>& objects, bool missing_too,
                         std::vector<std::string>& notes) {
  scheduler::Volumes volumes;
  for (const api::Object& object : objects) {
    if (scheduler::Volumes::Concerns(object)) {
      volumes.Apply({.kind = api::Change::Kind::kAdded, .object = object});
    }
  }
  std::set<std::string> names;
  for (api::Object& object : objects) {
    const auto* pod = object.As<api::Pod>();
    if (pod == nullptr || !pod->spec.node_name.empty()) continue;
    bool any = false;
    for (const api::Volume& volume : pod->spec.volumes) {
      if (!IsOpen(*pod, volume, volumes, missing_too)) continue;
      any = true;
      names.insert(KeyOf(pod->metadata.namespace_, scheduler::VolumeClaimName(*pod, volume)));
    }
    if (!any) continue;
    volumes_.emplace(KeyOf(pod->metadata), pod->spec.volumes);
    api::Pod& open = *object.Mutable<api::Pod>();
    std::erase_if(open.spec.volumes, [&](const api::Volume& volume) {
      return IsOpen(open, volume, volumes, missing_too);
    });
  }
  if (names.empty()) return;
  std::string shown;
  std::size_t n = 0;
  for (const std::string& name : names) {
    if (n++ == kNamed) break;
    shown.append(shown.empty() ? "" : ", ").append(name);
  }
  notes.push_back(
      fmt::format("PersistentVolumeClaim{} {}{} {} missing or not bound; planned as if {} could be "
                  "used on every node",
                  names.size() == 1 ? "" : "s", shown, names.size() > kNamed ? ", ..." : "",
                  names.size() == 1 ? "is" : "are", names.size() == 1 ? "it" : "they"));
}

void OpenVolumes::Restore(std::vector<api::Object>& objects) const {
  if (volumes_.empty()) return;
  for (api::Object& object : objects) {
    if (object.As<api::Pod>() == nullptr) continue;
    const auto found = volumes_.find(KeyOf(object.metadata()));
    if (found != volumes_.end()) object.Mutable<api::Pod>()->spec.volumes = found->second;
  }
}

}  // namespace dray::planner::internal
