// SPDX-License-Identifier: Apache-2.0
//
// Definition: a CustomResourceDefinition, as far as anybody here works with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crd/schema.h"

namespace dray::crd {

inline constexpr std::string_view kGroup = "apiextensions.k8s.io";
inline constexpr std::string_view kKind = "CustomResourceDefinition";
inline constexpr std::string_view kCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Definitions that one server has at most, and versions that one definition has.
inline constexpr std::size_t kMaxDefinitions = 1'000;
inline constexpr std::size_t kMaxVersions = 50;

struct Names {
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  friend bool operator==(const Names&, const Names&) = default;
};

// A column of `kubectl get`.
struct Column {
  std::string name;
  std::string type;
  std::string format;
  std::string description;
  std::int64_t priority = 0;
  std::string json_path;
  friend bool operator==(const Column&, const Column&) = default;
};

struct Scale {
  std::string spec_replicas_path;
  std::string status_replicas_path;
  std::string label_selector_path;
  friend bool operator==(const Scale&, const Scale&) = default;
};

struct Version {
  std::string name;
  bool served = false;
  bool storage = false;
  bool deprecated = false;
  std::optional<std::string> deprecation_warning;
  std::optional<DocumentNode> schema;  // openAPIV3Schema
  bool status = false;
  std::optional<Scale> scale;
  std::vector<Column> columns;
  std::vector<std::string> selectable_fields;
};

struct Condition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::string last_transition_time;
};

struct Definition {
  std::string name;  // metadata.name
  bool deleted = false;
  std::int64_t generation = 0;
  std::optional<std::string> approval;  // the annotation api-approved.kubernetes.io
  std::string group;
  Names names;
  std::string scope;
  std::vector<Version> versions;
  std::optional<bool> preserve_unknown_fields;
  std::string conversion;  // the strategy; empty: none is said
  bool conversion_webhook = false;

  Names accepted_names;
  std::vector<Condition> conditions;
  std::vector<std::string> stored_versions;

  const Version* FindVersion(std::string_view version) const;
  const Version* StorageVersion() const;
  bool Is(std::string_view condition) const;
};

// Of an object's JSON. What is missing is empty.
Definition ReadDefinition(const DocumentNode& object);

// What the server fills in: singular, listKind, the strategy None.
void SetDefinitionDefaults(DocumentNode& object);

// v2 before v1 before v1beta1: as Kubernetes prefers them.
bool IsPreferred(std::string_view a, std::string_view b);

}  // namespace dray::crd
