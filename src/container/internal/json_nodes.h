// SPDX-License-Identifier: Apache-2.0
//
// A way into JSON of which a few values matter.
#pragma once

#include <string>
#include <string_view>

#include "api/document.h"

namespace dray::container::internal {

// Null if it is not there; of nothing there is nothing.
inline const api::DocumentNode* Child(const api::DocumentNode* node, std::string_view key) {
  const api::Member* member = node == nullptr ? nullptr : node->Find(key);
  return member == nullptr ? nullptr : &member->value;
}

inline std::string TextOf(const api::DocumentNode* node) {
  return node == nullptr ? std::string() : node->text;
}

}  // namespace dray::container::internal
