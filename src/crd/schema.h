// SPDX-License-Identifier: Apache-2.0
//
// Schema: what a CustomResourceDefinition says of its objects: OpenAPI v3's words that Kubernetes
// takes, and its own (x-kubernetes-*). Read from a tree; whether it makes sense is
// schema_validation.h's question.
//
// Spec: apiextensions.k8s.io/v1 JSONSchemaProps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/field_path.h"
#include "rest/tree.h"

namespace dray::crd {

using api::DocumentNode;
using base::FieldPath;

// Bounds on what one schema may be. The largest that are known have some ten thousand values and
// are thirty deep.
inline constexpr int kMaxSchemaDepth = 64;
inline constexpr std::size_t kMaxSchemaNodes = 100'000;

// x-kubernetes-validations: an expression that holds of every value.
struct Rule {
  std::string rule;
  std::string message;
  std::string message_expression;
  std::string reason;  // empty: not said
  std::string field_path;
  std::optional<bool> optional_old_self;

  friend bool operator==(const Rule&, const Rule&) = default;
};

struct Schema;

struct Property {
  std::string name;
  std::unique_ptr<Schema> schema;  // never null
};

// Moves, does not copy. Immutable once it was read; then thread-safe.
struct Schema {
  std::string type;
  std::string format;
  std::string title;
  std::string description;
  std::optional<DocumentNode> default_value;  // null is none, as in Kubernetes
  bool nullable = false;

  std::optional<double> maximum;
  std::optional<double> minimum;
  bool exclusive_maximum = false;
  bool exclusive_minimum = false;
  std::optional<double> multiple_of;
  std::optional<std::int64_t> max_length;
  std::optional<std::int64_t> min_length;
  std::string pattern;
  std::optional<std::int64_t> max_items;
  std::optional<std::int64_t> min_items;
  bool unique_items = false;
  std::optional<std::int64_t> max_properties;
  std::optional<std::int64_t> min_properties;
  std::vector<std::string> required;
  std::vector<DocumentNode> one_of_values;  // enum

  std::unique_ptr<Schema> items;
  std::vector<Property> properties;    // sorted by name
  bool has_additional = false;         // additionalProperties are said:
  bool allows_additional = false;      // anything, or
  std::unique_ptr<Schema> additional;  // what this says
  std::vector<Schema> all_of;
  std::vector<Schema> any_of;
  std::vector<Schema> one_of;
  std::unique_ptr<Schema> not_;

  std::optional<bool> preserve_unknown;
  bool embedded_resource = false;
  bool int_or_string = false;
  std::vector<std::string> list_map_keys;
  std::optional<std::string> list_type;
  std::optional<std::string> map_type;
  std::vector<Rule> rules;

  // What is there and may not be: named in errors, not looked into.
  bool items_are_many = false;
  std::vector<std::string> unsupported;  // "id", "$ref", "definitions", ...
  std::optional<DocumentNode> external_docs;
  std::optional<DocumentNode> example;

  // Null when there is none.
  const Schema* FindProperty(std::string_view name) const;
  bool Preserves() const { return preserve_unknown.value_or(false); }
};

struct ReadSchema {
  Schema schema;
  // Members that no schema has, by path, and where they are in the tree that was read; and values of
  // the wrong type ("type must be a string").
  std::vector<FieldPath> unknown;
  std::vector<const api::Member*> unknown_members;
  std::vector<std::pair<FieldPath, std::string>> faults;
  // Too deep or too large: the rest was not read.
  std::string exceeds;
};

ReadSchema ReadSchemaFrom(const DocumentNode& tree, const FieldPath& at = {});

// Of a number as JSON writes it.
std::optional<double> NumberOf(const DocumentNode& node);
// Whether a JSON number has no fraction, however it is written; and fits.
std::optional<std::int64_t> IntegerOf(const DocumentNode& node);

}  // namespace dray::crd
