// SPDX-License-Identifier: Apache-2.0
//
// Bodies that are no objects of a store, as structs.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "base/status.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/tree.h"

namespace dray::registry::internal {

// `tree` is what SmallBody gave. Fields that are not known are left out, as in Kubernetes.
template <typename T>
StatusOr<T> ReadBody(rest::DocumentNode tree) {
  for (const std::string_view name : {"apiVersion", "kind", "status"}) rest::EraseIn(tree, name);
  T body;
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(tree, api::TypeInfoOf<T>(), &body, api::Severity::kWarning, diagnostics);
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != api::Severity::kError) continue;
    return rest::BadRequest(fmt::format("{} cannot be read: {}", api::TypeInfoOf<T>().fields().name,
                                        ToString(diagnostic)));
  }
  return body;
}

}  // namespace dray::registry::internal
