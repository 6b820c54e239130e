// SPDX-License-Identifier: Apache-2.0
//
// What follows the '?' of a request, taken apart.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dray::apiserver {

// Decoded parameters, in order. The first of equal names counts.
class Query {
 public:
  Query() = default;
  // Percent-encoding and '+' are undone; bad escapes stay as they are.
  explicit Query(std::string_view text);

  // Empty when it is missing.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  // Of one that may be given several times.
  std::vector<std::string> All(std::string_view name) const;
  // Each once for every time that it is given.
  std::vector<std::string> Names() const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace dray::apiserver
