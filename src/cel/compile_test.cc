// SPDX-License-Identifier: Apache-2.0
#include "cel/compile.h"

#include <gtest/gtest.h>

#include <string>

#include "cel/device_env.h"

namespace dray::cel {
namespace {

std::string ErrorOf(std::string_view expression, Purpose purpose,
                    const DeviceEnvironmentOptions& options = {}) {
  return Compile(expression, DeviceEnvironment(options), {.purpose = purpose}).error;
}

TEST(Compile, ShowsWhereTheErrorIs) {
  EXPECT_EQ(
      ErrorOf("device.attributes[true].x", Purpose::kSelector, {.list_type_attributes = false}),
      "compilation failed: ERROR: <input>:1:18: found no matching overload for '_[_]' applied "
      "to '(map(string, map(string, any)), bool)'\n"
      " | device.attributes[true].x\n"
      " | .................^");
}

TEST(Compile, SelectorsAreBoolOrUnknown) {
  EXPECT_EQ(ErrorOf("true", Purpose::kSelector), "");
  EXPECT_EQ(ErrorOf("device.attributes['a'].b", Purpose::kSelector), "");
  EXPECT_EQ(ErrorOf("dyn(true)", Purpose::kSelector), "");
  EXPECT_EQ(ErrorOf("1", Purpose::kSelector), "must evaluate to bool or the unknown type, not int");
  EXPECT_EQ(ErrorOf("dyn(true)", Purpose::kSelector, {.list_type_attributes = false}),
            "must evaluate to bool or the unknown type, not dyn");
}

TEST(Compile, DerivedAttributesAreWhatAttributesCanBe) {
  const Purpose derived = Purpose::kDerivedAttribute;
  for (const std::string_view fine : {"1", "true", "'a'", "semver('1.0.0')", "dyn(1)", "[1]",
                                      "['a']", "[]", "device.attributes['a'].b"}) {
    EXPECT_EQ(ErrorOf(fine, derived), "") << fine;
  }
  EXPECT_EQ(ErrorOf("1u", derived),
            "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of "
            "these scalars, not uint");
  EXPECT_EQ(
      ErrorOf("[1]", derived, {.list_type_attributes = false}),
      "must evaluate to a primitive scalar (string, integer, boolean, semver), not list(int)");
}

TEST(Compile, CostIsTheLargestNumberWhenNotWanted) {
  const auto environment = DeviceEnvironment({});
  EXPECT_EQ(Compile("true", environment, {.estimate_cost = false}).cost.max, CostRange::kLargest);
  EXPECT_EQ(Compile("true", environment).cost.max, 0u);
}

TEST(Compile, AProgramThatCannotBeBuiltIsOurFault) {
  const auto refuse = [](const CheckedExpr&) { return std::optional<std::string>("reason"); };
  const auto result = Compile("true", DeviceEnvironment({}), {.program_check = refuse});
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(result.internal);
  EXPECT_EQ(result.error, "program instantiation failed: reason");
}

TEST(DeviceExpressionChecker, HonoursTheGates) {
  const DeviceExpressionChecker checker;
  api::FeatureGates gates;
  constexpr auto kSelector = api::ExpressionChecker::Purpose::kSelector;
  const std::string_view expression = "device.allowMultipleAllocations";
  EXPECT_FALSE(checker.Check(expression, kSelector, gates).error.has_value());
  EXPECT_EQ(checker.Check(expression, kSelector, gates).max_cost, 2u);
  gates.Set(api::Gate::kDRAConsumableCapacity, false);
  EXPECT_TRUE(checker.Check(expression, kSelector, gates).error.has_value());
}

}  // namespace
}  // namespace dray::cel
