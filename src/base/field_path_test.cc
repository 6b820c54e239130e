// SPDX-License-Identifier: Apache-2.0
#include "base/field_path.h"

#include <gtest/gtest.h>

#include <string>

namespace dray::base {
namespace {

TEST(FieldPath, ReadsAsKubernetesWritesIt) {
  const FieldPath device = FieldPath("spec").Child("devices").Index(2);
  EXPECT_EQ((device / "attributes").Key("gpu.example.com/model").Child("string").ToString(),
            "spec.devices[2].attributes[gpu.example.com/model].string");
  EXPECT_EQ(FieldPath().ToString(), "");
}

TEST(FieldPath, LongerPathsShareTheirBeginningAndLeaveItAlone) {
  const FieldPath spec("spec");
  const FieldPath name = spec / "name";
  EXPECT_EQ(spec.ToString(), "spec");
  EXPECT_EQ(name.Parent(), spec);
  EXPECT_TRUE(spec.Parent().empty());
  EXPECT_TRUE(FieldPath().Parent().empty());
}

// A key may be as long as a request, and part of as many paths as there is room for.
TEST(FieldPath, OfANameThatNothingMayHaveTheBeginningIsShown) {
  const std::string name(400, 'a');
  EXPECT_EQ(FieldPath("a").Key(name).ToString(), "a[" + name + "]");
  const FieldPath path = FieldPath("a").Key(name + "b").Child("c");
  EXPECT_EQ(path.ToString(), "a[" + name + "...].c");
  EXPECT_EQ(path, FieldPath("a").Key(name + "b").Child("c"));
  EXPECT_NE(path, FieldPath("a").Key(name + "c").Child("c"));
  EXPECT_EQ(FieldPath(std::string(399, 'a') + "\xc3\xa9").ToString(),
            std::string(399, 'a') + "...");
}

TEST(FieldPath, AnIndexAndAKeyThatLookAlikeDiffer) {
  EXPECT_NE(FieldPath("a").Index(1), FieldPath("a").Key("1"));
  EXPECT_EQ(FieldPath("a").Index(1), FieldPath("a").Index(1));
}

}  // namespace
}  // namespace dray::base
