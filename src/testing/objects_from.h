// SPDX-License-Identifier: Apache-2.0
//
// Objects written down as YAML in a test.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/kinds.h"
#include "base/check.h"

namespace dray::testing {

// All objects of all documents. Text that is not entirely right is a mistake of the test.
inline std::vector<api::Object> ObjectsFrom(std::string_view yaml) {
  std::vector<api::Diagnostic> diagnostics;
  std::vector<api::Object> objects;
  const std::vector<api::DocumentNode> documents = api::ParseYaml(yaml, diagnostics);
  for (const api::DocumentNode& document : documents) {
    for (const api::ObjectNode& node : api::ObjectsIn(document, diagnostics)) {
      auto object = api::DecodeObject(node, api::Severity::kError, diagnostics);
      DRAY_CHECK(object.has_value(), yaml);
      objects.push_back(*std::move(object));
    }
  }
  for (const api::Diagnostic& d : diagnostics) DRAY_CHECK(false, d.reason + ": " + d.message);
  return objects;
}

}  // namespace dray::testing
