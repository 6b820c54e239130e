// SPDX-License-Identifier: Apache-2.0
//
// Lists that are sets and maps, and objects inside of objects.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "api/meta.h"
#include "api/validation.h"
#include "base/names.h"
#include "crd/internal/shown.h"
#include "crd/validator.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using api::ErrorList;
using Kind = DocumentNode::Kind;

// The same text for the same value: members in order, numbers as they are meant.
void AppendCanonical(const DocumentNode& node, std::string& out) {
  switch (node.kind) {
    case Kind::kList:
      out += '[';
      for (const DocumentNode& item : node.items) {
        AppendCanonical(item, out);
        out += ',';
      }
      out += ']';
      return;
    case Kind::kMap: {
      std::vector<const api::Member*> members;
      for (const api::Member& member : node.members) members.push_back(&member);
      std::ranges::sort(members, {}, [](const api::Member* m) { return std::string_view(m->key); });
      out += '{';
      for (const api::Member* member : members) {
        out += internal::Quoted(member->key);
        out += ':';
        AppendCanonical(member->value, out);
        out += ',';
      }
      out += '}';
      return;
    }
    case Kind::kNumber:
      if (const auto integer = IntegerOf(node)) {
        out += fmt::format("{}", *integer);
      } else if (const auto number = NumberOf(node)) {
        out += fmt::format("{}", *number);
      } else {
        out += node.text;
      }
      return;
    case Kind::kString:
      out += internal::Quoted(node.text);
      return;
    default:
      out += ToJson(node);
  }
}

// What of an item is its key: a small object, as errors show it.
DocumentNode KeysOf(const Schema& list, const DocumentNode& item) {
  DocumentNode keys = rest::MapNode();
  if (item.kind != Kind::kMap) return keys;
  for (const std::string& name : list.list_map_keys) {
    const DocumentNode* value = rest::FindIn(item, name);
    if (value != nullptr) rest::SetIn(keys, name, *value);
  }
  return keys;
}

std::string Canonical(const DocumentNode& node) {
  std::string text;
  AppendCanonical(node, text);
  return text;
}

// Each that was there before is told once, at its second place.
void CheckUnique(const std::vector<DocumentNode>& items, const FieldPath& at, ErrorList& errors) {
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (++seen[Canonical(items[i])] != 2) continue;
    errors.push_back({api::ErrorType::kDuplicate, at.Index(i), internal::Shown(items[i]), ""});
    if (errors.size() >= kMaxFaults) return;
  }
}

void CheckMapList(const Schema& schema, const DocumentNode& list, const FieldPath& at,
                  ErrorList& errors) {
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const DocumentNode& item = list.items[i];
    if (item.kind == Kind::kMap || item.kind == Kind::kNull) continue;
    errors.push_back(api::InvalidValue(at.Index(i), internal::Shown(item),
                                       "must be an object for an array of list-type map"));
    return;
  }
  std::vector<DocumentNode> keys;
  for (const DocumentNode& item : list.items) keys.push_back(KeysOf(schema, item));
  CheckUnique(keys, at, errors);
}

void CheckListsIn(const Schema& schema, const DocumentNode& value, const FieldPath& at,
                  ErrorList& errors) {
  if (errors.size() >= kMaxFaults) return;
  if (value.kind == Kind::kMap) {
    for (const api::Member& member : value.members) {
      if (schema.additional != nullptr) {
        CheckListsIn(*schema.additional, member.value, at.Key(member.key), errors);
      }
      if (const Schema* property = schema.FindProperty(member.key)) {
        CheckListsIn(*property, member.value, at / member.key, errors);
      }
    }
  } else if (value.kind == Kind::kList) {
    if (schema.list_type == "set") CheckUnique(value.items, at, errors);
    if (schema.list_type == "map") CheckMapList(schema, value, at, errors);
    if (schema.items == nullptr) return;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      CheckListsIn(*schema.items, value.items[i], at.Index(i), errors);
    }
  }
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

