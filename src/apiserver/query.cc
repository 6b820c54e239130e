// SPDX-License-Identifier: Apache-2.0
#include "apiserver/query.h"

#include <algorithm>

#include "base/percent.h"

namespace dray::apiserver {

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      values_.emplace_back(
          base::PercentDecoded(pair.substr(0, equals), true),
          base::PercentDecoded(pair.substr(std::min(equals + 1, pair.size())), true));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view Query::Get(std::string_view name) const {
  const auto it = std::ranges::find(values_, name, &std::pair<std::string, std::string>::first);
  return it == values_.end() ? std::string_view() : std::string_view(it->second);
}

bool Query::Has(std::string_view name) const {
  return std::ranges::find(values_, name, &std::pair<std::string, std::string>::first) !=
         values_.end();
}

std::vector<std::string> Query::All(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [key, value] : values_) {
    if (key == name) all.push_back(value);
  }
  return all;
}

std::vector<std::string> Query::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : values_) names.push_back(key);
  return names;
}

}  // namespace dray::apiserver
