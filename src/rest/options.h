// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are no objects of a store: where to bind, what to evict, how many to have, who may do
// what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/event.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "rest/request_options.h"

namespace dray::rest {

struct EvictionBody {
  api::ObjectMeta metadata;
  std::optional<DeleteOptions> delete_options;
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
struct SelectorRequirement {
  std::string key;
  std::string operator_;
  std::vector<std::string> values;
};
const api::StructInfo& InfoOf(const SelectorRequirement*);

struct SelectorAttributes {
  std::string raw_selector;
  std::vector<SelectorRequirement> requirements;
};
const api::StructInfo& InfoOf(const SelectorAttributes*);

struct ResourceAttributes {
  std::string namespace_;
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string name;
  std::optional<SelectorAttributes> field_selector;
  std::optional<SelectorAttributes> label_selector;
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

// authorization.k8s.io/v1's SubjectAccessReview and LocalSubjectAccessReview: may they?
struct SubjectAccessReviewSpec {
  std::optional<ResourceAttributes> resource_attributes;
  std::optional<NonResourceAttributes> non_resource_attributes;
  std::string user;
  std::vector<std::string> groups;
  api::Map<std::vector<std::string>> extra;
  std::string uid;
};
const api::StructInfo& InfoOf(const SubjectAccessReviewSpec*);

struct SubjectAccessReviewBody {
  api::ObjectMeta metadata;
  SubjectAccessReviewSpec spec;
};
const api::StructInfo& InfoOf(const SubjectAccessReviewBody*);

struct LocalSubjectAccessReviewBody {
  api::ObjectMeta metadata;
  SubjectAccessReviewSpec spec;
};
const api::StructInfo& InfoOf(const LocalSubjectAccessReviewBody*);

// authentication.k8s.io/v1's TokenReview: whose is this token?
struct TokenReviewSpec {
  std::string token;
  std::vector<std::string> audiences;
};
const api::StructInfo& InfoOf(const TokenReviewSpec*);

struct TokenReviewBody {
  api::ObjectMeta metadata;
  TokenReviewSpec spec;
};
const api::StructInfo& InfoOf(const TokenReviewBody*);

// authentication.k8s.io/v1's TokenRequest: a token of a service account.
struct BoundObjectReference {
  std::string kind;
  std::string api_version;
  std::string name;
  std::string uid;
};
const api::StructInfo& InfoOf(const BoundObjectReference*);

struct TokenRequestSpec {
  std::vector<std::string> audiences;
  std::optional<std::int64_t> expiration_seconds;
  std::optional<BoundObjectReference> bound_object_ref;
};
const api::StructInfo& InfoOf(const TokenRequestSpec*);

struct TokenRequestBody {
  api::ObjectMeta metadata;
  TokenRequestSpec spec;
};
const api::StructInfo& InfoOf(const TokenRequestBody*);

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
