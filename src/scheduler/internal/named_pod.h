// SPDX-License-Identifier: Apache-2.0
//
// A pod as events name it.
#pragma once

#include "api/kinds.h"
#include "api/pod.h"

namespace dray::scheduler {

// Which pod it is, and in which version, without what it asks for and what it does: the whole pod would
// be copied for each event.
inline api::Object NamedOf(const api::Pod& pod) {
  api::Object named = api::Object::New(api::HubKind(api::TypeInfoOf<api::Pod>()));
  api::ObjectMeta& metadata = named.MutableMetadata();
  metadata.name = pod.metadata.name;
  metadata.namespace_ = pod.metadata.namespace_;
  metadata.uid = pod.metadata.uid;
  metadata.resource_version = pod.metadata.resource_version;
  return named;
}

}  // namespace dray::scheduler
