// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/moving.h"

#include <utility>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "controllers/object_key.h"
#include "planner/internal/cure_changes.h"
#include "planner/internal/outcomes.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

// Where the scheduler put it, or nowhere.
std::optional<std::string> Try(Sandbox& sandbox, api::Object pod) {
  const std::string space = pod.metadata().namespace_;
  const std::string name = pod.metadata().name;
  sandbox.Put(std::move(pod));
  sandbox.TryOnce();
  std::string node;
  const auto now = sandbox.cluster().Stored(KindOf<api::Pod>(), space, name);
  if (now) node = now->As<api::Pod>()->spec.node_name;
  if (node.empty()) node = sandbox.rehearsal().WaitsFor(KeyOf(space, name));
  if (!node.empty()) return node;
  // It would be tried again with whoever comes next.
  sandbox.Remove(KindOf<api::Pod>(), space, name);
  return std::nullopt;
}

}  // namespace

api::Object Unplaced(const api::Object& given) {
  api::Object object = given;
  api::Pod& pod = *object.Mutable<api::Pod>();
  pod.spec.node_name.clear();
  api::PodStatus status;
  status.phase = api::kPodPending;
  status.resource_claim_statuses = std::move(pod.status.resource_claim_statuses);
  pod.status = std::move(status);
  return object;
}

api::Object Unallocated(const api::Object& given) {
  api::Object object = given;
  object.Mutable<api::ResourceClaim>()->status = {};
  return object;
}

void TakeOff(Sandbox& sandbox, const api::Object& object) {
  const api::Pod& pod = *object.As<api::Pod>();
  const std::string& space = pod.metadata.namespace_;
  sandbox.Remove(object.kind(), space, pod.metadata.name);
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto name = claims.NameOf(entry);
    if (!name) continue;
    const auto claim = sandbox.cluster().Stored(KindOf<api::ResourceClaim>(), space, *name);
    if (claim) sandbox.Put(Unallocated(*claim));
  }
  // The scheduler makes another one.
  const auto& extended = pod.status.extended_resource_claim_status;
  if (extended) {
    sandbox.Remove(KindOf<api::ResourceClaim>(), space, extended->resource_claim_name);
  }
}

bool PlaceOn(Sandbox& sandbox, const api::Object& pod, const std::string& node) {
  api::Object pinned = pod;
  Pin(*pinned.Mutable<api::Pod>(), node);
  return Try(sandbox, std::move(pinned)).has_value();
}

std::optional<std::string> PlaceAnywhere(Sandbox& sandbox, const api::Object& pod,
                                         const std::set<std::string>& but) {
  api::Object elsewhere = pod;
  for (const std::string& node : but) Shun(*elsewhere.Mutable<api::Pod>(), node);
  return Try(sandbox, std::move(elsewhere));
}

void Move(const std::map<std::string, std::string>& to, std::vector<api::Object>& objects) {
  std::set<std::string> cleared;
  std::set<std::string> gone;
  for (api::Object& object : objects) {
    const auto* pod = object.As<api::Pod>();
    if (pod == nullptr) continue;
    const auto found = to.find(KeyOf(pod->metadata));
    if (found == to.end()) continue;
    const std::string& space = pod->metadata.namespace_;
    const api::ClaimsOfPod claims(*pod);
    // Those of a pod that only waits may be others' too.
    const bool had_them = !pod->spec.node_name.empty();
    for (const api::PodResourceClaim& entry : pod->spec.resource_claims) {
      const auto name = claims.NameOf(entry);
      if (name && had_them) cleared.insert(KeyOf(space, *name));
    }
    const auto& extended = pod->status.extended_resource_claim_status;
    if (extended && had_them) gone.insert(KeyOf(space, extended->resource_claim_name));
    api::Object moved = Unplaced(object);
    Pin(*moved.Mutable<api::Pod>(), found->second);
    object = std::move(moved);
  }
  std::erase_if(objects, [&](const api::Object& object) {
    return object.As<api::ResourceClaim>() != nullptr && gone.contains(KeyOf(object.metadata()));
  });
  for (api::Object& object : objects) {
    if (object.As<api::ResourceClaim>() != nullptr && cleared.contains(KeyOf(object.metadata()))) {
      object = Unallocated(object);
    }
  }
}

}  // namespace dray::planner::internal
