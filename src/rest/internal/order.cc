// SPDX-License-Identifier: Apache-2.0
#include "rest/internal/order.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace dray::rest::internal {
namespace {

class Places {
 public:
  explicit Places(const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) places_.emplace(names[i], i);
  }
  std::optional<std::size_t> Of(std::string_view name) const {
    const auto it = places_.find(name);
    return it == places_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::unordered_map<std::string_view, std::size_t> places_;
};

}  // namespace

std::vector<DocumentNode> Ordered(const std::vector<std::string>& order,
                                  const std::vector<std::string>& before,
                                  std::vector<NamedItem> items) {
  const Places wanted(order);
  const Places was(before);
  std::vector<NamedItem> named;
  std::vector<NamedItem> others;
  for (NamedItem& item : items) {
    (wanted.Of(item.name) ? named : others).push_back(std::move(item));
  }
  std::ranges::stable_sort(named, {}, [&](const NamedItem& item) { return *wanted.Of(item.name); });
  std::vector<DocumentNode> result;
  std::size_t next = 0;
  for (NamedItem& other : others) {
    // Goes before the first named item that it stood before.
    const auto place = was.Of(other.name);
    std::size_t stop = next;
    for (; stop < named.size(); ++stop) {
      const auto there = was.Of(named[stop].name);
      if (place && there && *place < *there) break;
    }
    for (; next < stop; ++next) result.push_back(std::move(named[next].item));
    result.push_back(std::move(other.item));
  }
  for (; next < named.size(); ++next) result.push_back(std::move(named[next].item));
  return result;
}

}  // namespace dray::rest::internal
