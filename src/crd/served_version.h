// SPDX-License-Identifier: Apache-2.0
//
// ServedVersion: a version of a definition, ready to work with its objects.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/errors.h"
#include "api/kinds.h"
#include "crd/definition.h"
#include "crd/field_types.h"
#include "crd/json_path.h"
#include "crd/rules.h"
#include "crd/validator.h"
#include "crd/values.h"

namespace dray::crd {

// Objects are trees with apiVersion, kind and metadata. Thread-safe: immutable.
class ServedVersion {
 public:
  // `definition` is valid, and has `version`.
  ServedVersion(const Definition& definition, const Version& version);
  ServedVersion(const ServedVersion&) = delete;
  ServedVersion& operator=(const ServedVersion&) = delete;

  const std::string& name() const { return name_; }
  const Schema& schema() const { return schema_; }
  const FieldTypes& field_types() const { return types_; }
  bool has_status() const { return has_status_; }
  // What those who use it are told in a warning; empty: nothing.
  const std::string& deprecation() const { return deprecation_; }

  struct Replicas {
    std::vector<std::string> spec;  // the fields that lead there
    std::vector<std::string> status;
    std::vector<std::string> selector;  // empty: none
  };
  const std::optional<Replicas>& scale() const { return scale_; }

  struct ShownColumn {
    Column column;
    std::optional<JsonPath> path;
  };
  const std::vector<ShownColumn>& columns() const { return columns_; }

  struct SelectableField {
    std::string name;  // spec.color
    JsonPath path;
  };
  const std::vector<SelectableField>& selectable_fields() const { return selectable_; }

  // What is sent: members that the schema does not name go (their paths are told), defaults come.
  std::vector<std::string> Admit(DocumentNode& object) const;
  // What was stored: defaults that are newer than it.
  void Complete(DocumentNode& object) const { SetDefaults(schema_, object); }

  // All that the schema says. `old`: what is stored, for an update.
  api::ErrorList Check(const DocumentNode& object, const DocumentNode* old) const;

 private:
  const std::string name_;
  const bool has_status_;
  const Schema schema_;
  const Validator validator_;
  const std::unique_ptr<const Rules> rules_;
  const FieldTypes types_;
  std::string deprecation_;
  std::optional<Replicas> scale_;
  std::vector<ShownColumn> columns_;
  std::vector<SelectableField> selectable_;
};

}  // namespace dray::crd
