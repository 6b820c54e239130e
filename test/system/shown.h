// SPDX-License-Identifier: Apache-2.0
//
// Small things that several files here say about objects.
#pragma once

#include <string>

#include "api/kinds.h"
#include "api/pod.h"

namespace dray::system {

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

// "namespace/name"
inline std::string Shown(const api::ObjectMeta& metadata) {
  return metadata.namespace_ + "/" + metadata.name;
}

inline bool Ended(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace dray::system
