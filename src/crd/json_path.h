// SPDX-License-Identifier: Apache-2.0
//
// JSONPath as columns of `kubectl get` use it: .spec.a, .status.conditions[?(@.type=="Ready")].status,
// .spec.items[0], .spec.items[*].name, .metadata.labels.example\.com/a, ['a b'].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crd/schema.h"

namespace dray::crd {

// Immutable; thread-safe.
class JsonPath {
 public:
  // Nothing when it is none.
  static std::optional<JsonPath> Parse(std::string_view text);

  // What it leads to, in order; at most kMaxFound.
  static constexpr std::size_t kMaxFound = 1'000;
  std::vector<const DocumentNode*> Find(const DocumentNode& root) const;
  // The first, or null.
  const DocumentNode* First(const DocumentNode& root) const;

  // The names of the fields on the way, when there is nothing else: of .spec.a {"spec", "a"}.
  std::optional<std::vector<std::string>> Fields() const;

 private:
  struct Step {
    enum class Kind : std::uint8_t { kField, kIndex, kAll, kSlice, kFilter };
    Kind kind = Kind::kField;
    std::string name;                  // kField
    std::optional<std::int64_t> from;  // kIndex, kSlice
    std::optional<std::int64_t> to;    // kSlice
    std::vector<std::string> left;     // kFilter: the fields below @
    std::string op;                    // empty: that it is there
    DocumentNode right;
  };

  static std::optional<std::vector<std::string>> ParseFields(std::string_view& rest);
  static std::optional<Step> ParseBracket(std::string_view inside);
  static std::optional<Step> ParseFilter(std::string_view inside);
  static bool Holds(const Step& step, const DocumentNode& item);

  std::vector<Step> steps_;
};

}  // namespace dray::crd
