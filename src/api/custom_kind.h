// SPDX-License-Identifier: Apache-2.0
//
// Kinds that come into being while the process runs: somebody has defined them
// (CustomResourceDefinition). dray knows their names and their metadata; what else an object has is
// JSON whose meaning is in its definition.
//
// A name is for ever, as an atom: the row of a kind is made when it is first asked for and lives as
// long as the process, so that an object may outlast the definition of its kind. Which of them are
// served at a moment is another question, which whoever serves answers (rest/served_kinds.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/kinds.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/status.h"

namespace dray::api {

// Everything but apiVersion, kind and metadata is in `unknown`, field by field, as JSON.
struct CustomObject {
  ObjectMeta metadata;
  UnknownFields unknown;
  friend bool operator==(const CustomObject&, const CustomObject&) = default;
};
const StructInfo& InfoOf(const CustomObject*);

struct CustomKindNames {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  bool namespaced = false;
};

// Rows that one process makes. Each costs some hundred bytes that are never given back; a cluster has
// some hundreds.
inline constexpr std::size_t kMaxCustomKinds = 50'000;

// The row by these names. Versions of one kind (same group, kind, plural and scope) share a hub, which
// is the version that was asked for first. ResourceExhausted when there are too many. Thread-safe.
StatusOr<const KindInfo*> CustomKind(const CustomKindNames& names);

// The newest row by that version and kind, whatever its plural; null when nobody has ever asked for
// one. Thread-safe.
const KindInfo* FindCustomKind(std::string_view api_version, std::string_view kind);

// The kind that a CustomResourceDefinition defines, in the version in which it is stored; nothing of
// one that is not served (its names are not accepted), or of another object.
std::optional<CustomKindNames> DefinedKind(const Object& definition);
const KindInfo& DefinitionKind();

// Whether there ever was a row of that version, whatever its kind. Thread-safe.
bool IsCustomVersion(std::string_view api_version);

inline bool IsCustom(const KindInfo& kind) { return kind.hub->hub_kind != nullptr; }

// Null when it is of a kind that is built in.
inline const CustomObject* CustomIn(const Object& object) {
  return IsCustom(object.kind()) ? static_cast<const CustomObject*>(object.data()) : nullptr;
}
inline CustomObject* MutableCustom(Object& object) {
  return IsCustom(object.kind()) ? static_cast<CustomObject*>(object.MutableData()) : nullptr;
}

}  // namespace dray::api
