// SPDX-License-Identifier: Apache-2.0
//
// Whether a schema may be one: structural, with defaults that are valid themselves and rules that can
// be evaluated at a price.
//
// Spec: Kubernetes's structural schemas and its validation of definitions. Errors are in its words;
// where the order of its maps is any, ours is that of names.
#pragma once

#include "api/errors.h"
#include "crd/schema.h"

namespace dray::crd {

// What the rules of a schema may cost by estimate: each, and all together.
inline constexpr std::uint64_t kRuleCostLimit = 10'000'000;
inline constexpr std::uint64_t kSchemaCostLimit = 100'000'000;

struct SchemaContext {
  bool status_subresource = false;
  // An update that leaves the schema as it was: rules that cost too much by estimate may stay.
  bool unchanged = false;
};

// `at` is that of openAPIV3Schema.
api::ErrorList CheckSchema(const Schema& schema, const FieldPath& at, const SchemaContext& context);

// Only that it is structural.
api::ErrorList CheckStructural(const Schema& schema, const FieldPath& at);

}  // namespace dray::crd
