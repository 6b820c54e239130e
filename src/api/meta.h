// SPDX-License-Identifier: Apache-2.0
//
// metav1: what every object carries, and the small structs that several groups share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/map.h"
#include "api/values.h"
#include "base/time.h"

namespace dray::api {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  std::optional<bool> controller;
  std::optional<bool> block_owner_deletion;
  UnknownFields unknown;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};
const StructInfo& InfoOf(const OwnerReference*);

// Kept for a round trip and for server-side apply; nothing else reads it.
struct ManagedFieldsEntry {
  std::string manager;
  std::string operation;
  std::string api_version;
  std::optional<base::Time> time;
  std::string fields_type;
  RawJson fields_v1;
  std::string subresource;
  UnknownFields unknown;
  friend bool operator==(const ManagedFieldsEntry&, const ManagedFieldsEntry&) = default;
};
const StructInfo& InfoOf(const ManagedFieldsEntry*);

struct ObjectMeta {
  std::string name;
  std::string generate_name;
  std::string namespace_;  // empty for cluster-scoped objects
  std::string self_link;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  std::optional<base::Time> creation_timestamp;
  std::optional<base::Time> deletion_timestamp;
  std::optional<std::int64_t> deletion_grace_period_seconds;
  Map<std::string> labels;
  Map<std::string> annotations;
  std::vector<OwnerReference> owner_references;
  std::vector<std::string> finalizers;
  std::vector<ManagedFieldsEntry> managed_fields;
  UnknownFields unknown;
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};
const StructInfo& InfoOf(const ObjectMeta*);

// What an update cannot say, whatever the kind: the generation is the stored one (the kind's
// preparation counts it up), a missing uid is the stored one, and so are the times of creation and
// deletion.
void KeepServerFields(ObjectMeta& metadata, const ObjectMeta& old);

// The owner with `controller: true`, or null.
const OwnerReference* FindController(const ObjectMeta& metadata);

struct ListMeta {
  std::string self_link;
  std::string resource_version;
  std::string continue_token;  // "continue"
  std::optional<std::int64_t> remaining_item_count;
  UnknownFields unknown;
  friend bool operator==(const ListMeta&, const ListMeta&) = default;
};
const StructInfo& InfoOf(const ListMeta*);

struct Condition {
  std::string type;
  std::string status;  // True, False, Unknown
  std::int64_t observed_generation = 0;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const Condition&, const Condition&) = default;
};
const StructInfo& InfoOf(const Condition*);

struct LabelSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
  UnknownFields unknown;
  friend bool operator==(const LabelSelectorRequirement&,
                         const LabelSelectorRequirement&) = default;
};
const StructInfo& InfoOf(const LabelSelectorRequirement*);

struct LabelSelector {
  Map<std::string> match_labels;
  std::vector<LabelSelectorRequirement> match_expressions;
  UnknownFields unknown;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
const StructInfo& InfoOf(const LabelSelector*);

}  // namespace dray::api
