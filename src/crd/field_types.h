// SPDX-License-Identifier: Apache-2.0
//
// A schema as a field table: what is a map, a set or a keyed list when two writers meet. Server-side
// apply walks objects by it (rest/apply_tree.h); nothing is decoded with it.
#pragma once

#include <deque>
#include <string>

#include "api/field_table.h"
#include "crd/schema.h"

namespace dray::crd {

// Immutable once made; thread-safe.
class FieldTypes {
 public:
  // Of whole objects: metadata is what it is everywhere.
  explicit FieldTypes(const Schema& schema);
  FieldTypes(const FieldTypes&) = delete;
  FieldTypes& operator=(const FieldTypes&) = delete;

  const api::TypeInfo& root() const { return *root_; }

 private:
  const api::TypeInfo* Make(const Schema& schema, bool root);
  api::TypeInfo& New(api::Shape shape);
  std::string_view Keep(std::string text);
  api::FieldOptions OptionsOf(const Schema& schema);
  void AddField(api::StructInfo& info, std::string_view name, const api::TypeInfo* type,
                const api::FieldOptions& options);

  std::deque<api::TypeInfo> types_;
  std::deque<api::StructInfo> structs_;
  std::deque<std::string> texts_;
  const api::TypeInfo* any_ = nullptr;  // whatever it is: maps by their keys, lists as a whole
  const api::TypeInfo* root_ = nullptr;
};

}  // namespace dray::crd
