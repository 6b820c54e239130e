// SPDX-License-Identifier: Apache-2.0
#include "rest/internal/nature.h"

#include <algorithm>

namespace dray::rest::internal {

Schema Below(const Schema& schema, std::string_view name) {
  if (schema.type == nullptr) return {};
  if (schema.type->shape == api::Shape::kMap) return ElementOf(schema);
  if (schema.type->shape != api::Shape::kStruct) return {};
  const api::StructInfo& info = schema.type->fields();
  const int index = info.Find(name);
  return index < 0 ? SchemaOf(info.others) : SchemaOf(info.fields[static_cast<std::size_t>(index)]);
}

std::vector<std::string_view> SortedKeys(std::string_view keys) {
  std::vector<std::string_view> names;
  while (!keys.empty()) {
    const std::size_t comma = std::min(keys.find(','), keys.size());
    names.push_back(keys.substr(0, comma));
    keys.remove_prefix(std::min(comma + 1, keys.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::string ElementOfItem(const Schema& list, const DocumentNode& item) {
  if (list.nature == Nature::kSet) return "v:" + ToJson(item);
  if (!IsMap(item)) return {};
  std::string out;
  for (const std::string_view key : SortedKeys(list.keys)) {
    const DocumentNode* value = FindIn(item, key);
    if (value == nullptr || IsNull(*value)) {
      // The one key of Kubernetes's lists that has a default: whoever leaves it out means TCP.
      if (key != "protocol") continue;
      out += (out.empty() ? "k:{" : ",") + std::string("\"protocol\":\"TCP\"");
      continue;
    }
    out += out.empty() ? "k:{" : ",";
    out += ToJson(StringNode(key));
    out += ':';
    out += ToJson(*value);
  }
  return out.empty() ? out : out + '}';
}

}  // namespace dray::rest::internal
