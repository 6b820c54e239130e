// SPDX-License-Identifier: Apache-2.0
//
// Field selectors of list and watch: `spec.nodeName=node-1,status.phase!=Succeeded`.
//
// Spec: k8s.io/apimachinery/pkg/fields for the text; docs/spec/api.md section 2 for
// the fields of the resource.k8s.io kinds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/status.h"

namespace dray::api {

// Terms that must all hold; none: everything matches. A value, thread-compatible.
class FieldSelector {
 public:
  struct Term {
    std::string field;
    bool equal = true;
    std::string value;
    friend bool operator==(const Term&, const Term&) = default;
  };

  // Matches everything.
  FieldSelector() = default;
  // Terms `a=b`, `a==b`, `a!=b`, separated by commas; empty ones are ignored. In a value the bytes
  // , = \ are written \, \= \\. Space counts.
  static StatusOr<FieldSelector> Parse(std::string_view text);

  // OK, or InvalidArgument that names a field which cannot be selected by and those which can.
  Status CheckSupported(const KindInfo& kind) const;
  // A field that the kind does not have is empty; servers call CheckSupported first.
  bool Matches(const Object& object) const;
  // The value that the field must have, if a term says so: for look-ups in an index.
  std::optional<std::string_view> RequiredValue(std::string_view field) const;

  const std::vector<Term>& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }
  // Parses back to an equal selector.
  std::string ToString() const;

 private:
  std::vector<Term> terms_;
};

// The fields that objects of a kind can be selected by, in the order of Kubernetes's documentation.
std::vector<std::string_view> SelectableFields(const KindInfo& kind);

}  // namespace dray::api
