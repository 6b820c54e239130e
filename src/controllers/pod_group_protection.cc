// SPDX-License-Identifier: Apache-2.0
#include "controllers/pod_group_protection.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "controllers/pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

std::array<const api::KindInfo*, 2> Kinds() {
  return {&KindOf<api::Pod>(), &KindOf<api::PodGroup>()};
}

std::string In(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}", namespace_, name);
}

}  // namespace

PodGroupProtection::PodGroupProtection(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

void PodGroupProtection::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::PodGroup>() != nullptr) {
    if (after != nullptr) queue().Add(ObjectKey::Of(*after));
    return;
  }
  for (const api::Object* version : {before, after}) {
    if (version == nullptr) continue;
    const api::Pod& pod = *version->As<api::Pod>();
    const std::string_view group = api::GroupNameOf(pod);
    if (group.empty()) continue;
    const std::string drawer = In(pod.metadata.namespace_, group);
    if (version == after && !IsTerminal(pod)) {
      pods_of_group_.Add(drawer, pod.metadata.name);
    } else {
      pods_of_group_.Remove(drawer, pod.metadata.name);
      queue().Add(ObjectKey::Of<api::PodGroup>(pod.metadata.namespace_, group));
    }
  }
}

Status PodGroupProtection::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::ObjectMeta& metadata = found->metadata();
  const auto held = [](const api::ObjectMeta& of) {
    return std::ranges::find(of.finalizers, api::kPodGroupProtection) != of.finalizers.end();
  };
  if (!metadata.deletion_timestamp || !held(metadata)) return {};
  if (!pods_of_group_.At(In(metadata.namespace_, metadata.name)).empty()) return {};
  // A pod that nobody can read may be one of its.
  DRAY_RETURN_IF_ERROR(view().NothingHidden(metadata.namespace_));
  return view().EditObject(*found, [&](api::Object& changed) {
    if (!held(changed.metadata())) return false;
    std::erase(changed.MutableMetadata().finalizers, api::kPodGroupProtection);
    return true;
  });
}

}  // namespace dray::controllers
