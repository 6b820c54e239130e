// SPDX-License-Identifier: Apache-2.0
#include "inventory/capacity_names.h"

#include "fmt/format.h"

namespace dray::inventory {

std::optional<std::size_t> FindCapacity(std::string_view name, const SliceTable& slice,
                                        std::span<const CapacityEntry> entries,
                                        const Dictionary& dictionary) {
  const auto find = [&](std::string_view key) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (dictionary.View(entries[i].name) == key) return i;
    }
    return std::nullopt;
  };
  if (const auto literal = find(name)) return literal;
  const std::string_view driver = dictionary.View(slice.driver());
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return find(fmt::format("{}/{}", driver, name));
  if (name.substr(0, slash) == driver) return find(name.substr(slash + 1));
  return std::nullopt;
}

std::optional<std::size_t> FindCapacity(NameId name, const SliceTable& slice,
                                        std::span<const CapacityEntry> entries,
                                        const Dictionary& dictionary) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name) return i;
  }
  return FindCapacity(dictionary.View(name), slice, entries, dictionary);
}

}  // namespace dray::inventory
