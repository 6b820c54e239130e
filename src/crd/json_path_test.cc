// SPDX-License-Identifier: Apache-2.0
#include "crd/json_path.h"

#include <gtest/gtest.h>

#include "crd/crd_for_test.h"

namespace dray::crd {
namespace {

std::string Found(std::string_view path) {
  static const DocumentNode tree = Tree(R"({spec: {num: 3, list: [{name: a, v: 1}, {name: b, v: 2}],
    "a.b": dotted, "x y": blank}, status: {conditions: [{type: Ready, status: "True"}, {type: Old, status: "False"}]}})");
  const auto parsed = JsonPath::Parse(path);
  if (!parsed) return "no path";
  std::string out;
  for (const DocumentNode* node : parsed->Find(tree))
    out += (out.empty() ? "" : " ") + ToJson(*node);
  return out;
}

TEST(JsonPath, LeadsToValues) {
  EXPECT_EQ(Found(".spec.num"), "3");
  EXPECT_EQ(Found(".spec.list[1].name"), R"("b")");
  EXPECT_EQ(Found(".spec.list[-1].name"), R"("b")");
  EXPECT_EQ(Found(".spec.list[*].v"), "1 2");
  EXPECT_EQ(Found(".spec.list[0:1].v"), "1");
  EXPECT_EQ(Found(R"(.spec.a\.b)"), R"("dotted")");
  EXPECT_EQ(Found(".spec['x y']"), R"("blank")");
  EXPECT_EQ(Found(R"(.status.conditions[?(@.type=="Ready")].status)"), R"("True")");
  EXPECT_EQ(Found(R"(.status.conditions[?(@.type != 'Ready')].type)"), R"("Old")");
  EXPECT_EQ(Found(".spec.list[?(@.v>1)].name"), R"("b")");
  EXPECT_EQ(Found(".spec.nothing.here"), "");
}

TEST(JsonPath, WhatIsNoneIsNone) {
  for (const std::string_view path : {"spec", ".spec[", ".spec..a", ".a[?(x)]", ".a[b]"}) {
    EXPECT_EQ(Found(path), "no path") << path;
  }
}

}  // namespace
}  // namespace dray::crd
