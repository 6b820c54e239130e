// SPDX-License-Identifier: Apache-2.0
#include "rest/apply_tree.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "rest/internal/nature.h"

namespace dray::rest {
namespace {

using internal::Below;
using internal::ElementOfItem;
using internal::Nature;
using internal::Schema;
using internal::SchemaOf;

bool IsGranularMap(const Schema& schema, const DocumentNode& node) {
  return (schema.nature == Nature::kStruct || schema.nature == Nature::kMap) && IsMap(node);
}
bool IsGranularList(const Schema& schema, const DocumentNode& node) {
  return (schema.nature == Nature::kSet || schema.nature == Nature::kKeyed) && IsList(node);
}

Status Collect(const Schema& schema, const DocumentNode& node, FieldSet& set);

// In the order of the set, to which whatever comes last is quickly added; in any other order a long
// list takes the square of its length.
Status CollectMap(const Schema& schema, const DocumentNode& node, FieldSet& set) {
  std::vector<const api::Member*> members;
  members.reserve(node.members.size());
  for (const api::Member& member : node.members) members.push_back(&member);
  std::ranges::stable_sort(members, {}, &api::Member::key);
  for (const api::Member* member : members) {
    FieldSet below;
    DRAY_RETURN_IF_ERROR(Collect(Below(schema, member->key), member->value, below));
    const bool hollow =
        IsNull(member->value) || (IsMap(member->value) && member->value.members.empty());
    if (hollow || schema.nature == Nature::kMap) below.Insert();
    if (!below.empty()) set.At("f:" + member->key) = std::move(below);
  }
  return {};
}

// A key may be left out if the field is optional, or has a default: then its absence is a value,
// too.
Status CheckKeys(const Schema& list, const DocumentNode& item) {
  if (list.nature != Nature::kKeyed || !IsMap(item)) return {};
  const api::StructInfo& info = internal::WithoutOptional(list.type->element)->fields();
  for (const std::string_view key : internal::SortedKeys(list.keys)) {
    const DocumentNode* value = FindIn(item, key);
    if ((value != nullptr && !IsNull(*value)) || key == "protocol") continue;
    const int index = info.Find(key);
    // Of a schema that somebody has written: its own rules say what may be missing.
    if (index < 0) continue;
    const api::FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
    if (field.get == nullptr && field.slot == nullptr) continue;
    if (field.type->shape == api::Shape::kOptional) continue;
    return base::InvalidArgument(fmt::format(
        "an item of a list does not have \"{}\", a key of its list: {}", key, ToJson(item)));
  }
  return {};
}

Status CollectList(const Schema& schema, const DocumentNode& node, FieldSet& set) {
  std::vector<std::pair<std::string, const DocumentNode*>> items;
  for (const DocumentNode& item : node.items) {
    DRAY_RETURN_IF_ERROR(CheckKeys(schema, item));
    std::string element = ElementOfItem(schema, item);
    if (element.empty()) {
      return base::InvalidArgument(fmt::format(
          "an item of a list has none of the list's keys ({}): {}", schema.keys, ToJson(item)));
    }
    items.emplace_back(std::move(element), &item);
  }
  std::ranges::sort(items, {}, [](const auto& each) { return std::string_view(each.first); });
  const Schema element_schema = ElementOf(schema);
  for (const auto& [element, item] : items) {
    if (set.Find(element) != nullptr) {
      return base::InvalidArgument(fmt::format("duplicate entries for key {}", element.substr(2)));
    }
    FieldSet& below = set.At(element);
    below.Insert();
    // An item that has one writer as a whole (an owner reference) is owned as a whole.
    if (IsGranularMap(element_schema, *item)) {
      DRAY_RETURN_IF_ERROR(CollectMap(element_schema, *item, below));
    }
  }
  return {};
}

Status Collect(const Schema& schema, const DocumentNode& node, FieldSet& set) {
  if (IsGranularMap(schema, node)) return CollectMap(schema, node, set);
  if (IsGranularList(schema, node)) return CollectList(schema, node, set);
  set.Insert();
  return {};
}

void CollectEmptyLists(const Schema& schema, const DocumentNode& node, FieldSet& set) {
  if (schema.nature != Nature::kStruct || !IsMap(node)) return;
  const api::StructInfo& info = schema.type->fields();
  for (const api::Member& member : node.members) {
    const int index = info.Find(member.key);
    if (index < 0) continue;
    const api::FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
    FieldSet below;
    if (IsList(member.value) && member.value.items.empty()) {
      const bool always = field.options.presence == api::Presence::kAlways;
      if (always && field.type->shape == api::Shape::kList) below.Insert();
    } else {
      CollectEmptyLists(SchemaOf(field), member.value, below);
    }
    if (!below.empty()) set.At("f:" + member.key) = std::move(below);
  }
}

void Drop(const Schema& schema, DocumentNode& node) {
  if (schema.type == nullptr || schema.type->shape == api::Shape::kRaw) return;
  if (schema.type->shape == api::Shape::kStruct && IsMap(node)) {
    std::erase_if(node.members, [&](const api::Member& member) {
      return Below(schema, member.key).type == nullptr;
    });
  }
  for (api::Member& member : node.members) Drop(Below(schema, member.key), member.value);
  if (schema.type->shape != api::Shape::kList) return;
  for (DocumentNode& item : node.items) Drop(ElementOf(schema), item);
}

void Merge(const Schema& schema, const DocumentNode& config, DocumentNode& object);

// Items that both have come in the order of the configuration; the others of the object stay before
// what they stood before, and what only the configuration has goes behind them. As Kubernetes
// merges.
void MergeList(const Schema& schema, const DocumentNode& config, DocumentNode& object) {
  if (!IsList(object)) object = ListNode();
  std::unordered_map<std::string, std::size_t> here;  // in the object
  std::vector<std::string> own;
  for (const DocumentNode& item : object.items) {
    own.push_back(ElementOfItem(schema, item));
    here.emplace(own.back(), own.size() - 1);
  }
  std::unordered_map<std::string, std::size_t> wanted;  // in the configuration
  std::vector<std::string> asked;
  for (const DocumentNode& item : config.items) {
    asked.push_back(ElementOfItem(schema, item));
    wanted.emplace(asked.back(), asked.size() - 1);
  }
  std::vector<DocumentNode> merged;
  std::size_t next = 0;  // of the configuration
  const auto take = [&] {
    DocumentNode item;
    if (const auto it = here.find(asked[next]); it != here.end()) {
      item = std::move(object.items[it->second]);
    }
    Merge(ElementOf(schema), config.items[next++], item);
    merged.push_back(std::move(item));
  };
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto it = wanted.find(own[i]);
    if (it == wanted.end()) {
      merged.push_back(std::move(object.items[i]));
      continue;
    }
    // The next of both, after what is new before it. One whose turn comes later is passed over.
    const bool turn =
        std::none_of(asked.begin() + static_cast<std::ptrdiff_t>(next),
                     asked.begin() + static_cast<std::ptrdiff_t>(std::max(next, it->second)),
                     [&](const std::string& name) { return here.contains(name); });
    while (turn && next <= it->second) take();
  }
  while (next < asked.size()) take();
  object.items = std::move(merged);
}

void Merge(const Schema& schema, const DocumentNode& config, DocumentNode& object) {
  if (IsGranularList(schema, config)) return MergeList(schema, config, object);
  if (!IsGranularMap(schema, config)) {
    object = config;
    return;
  }
  if (!IsMap(object)) object = MapNode();
  MapEditor members(object, config.members.size());
  for (const api::Member& member : config.members) {
    DocumentNode* present = members.Find(member.key);
    if (present == nullptr) present = &members.Set(member.key, DocumentNode{});
    Merge(Below(schema, member.key), member.value, *present);
  }
}

void Remove(const Schema& schema, const FieldSet& fields, DocumentNode& node) {
  if (IsGranularMap(schema, node)) {
    std::erase_if(node.members, [&](api::Member& member) {
      const FieldSet* below = fields.Find("f:" + member.key);
      if (below == nullptr) return false;
      if (below->member()) return true;
      Remove(Below(schema, member.key), *below, member.value);
      return false;
    });
  } else if (IsGranularList(schema, node)) {
    std::erase_if(node.items, [&](DocumentNode& item) {
      const FieldSet* below = fields.Find(ElementOfItem(schema, item));
      if (below == nullptr) return false;
      if (below->member()) return true;
      Remove(ElementOf(schema), *below, item);
      return false;
    });
  }
}

void AddParents(const Schema& schema, FieldSet& set) {
  for (const FieldSet::Child& child : std::vector(set.children())) {
    const bool field = child.element.starts_with("f:");
    FieldSet& below = set.At(child.element);
    if (field && schema.nature == Nature::kStruct) below.Insert();
    AddParents(field ? Below(schema, child.element.substr(2)) : ElementOf(schema), below);
  }
}

}  // namespace

StatusOr<FieldSet> FieldsOf(const DocumentNode& config, const api::TypeInfo& type) {
  FieldSet set;
  DRAY_RETURN_IF_ERROR(Collect(SchemaOf(&type), config, set));
  return set;
}

FieldSet EmptyListsOf(const DocumentNode& body, const api::TypeInfo& type) {
  FieldSet set;
  CollectEmptyLists(SchemaOf(&type), body, set);
  return set;
}

void DropUnknown(const api::TypeInfo& type, DocumentNode& config) { Drop(SchemaOf(&type), config); }

void MergeConfig(const DocumentNode& config, const api::TypeInfo& type, DocumentNode& object) {
  Merge(SchemaOf(&type), config, object);
}

void RemoveFields(const FieldSet& fields, const api::TypeInfo& type, DocumentNode& object) {
  Remove(SchemaOf(&type), fields, object);
}

FieldSet WithParents(const FieldSet& fields, const api::TypeInfo& type) {
  FieldSet set = fields;
  AddParents(SchemaOf(&type), set);
  return set;
}

}  // namespace dray::rest
