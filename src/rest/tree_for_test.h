// SPDX-License-Identifier: Apache-2.0
//
// Trees from text, for tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rest/tree.h"

namespace dray::rest {

inline DocumentNode TreeOf(std::string_view json) {
  auto tree = ReadTree(json);
  EXPECT_TRUE(tree.ok()) << tree.status() << " in " << json;
  return tree.ok() ? *std::move(tree) : DocumentNode{};
}

}  // namespace dray::rest
