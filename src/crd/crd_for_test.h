// SPDX-License-Identifier: Apache-2.0
//
// Trees and schemas from text, errors as text, for tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "crd/schema.h"
#include "rest/tree.h"

namespace dray::crd {

// JSON or YAML.
inline DocumentNode Tree(std::string_view text) {
  auto tree = rest::ReadTree(text, true);
  EXPECT_TRUE(tree.ok()) << tree.status() << " in " << text;
  return tree.ok() ? *std::move(tree) : DocumentNode{};
}

inline Schema SchemaFrom(std::string_view text) {
  ReadSchema read = ReadSchemaFrom(Tree(text));
  EXPECT_TRUE(read.unknown.empty()) << read.unknown.front().ToString();
  EXPECT_TRUE(read.faults.empty()) << read.faults.front().first.ToString();
  EXPECT_EQ(read.exceeds, "");
  return std::move(read.schema);
}

inline std::vector<std::string> Messages(const api::ErrorList& errors) {
  std::vector<std::string> messages;
  for (const api::FieldError& error : errors) messages.push_back(error.Message());
  return messages;
}

}  // namespace dray::crd
