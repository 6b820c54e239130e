// SPDX-License-Identifier: Apache-2.0
//
// What controllers ask about a pod.
#pragma once

#include "api/meta.h"
#include "api/pod.h"

namespace dray::controllers {

// Its containers have ended for good.
inline bool IsTerminal(const api::Pod& pod) {
  return pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed;
}
// None of its containers runs, and none will.
inline bool IsDone(const api::Pod& pod) {
  return IsTerminal(pod) ||
         (pod.metadata.deletion_timestamp.has_value() && pod.spec.node_name.empty());
}

// The pod that controls an object; null when another kind of object does, or none.
inline const api::OwnerReference* OwningPod(const api::ObjectMeta& metadata) {
  const api::OwnerReference* owner = api::FindController(metadata);
  const bool pod = owner != nullptr && owner->api_version == "v1" && owner->kind == "Pod";
  return pod ? owner : nullptr;
}

}  // namespace dray::controllers
