// SPDX-License-Identifier: Apache-2.0
#include "rest/strategic_merge.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/internal/order.h"

namespace dray::rest {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kSetOrder = "$setElementOrder/";

// What the tables know of a value: nothing for fields that no table has, and inside of raw JSON.
struct Place {
  const api::TypeInfo* type = nullptr;  // without optionals around it
  bool merges = false;                  // of a list: items join
  std::string_view key = {};            // of a list: the items' key; none: values are items
};

const api::TypeInfo* Inner(const api::TypeInfo* type) {
  while (type != nullptr && type->shape == api::Shape::kOptional) type = type->element;
  return type;
}

Place Below(const Place& place, std::string_view name) {
  if (place.type == nullptr) return {};
  if (place.type->shape == api::Shape::kMap) return {.type = Inner(place.type->element)};
  if (place.type->shape != api::Shape::kStruct) return {};
  const api::StructInfo& info = place.type->fields();
  const int index = info.Find(name);
  if (index < 0) return {};
  const api::FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
  return {.type = Inner(field.type), .merges = PatchMerges(field), .key = PatchKey(field)};
}

Place ItemOf(const Place& list) {
  return {.type = list.type == nullptr ? nullptr : Inner(list.type->element)};
}

bool IsDirective(std::string_view key) {
  return key == kPatch || key == kRetainKeys || key.starts_with(kDeleteFrom) ||
         key.starts_with(kSetOrder);
}

// What makes two items the same: their keys are, or for values that they are equal. Empty: nothing,
// the item has no key.
std::string NameOf(const DocumentNode& item, std::string_view key) {
  if (key.empty()) return ToJson(item);
  const DocumentNode* value = IsMap(item) ? FindIn(item, key) : nullptr;
  return value == nullptr ? std::string() : ToJson(*value);
}

std::vector<std::string> NamesOf(const DocumentNode& list, std::string_view key) {
  std::vector<std::string> names;
  for (const DocumentNode& item : list.items) names.push_back(NameOf(item, key));
  return names;
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void Reorder(const std::vector<std::string>& order, const std::vector<std::string>& before,
             std::string_view key, DocumentNode& list) {
  std::vector<internal::NamedItem> items;
  for (DocumentNode& item : list.items) {
    std::string name = NameOf(item, key);
    items.push_back({std::move(name), std::move(item)});
  }
  list.items = internal::Ordered(order, before, std::move(items));
}

class Merger {
 public:
  Status Map(const DocumentNode& patch, const Place& place, DocumentNode& document) {
    if (const DocumentNode* directive = FindIn(patch, kPatch)) {
      return WholeMap(patch, *directive, place, document);
    }
    if (!IsMap(document)) document = MapNode();
    DRAY_RETURN_IF_ERROR(RetainKeys(patch, document));
    DRAY_RETURN_IF_ERROR(DeleteValues(patch, document));
    Orders before;  // of lists that get another
    for (const api::Member& member : patch.members) {
      if (!member.key.starts_with(kSetOrder)) continue;
      const std::string_view name = std::string_view(member.key).substr(kSetOrder.size());
      if (const DocumentNode* list = FindIn(document, name)) {
        before.emplace(name, NamesOf(*list, Below(place, name).key));
      }
    }
    {
      MapEditor members(document, patch.members.size());
      for (const api::Member& member : patch.members) {
        if (IsDirective(member.key)) continue;
        DRAY_RETURN_IF_ERROR(Member(member, Below(place, member.key), members));
      }
    }
    return SetOrders(patch, before, place, document);
  }

 private:
  using Orders = std::map<std::string, std::vector<std::string>, std::less<>>;

  Status WholeMap(const DocumentNode& patch, const DocumentNode& directive, const Place& place,
                  DocumentNode& document) {
    if (directive.text == "delete") {
      document = MapNode();
      return {};
    }
    if (directive.text != "replace") {
      return BadRequest(
          fmt::format("$patch of a map is replace or delete, not {}", ToJson(directive)));
    }
    DocumentNode without = patch;
    EraseIn(without, kPatch);
    document = MapNode();
    return Map(without, place, document);
  }

  static Status RetainKeys(const DocumentNode& patch, DocumentNode& document) {
    const DocumentNode* keys = FindIn(patch, kRetainKeys);
    if (keys == nullptr) return {};
    if (!IsList(*keys)) return BadRequest("$retainKeys is a list of names");
    const auto named = [&](std::string_view key) {
      return std::ranges::any_of(keys->items, [&](const DocumentNode& n) { return n.text == key; });
    };
    for (const api::Member& member : patch.members) {
      if (!IsDirective(member.key) && !named(member.key)) {
        return BadRequest(
            fmt::format("$retainKeys does not name \"{}\", which the patch sets", member.key));
      }
    }
    std::erase_if(document.members, [&](const api::Member& m) { return !named(m.key); });
    return {};
  }

  static Status DeleteValues(const DocumentNode& patch, DocumentNode& document) {
    for (const api::Member& member : patch.members) {
      if (!member.key.starts_with(kDeleteFrom)) continue;
      if (!IsList(member.value)) {
        return BadRequest(fmt::format("{} is a list of values", member.key));
      }
      DocumentNode* list =
          FindIn(document, std::string_view(member.key).substr(kDeleteFrom.size()));
      if (list == nullptr) continue;
      const std::vector<std::string> gone = NamesOf(member.value, {});
      std::erase_if(list->items,
                    [&](const DocumentNode& item) { return Contains(gone, ToJson(item)); });
    }
    return {};
  }

  Status Member(const api::Member& member, const Place& place, MapEditor& document) {
    if (IsNull(member.value)) {
      document.Erase(member.key);
      return {};
    }
    DocumentNode* present = document.Find(member.key);
    if (present == nullptr) present = &document.Set(member.key, DocumentNode{});
    if (IsMap(member.value)) {
      if (!IsMap(*present)) *present = MapNode();
      return Map(member.value, place, *present);
    }
    if (IsList(member.value) && place.merges) return List(member.value, place, *present);
    *present = member.value;
    return {};
  }

  Status List(const DocumentNode& patch, const Place& place, DocumentNode& document) {
    if (!IsList(document)) document = ListNode();
    std::unordered_map<std::string, std::size_t> places;
    const auto index = [&] {
      places.clear();
      for (std::size_t i = 0; i < document.items.size(); ++i) {
        places.emplace(NameOf(document.items[i], place.key), i);
      }
    };
    index();
    const std::vector<std::string> before = NamesOf(document, place.key);
    if (place.key.empty()) {
      for (const DocumentNode& value : patch.items) {
        if (places.emplace(ToJson(value), places.size()).second) document.items.push_back(value);
      }
      Reorder(NamesOf(patch, {}), before, {}, document);
      return {};
    }
    DocumentNode items = ListNode();
    DRAY_RETURN_IF_ERROR(ItemDirectives(patch, place, document, items));
    index();
    for (const DocumentNode& item : items.items) {
      DRAY_RETURN_IF_ERROR(NeedsKey(item, place.key));
      const auto [it, added] = places.emplace(NameOf(item, place.key), document.items.size());
      if (added) document.items.push_back(MapNode());
      DRAY_RETURN_IF_ERROR(Map(item, ItemOf(place), document.items[it->second]));
    }
    Reorder(NamesOf(items, place.key), before, place.key, document);
    return {};
  }

  // Items that say what to do instead of what to be: {$patch: replace} for the list, {$patch:
  // delete, name: x} for one item. The rest goes to `items`.
  static Status ItemDirectives(const DocumentNode& patch, const Place& place,
                               DocumentNode& document, DocumentNode& items) {
    bool replace = false;
    std::vector<std::string> gone;
    for (const DocumentNode& item : patch.items) {
      if (!IsMap(item)) {
        return BadRequest(fmt::format("an item of a list with the key \"{}\" is an object, not {}",
                                      place.key, ToJson(item)));
      }
      const DocumentNode* directive = FindIn(item, kPatch);
      if (directive == nullptr) {
        items.items.push_back(item);
      } else if (directive->text == "replace") {
        replace = true;
        if (item.members.size() > 1) {  // the item is one of the new list
          items.items.push_back(item);
          EraseIn(items.items.back(), kPatch);
        }
      } else if (directive->text == "delete") {
        DRAY_RETURN_IF_ERROR(NeedsKey(item, place.key));
        gone.push_back(NameOf(item, place.key));
      } else {
        return BadRequest(
            fmt::format("$patch of an item is replace or delete, not {}", ToJson(*directive)));
      }
    }
    if (replace) document.items.clear();
    std::erase_if(document.items, [&](const DocumentNode& item) {
      return Contains(gone, NameOf(item, place.key));
    });
    return {};
  }

  static Status NeedsKey(const DocumentNode& item, std::string_view key) {
    if (IsMap(item) && FindIn(item, key) != nullptr) return {};
    return Unprocessable(
        fmt::format("{} does not have \"{}\", the key of its list", ToJson(item), key));
  }

  static Status SetOrders(const DocumentNode& patch, const Orders& before, const Place& place,
                          DocumentNode& document) {
    for (const api::Member& member : patch.members) {
      if (!member.key.starts_with(kSetOrder)) continue;
      const std::string_view name = std::string_view(member.key).substr(kSetOrder.size());
      if (!IsList(member.value)) return BadRequest(fmt::format("{} is a list", member.key));
      DocumentNode* list = FindIn(document, name);
      if (list == nullptr || !IsList(*list)) continue;
      const std::string_view key = Below(place, name).key;
      const auto it = before.find(name);
      Reorder(NamesOf(member.value, key), it == before.end() ? NamesOf(*list, key) : it->second,
              key, *list);
    }
    return {};
  }
};

}  // namespace

Status ApplyStrategicMerge(const DocumentNode& patch, const api::TypeInfo& type,
                           DocumentNode& document) {
  if (!IsMap(patch)) {
    return BadRequest(
        fmt::format("a strategic merge patch is an object, not a {}", JsonKindName(patch)));
  }
  return Merger().Map(patch, {.type = Inner(&type)}, document);
}

}  // namespace dray::rest
