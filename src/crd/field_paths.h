// SPDX-License-Identifier: Apache-2.0
//
// Paths to fields as rules and selectable fields write them: .spec.a['b.c']
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crd/schema.h"

namespace dray::crd {

struct FoundField {
  FieldPath path;
  const Schema* schema = nullptr;
  std::vector<std::string> names;  // the keys that lead there
  std::string error;               // not empty: there is no such field, and why
};

// `brackets`: whether ['a'] may be written.
FoundField FindField(std::string_view path, const Schema& schema, bool brackets = true);

}  // namespace dray::crd
