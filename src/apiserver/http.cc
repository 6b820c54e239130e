// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http.h"

#include "absl/strings/match.h"
#include "base/status.h"

namespace dray::apiserver {

std::string_view Headers::Find(std::string_view name) const {
  for (const auto& [key, value] : list) {
    if (absl::EqualsIgnoreCase(base::ToAbsl(key), base::ToAbsl(name))) return value;
  }
  return {};
}

void Headers::Add(std::string name, std::string value) {
  list.emplace_back(std::move(name), std::move(value));
}

}  // namespace dray::apiserver
