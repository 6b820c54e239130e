// SPDX-License-Identifier: Apache-2.0
//
// scheduling.k8s.io/v1 PriorityClass: a name for a pod priority.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"

namespace dray::api {

struct PriorityClass {
  ObjectMeta metadata;
  std::int32_t value = 0;
  bool global_default = false;
  std::string description;
  std::optional<std::string> preemption_policy;  // unset: PreemptLowerPriority
  UnknownFields unknown;
  friend bool operator==(const PriorityClass&, const PriorityClass&) = default;
};
const StructInfo& InfoOf(const PriorityClass*);

}  // namespace dray::api
