// SPDX-License-Identifier: Apache-2.0
//
// v1 ServiceAccount: who the processes of a pod are to the API.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/event.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/values.h"

namespace dray::api {

struct ServiceAccount {
  ObjectMeta metadata;
  std::vector<ObjectReference> secrets;
  std::vector<LocalObjectReference> image_pull_secrets;
  std::optional<bool> automount_service_account_token;  // unset: yes
  UnknownFields unknown;
  friend bool operator==(const ServiceAccount&, const ServiceAccount&) = default;
};
const StructInfo& InfoOf(const ServiceAccount*);

}  // namespace dray::api
