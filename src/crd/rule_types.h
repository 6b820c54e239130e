// SPDX-License-Identifier: Apache-2.0
//
// What a schema is to expressions: the type of `self`, and how large what lies in it can be, which
// is what estimates of cost go by.
//
// Spec: Kubernetes's declaration types of structural schemas. Schemas that say nothing of what they
// allow (x-kubernetes-preserve-unknown-fields without a type) are not shown to expressions, nor is
// what holds them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/environment.h"
#include "crd/schema.h"

namespace dray::crd {

// A request is not larger, so that nothing in it is.
inline constexpr std::int64_t kMaxRequestBytes = 3 * 1024 * 1024;

struct RuleType;
using RuleTypePtr = std::shared_ptr<const RuleType>;

// Immutable.
struct RuleType {
  enum class Kind : std::uint8_t {
    kDyn,
    kBool,
    kInt,
    kDouble,
    kString,
    kBytes,
    kDuration,
    kTimestamp,
    kList,
    kMap,
    kObject,
  };
  struct Field {
    std::string name;    // as expressions write it
    std::string member;  // as JSON has it
    RuleTypePtr type;
  };

  Kind kind = Kind::kDyn;
  std::int64_t max_elements = 0;  // characters, items or entries
  std::int64_t min_size = 0;      // of its JSON
  RuleTypePtr element;            // kList, kMap
  std::vector<Field> fields;      // kObject, by name
  bool nullable = false;
  bool int_or_string = false;
  std::string list_type = {};                   // kList: as the schema says
  std::vector<std::string> list_map_keys = {};  // kList of type map

  const Field* FindField(std::string_view name) const;
};

// Null: expressions do not see it. `root`: a whole object, whose names are always there.
RuleTypePtr RuleTypeOf(const Schema& schema, bool root);

// A name of JSON as one of expressions: "a-b" is a__dash__b. Nothing: it has none.
std::optional<std::string> Escaped(std::string_view name);

// The environment of rules on values of that type: `self` and `oldSelf`, the latter an optional when
// `optional_old_self`.
std::shared_ptr<const cel::Environment> RuleEnvironment(const RuleTypePtr& type,
                                                        bool optional_old_self);

// How often a value of that type can be in an object, if nothing bounds the lists around it.
std::uint64_t MaxCardinality(const RuleType& type);

}  // namespace dray::crd
