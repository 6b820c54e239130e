// SPDX-License-Identifier: Apache-2.0
//
// Label selectors: the struct of the API and the text of list and watch
// (`app=web,tier in (a,b),!canary`), made into something that matches labels.
//
// Spec: k8s.io/apimachinery/pkg/labels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/map.h"
#include "api/meta.h"
#include "base/status.h"

namespace dray::api {

// Requirements on labels that must all hold; none: everything matches. A value made by Parse or
// From; thread-compatible.
class LabelMatcher {
 public:
  enum class Operator : std::uint8_t {
    kIn,            // a=b, a==b, a in (b,c): has the key with one of the values
    kNotIn,         // a!=b, a notin (b,c): the opposite, so labels without the key match
    kExists,        // a
    kDoesNotExist,  // !a
    kGreaterThan,   // a>1: the value is an integer and larger
    kLessThan,      // a<1
  };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values = {};  // sorted, each once
    friend bool operator==(const Requirement&, const Requirement&) = default;
  };

  // Matches everything.
  LabelMatcher() = default;
  // InvalidArgument says what was found where something else was expected, or which key, value or
  // number is not well-formed.
  static StatusOr<LabelMatcher> Parse(std::string_view text);
  // An empty selector matches everything. (An absent one matches nothing, which is the caller's to
  // see.)
  static StatusOr<LabelMatcher> From(const LabelSelector& selector);

  bool Matches(const Map<std::string>& labels) const;
  // The value that a key must have, if a requirement leaves only one.
  std::optional<std::string_view> RequiredValue(std::string_view key) const;

  const std::vector<Requirement>& requirements() const { return requirements_; }
  bool empty() const { return requirements_.empty(); }
  // Sorted by key; parses back to an equal matcher.
  std::string ToString() const;

  friend bool operator==(const LabelMatcher&, const LabelMatcher&) = default;

 private:
  Status Add(Requirement requirement);
  void Sort();

  std::vector<Requirement> requirements_;
};

}  // namespace dray::api