void CheckTypeMeta(const DocumentNode& value, const FieldPath& at, ErrorList& errors) {
  const DocumentNode* version = rest::FindIn(value, "apiVersion");
  const FieldPath version_at = at / "apiVersion";
  if (version == nullptr) {
    errors.push_back(api::Required(version_at));
  } else if (version->kind != Kind::kString) {
    errors.push_back(api::InvalidValue(version_at, internal::Shown(*version), "must be a string"));
  } else if (version->text.empty()) {
    errors.push_back(api::Invalid(version_at, version->text, "must not be empty"));
  } else if (std::ranges::count(version->text, '/') > 1) {
    errors.push_back(
        api::Invalid(version_at, version->text,
                     fmt::format("unexpected GroupVersion string: {}", version->text)));
  }
  const DocumentNode* kind = rest::FindIn(value, "kind");
  const FieldPath kind_at = at / "kind";
  if (kind == nullptr) {
    errors.push_back(api::Required(kind_at));
  } else if (kind->kind != Kind::kString) {
    errors.push_back(api::InvalidValue(kind_at, internal::Shown(*kind), "must be a string"));
  } else if (kind->text.empty()) {
    errors.push_back(api::Invalid(kind_at, kind->text, "must not be empty"));
  } else if (const auto reasons = base::CheckDns1035Label(Lower(kind->text)); !reasons.empty()) {
    errors.push_back(api::Invalid(kind_at, kind->text,
                                  fmt::format("may have mixed case, but should otherwise match: {}",
                                              fmt::join(reasons, ","))));
  }
}

void CheckMeta(const DocumentNode& value, const FieldPath& at, ErrorList& errors) {
  const DocumentNode* metadata = rest::FindIn(value, "metadata");
  if (metadata == nullptr) return;
  api::ObjectMeta meta;
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(*metadata, api::TypeInfoOf<api::ObjectMeta>(), &meta, api::Severity::kWarning,
                  diagnostics);
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != api::Severity::kError) continue;
    errors.push_back(
        api::InvalidValue(at / "metadata", internal::Shown(*metadata),
                          fmt::format("{}: {}", diagnostic.path.ToString(), diagnostic.message)));
    return;
  }
  if (meta.name.empty()) meta.name = "any";
  for (api::FieldError& error : api::ValidateMetadata(meta)) {
    FieldPath path = at;
    for (const FieldPath::Segment& segment : error.field.Segments()) {
      if (const auto* field = std::get_if<FieldPath::Field>(&segment)) path = path / field->name;
      if (const auto* index = std::get_if<std::size_t>(&segment)) path = path.Index(*index);
      if (const auto* key = std::get_if<FieldPath::MapKey>(&segment)) path = path.Key(key->key);
    }
    error.field = std::move(path);
    errors.push_back(std::move(error));
  }
}

void CheckEmbeddedIn(const Schema& schema, const DocumentNode& value, bool embedded, bool root,
                     const FieldPath& at, ErrorList& errors) {
  if (errors.size() >= kMaxFaults) return;
  if (value.kind == Kind::kMap) {
    if (embedded && !root) {
      CheckTypeMeta(value, at, errors);
      CheckMeta(value, at, errors);
    }
    for (const api::Member& member : value.members) {
      const Schema* below = schema.FindProperty(member.key);
      const FieldPath here = below != nullptr ? at / member.key : at.Key(member.key);
      if (below == nullptr) below = schema.additional.get();
      if (below == nullptr) continue;
      CheckEmbeddedIn(*below, member.value, below->embedded_resource, false, here, errors);
    }
  } else if (value.kind == Kind::kList && schema.items != nullptr) {
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      CheckEmbeddedIn(*schema.items, value.items[i], schema.items->embedded_resource, false,
                      at.Index(i), errors);
    }
  }
}

}  // namespace

ErrorList CheckLists(const Schema& schema, const DocumentNode& value, const FieldPath& at) {
  ErrorList errors;
  CheckListsIn(schema, value, at, errors);
  return errors;
}

ErrorList CheckEmbedded(const Schema& schema, const DocumentNode& value, bool root,
                        const FieldPath& at) {
  ErrorList errors;
  CheckEmbeddedIn(schema, value, root || schema.embedded_resource, root, at, errors);
  return errors;
}

OldItems::OldItems(const Schema& list, const DocumentNode* old) : list_(list) {
  if (old == nullptr || old->kind != Kind::kList || list.list_type != "map") return;
  for (const DocumentNode& item : old->items) {
    if (item.kind == Kind::kMap) items_.emplace(Canonical(KeysOf(list, item)), &item);
  }
}

const DocumentNode* OldItems::Find(const DocumentNode& item) const {
  if (items_.empty() || item.kind != Kind::kMap) return nullptr;
  const auto it = items_.find(Canonical(KeysOf(list_, item)));
  return it == items_.end() ? nullptr : it->second;
}

}  // namespace dray::crd
