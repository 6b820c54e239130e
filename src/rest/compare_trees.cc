// SPDX-License-Identifier: Apache-2.0
#include "rest/compare_trees.h"

#include <map>
#include <string>
#include <utility>

#include "rest/internal/nature.h"

namespace dray::rest {
namespace {

using internal::Nature;
using internal::Schema;

// Null: not there.
using Both = std::pair<const DocumentNode*, const DocumentNode*>;

bool Is(const Both& both, bool (*kind)(const DocumentNode&)) {
  return (both.first == nullptr || kind(*both.first)) &&
         (both.second == nullptr || kind(*both.second));
}
bool IsEmpty(const DocumentNode* node) {
  return node == nullptr || (node->members.empty() && node->items.empty());
}

void Compare(const Schema& schema, const Both& both, Comparison& out);

void Below(const std::map<std::string, Both>& parts, auto&& schema_of, Comparison& out) {
  for (const auto& [element, part] : parts) {
    Comparison below;
    Compare(schema_of(element), part, below);
    if (!below.added.empty()) out.added.At(element) = std::move(below.added);
    if (!below.modified.empty()) out.modified.At(element) = std::move(below.modified);
    if (!below.removed.empty()) out.removed.At(element) = std::move(below.removed);
  }
}

void Members(const Schema& schema, const Both& both, Comparison& out) {
  std::map<std::string, Both> parts;
  if (both.first != nullptr) {
    for (const api::Member& member : both.first->members) {
      parts["f:" + member.key].first = &member.value;
    }
  }
  if (both.second != nullptr) {
    for (const api::Member& member : both.second->members) {
      parts["f:" + member.key].second = &member.value;
    }
  }
  Below(
      parts, [&](const std::string& element) { return internal::Below(schema, element.substr(2)); },
      out);
}

void Items(const Schema& schema, const Both& both, Comparison& out) {
  std::map<std::string, Both> parts;
  const auto add = [&](const DocumentNode* list, auto place) {
    if (list == nullptr) return;
    for (const DocumentNode& item : list->items) {
      std::string element = ElementOfItem(schema, item);
      if (element.empty()) element = "k:{}";
      parts[std::move(element)].*place = &item;
    }
  };
  add(both.first, &Both::first);
  add(both.second, &Both::second);
  Below(
      parts, [&](const std::string&) { return ElementOf(schema); }, out);
}

void Compare(const Schema& schema, const Both& both, Comparison& out) {
  const bool map =
      (schema.nature == Nature::kStruct || schema.nature == Nature::kMap) && Is(both, IsMap);
  const bool list =
      (schema.nature == Nature::kSet || schema.nature == Nature::kKeyed) && Is(both, IsList);
  const bool parts = (map || list) && !(IsEmpty(both.first) && IsEmpty(both.second));
  if (parts && map) Members(schema, both, out);
  if (parts && list) Items(schema, both, out);
  if (both.first == nullptr) {
    out.added.Insert();
  } else if (both.second == nullptr) {
    out.removed.Insert();
  } else if (!parts && !JsonEqual(*both.first, *both.second)) {
    out.modified.Insert();
  }
}

void Drop(DocumentNode& tree) {
  EraseIn(tree, "apiVersion");
  EraseIn(tree, "kind");
  // Metadata is always there, whatever is in it.
  DocumentNode* metadata = FindIn(tree, "metadata");
  if (metadata == nullptr) metadata = &SetIn(tree, "metadata", MapNode());
  EraseIn(*metadata, "managedFields");
}

}  // namespace

Comparison CompareTrees(const api::TypeInfo& type, const DocumentNode& before,
                        const DocumentNode& after) {
  DocumentNode a = before;
  DocumentNode b = after;
  Drop(a);
  Drop(b);
  Comparison out;
  Members(internal::SchemaOf(&type), {&a, &b}, out);
  return out;
}

}  // namespace dray::rest
