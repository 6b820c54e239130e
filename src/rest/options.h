// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are no objects of a store: how to delete, where to bind, what to evict, how many to
// have, who may do what.
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
  std::optional<bool> ignore_store_read_error;  // remove what cannot be read
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

// autoscaling/v1's Scale, as far as a client sets it.
struct ScaleSpecBody {
  std::int32_t replicas = 0;
};
const api::StructInfo& InfoOf(const ScaleSpecBody*);

struct ScaleBody {
  api::ObjectMeta metadata;
  ScaleSpecBody spec;
};
const api::StructInfo& InfoOf(const ScaleBody*);

// authentication.k8s.io/v1's SelfSubjectReview: who am I?
struct SelfReviewBody {
  api::ObjectMeta metadata;
};
const api::StructInfo& InfoOf(const SelfReviewBody*);

// authorization.k8s.io/v1's SelfSubjectAccessReview: may I?
struct ResourceAttributes {
  std::string namespace_;
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string name;
};
const api::StructInfo& InfoOf(const ResourceAttributes*);

struct NonResourceAttributes {
  std::string path;
  std::string verb;
};
const api::StructInfo& InfoOf(const NonResourceAttributes*);

struct AccessReviewSpec {
  std::optional<ResourceAttributes> resource_attributes;
  std::optional<NonResourceAttributes> non_resource_attributes;
};
const api::StructInfo& InfoOf(const AccessReviewSpec*);

struct AccessReviewBody {
  api::ObjectMeta metadata;
  AccessReviewSpec spec;
};
const api::StructInfo& InfoOf(const AccessReviewBody*);

// authorization.k8s.io/v1's SelfSubjectRulesReview: what may I?
struct RulesReviewSpec {
  std::string namespace_;
};
const api::StructInfo& InfoOf(const RulesReviewSpec*);

struct RulesReviewBody {
  api::ObjectMeta metadata;
  RulesReviewSpec spec;
};
const api::StructInfo& InfoOf(const RulesReviewBody*);

}  // namespace dray::rest
