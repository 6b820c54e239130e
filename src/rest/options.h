// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are no objects of a store: how to delete, where to bind, what to evict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/event.h"
#include "api/field_table.h"
#include "api/meta.h"

namespace dray::rest {

struct Preconditions {
  std::optional<std::string> uid;
  std::optional<std::string> resource_version;
};
const api::StructInfo& InfoOf(const Preconditions*);

struct DeleteOptionsBody {
  std::optional<std::int64_t> grace_period_seconds;
  std::optional<Preconditions> preconditions;
  std::optional<bool> orphan_dependents;  // the older word for propagationPolicy: Orphan
  std::optional<std::string> propagation_policy;
  std::vector<std::string> dry_run;
};
const api::StructInfo& InfoOf(const DeleteOptionsBody*);

struct EvictionBody {
  api::ObjectMeta metadata;
  std::optional<DeleteOptionsBody> delete_options;
};
const api::StructInfo& InfoOf(const EvictionBody*);

struct BindingBody {
  api::ObjectMeta metadata;
  api::ObjectReference target;
};
const api::StructInfo& InfoOf(const BindingBody*);

}  // namespace dray::rest
