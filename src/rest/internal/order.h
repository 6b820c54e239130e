// SPDX-License-Identifier: Apache-2.0
//
// The order of a list after items of a patch have joined it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rest/tree.h"

namespace dray::rest::internal {

struct NamedItem {
  std::string name;  // what makes it the same item in another list
  DocumentNode item;
};

// Items that `order` names come in that order; the others stay where they were among them in
// `before`, as far as that can be kept.
std::vector<DocumentNode> Ordered(const std::vector<std::string>& order,
                                  const std::vector<std::string>& before,
                                  std::vector<NamedItem> items);

}  // namespace dray::rest::internal
