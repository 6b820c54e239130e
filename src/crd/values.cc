// SPDX-License-Identifier: Apache-2.0
#include "crd/values.h"

#include <algorithm>
#include <string_view>

#include "base/valid_utf8.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using rest::IsList;
using rest::IsMap;
using rest::IsNull;

// A key may be as long as the body; none that anybody means is longer.
constexpr std::size_t kMaxShownKey = 400;

bool IsMeta(std::string_view key) {
  return key == "apiVersion" || key == "kind" || key == "metadata";
}

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* pruned) : pruned_(pruned) {}

  // `schema` null: nothing is known of the value, and so nothing of it stays.
  void Prune(const Schema* schema, bool embedded, DocumentNode& node) {
    if (schema != nullptr && schema->Preserves()) return Skip(*schema, embedded, node);
    if (IsMap(node)) return PruneMap(schema, embedded, node);
    if (!IsList(node)) return;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const Mark mark = Enter(i);
      const Schema* items = schema == nullptr ? nullptr : schema->items.get();
      Prune(items, items != nullptr && items->embedded_resource, node.items[i]);
      Leave(mark);
    }
  }

 private:
  using Mark = std::size_t;

  void PruneMap(const Schema* schema, bool embedded, DocumentNode& node) {
    std::erase_if(node.members, [&](api::Member& member) {
      if (schema != nullptr && embedded && IsMeta(member.key)) return false;
      const Schema* below = schema == nullptr ? nullptr : schema->FindProperty(member.key);
      if (below == nullptr && (schema == nullptr || !schema->has_additional)) {
        if (!IsMeta(member.key) || !path_.empty()) Note(member.key);
        return true;
      }
      if (below == nullptr) below = schema->additional.get();
      const Mark mark = Enter(member.key);
      Prune(below, below != nullptr && below->embedded_resource, member.value);
      Leave(mark);
      return false;
    });
  }

  // Everything stays, but below what the schema names it is as strict as anywhere.
  void Skip(const Schema& schema, bool embedded, DocumentNode& node) {
    if (IsMap(node)) {
      for (api::Member& member : node.members) {
        if (embedded && IsMeta(member.key)) continue;
        const Schema* below = schema.FindProperty(member.key);
        if (below == nullptr) {
          if (!schema.has_additional) continue;
          below = schema.additional.get();
        }
        const Mark mark = Enter(member.key);
        Prune(below, below != nullptr && below->embedded_resource, member.value);
        Leave(mark);
      }
    } else if (IsList(node) && schema.items != nullptr) {
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        const Mark mark = Enter(i);
        Skip(*schema.items, schema.items->embedded_resource, node.items[i]);
        Leave(mark);
      }
    }
  }

  Mark Enter(std::string_view key) {
    const Mark mark = path_.size();
    if (pruned_ == nullptr) return mark;
    if (!path_.empty()) path_ += '.';
    path_ += base::Beginning(key, kMaxShownKey);
    return mark;
  }
  Mark Enter(std::size_t index) {
    const Mark mark = path_.size();
    if (pruned_ != nullptr) path_ += fmt::format("[{}]", index);
    return mark;
  }
  void Leave(Mark mark) { path_.resize(mark); }
  void Note(std::string_view key) {
    if (pruned_ == nullptr || pruned_->size() >= kMaxPrunedPaths) return;
    const Mark mark = Enter(key);
    pruned_->push_back(path_);
    Leave(mark);
  }

  std::vector<std::string>* const pruned_;
  std::string path_;
};

const Schema* BelowOf(const Schema* schema, std::string_view key) {
  if (schema == nullptr) return nullptr;
  const Schema* property = schema->FindProperty(key);
  return property != nullptr ? property : schema->additional.get();
}

bool IsForbiddenNull(const DocumentNode& node, const Schema* schema) {
  return IsNull(node) && schema != nullptr && !schema->nullable;
}

void DropNulls(const Schema* schema, DocumentNode& node) {
  if (IsMap(node)) {
    std::erase_if(node.members, [&](api::Member& member) {
      const Schema* below = BelowOf(schema, member.key);
      if (IsForbiddenNull(member.value, below) && !below->default_value) return true;
      DropNulls(below, member.value);
      return false;
    });
  } else if (IsList(node)) {
    for (DocumentNode& item : node.items) {
      DropNulls(schema == nullptr ? nullptr : schema->items.get(), item);
    }
  }
}

// What a tree takes beside its place: its texts, and a little for each value.
std::size_t WeightOf(const DocumentNode& node) {
  constexpr std::size_t kValue = 8;
  std::size_t weight = kValue + node.text.size();
  for (const DocumentNode& item : node.items) weight += WeightOf(item);
  for (const api::Member& member : node.members) {
    weight += member.key.size() + WeightOf(member.value);
  }
  return weight;
}

// Objects that are full of defaults, each of which has defaults in it, are as many as their schema;
// but a default may be as long as a request, and a list have as many items.
class Filler {
 public:
  void FillIn(const Schema* schema, DocumentNode& node) {
    if (schema == nullptr) return;
    if (IsMap(node)) {
      for (const Property& property : schema->properties) {
        if (!property.schema->default_value) continue;
        const DocumentNode* present = rest::FindIn(node, property.name);
        if (present != nullptr && !IsForbiddenNull(*present, property.schema.get())) continue;
        if (!Take(*property.schema->default_value)) return;
        rest::SetIn(node, property.name, *property.schema->default_value);
      }
      for (api::Member& member : node.members) {
        const Schema* property = schema->FindProperty(member.key);
        const Schema* below = property != nullptr ? property : schema->additional.get();
        if (property == nullptr && IsForbiddenNull(member.value, below) && below->default_value) {
          if (!Take(*below->default_value)) return;
          member.value = *below->default_value;
        }
        FillIn(below, member.value);
      }
    } else if (IsList(node)) {
      for (DocumentNode& item : node.items) {
        if (IsForbiddenNull(item, schema->items.get()) && schema->items->default_value) {
          if (!Take(*schema->items->default_value)) return;
          item = *schema->items->default_value;
        }
        FillIn(schema->items.get(), item);
      }
    }
  }

 private:
  bool Take(const DocumentNode& value) {
    const std::size_t weight = WeightOf(value);
    if (weight > left_) left_ = 0;
    if (left_ == 0) return false;
    left_ -= weight;
    return true;
  }

  std::size_t left_ = kMaxDefaults;
};

}  // namespace

void Prune(const Schema& schema, Whole whole, DocumentNode& tree,
           std::vector<std::string>* pruned) {
  Pruner(pruned).Prune(&schema, whole == Whole::kYes || schema.embedded_resource, tree);
}

void SetDefaults(const Schema& schema, DocumentNode& tree) {
  DropNulls(&schema, tree);
  Filler().FillIn(&schema, tree);
}

}  // namespace dray::crd
