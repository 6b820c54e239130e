// SPDX-License-Identifier: Apache-2.0
#include "cel/device_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cel/device_env.h"
#include "cel/parser.h"

namespace dray::cel {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const Environment> Devices() {
  return DeviceEnvironment(DeviceEnvironmentOptions::Stored());
}

std::vector<Advice> Explained(std::string_view expression, Purpose purpose = Purpose::kSelector) {
  const CompileResult compiled = Compile(expression, Devices(), {.purpose = purpose});
  EXPECT_FALSE(compiled.ok()) << expression;
  return Explain(expression, compiled, *Devices(), purpose);
}

struct HintCase {
  std::string name;
  std::string expression;  // the place is marked with ^
  std::string hint;
  Purpose purpose = Purpose::kSelector;
  friend void PrintTo(const HintCase& c, std::ostream* os) { *os << c.name; }
};
class HintTest : public ::testing::TestWithParam<HintCase> {};

TEST_P(HintTest, SaysWhatWasMeantAndWhere) {
  std::string expression = GetParam().expression;
  const auto marker = expression.find('^');
  if (marker != std::string::npos) expression.erase(marker, 1);
  const std::vector<Advice> advice = Explained(expression, GetParam().purpose);
  ASSERT_FALSE(advice.empty());
  std::string said;
  for (const Advice& a : advice) {
    said += a.message + " -> " + a.hint + "\n";
    const bool here = marker == std::string::npos ? a.offset == kNowhere : a.offset == marker;
    if (here && a.hint == GetParam().hint) return;
  }
  ADD_FAILURE() << said;
}

INSTANTIATE_TEST_SUITE_P(
    Slips, HintTest,
    ::testing::ValuesIn(std::vector<HintCase>{
        // Words of other languages.
        {"word_and", R"(device.driver == "a" ^and true)", "and is written &&"},
        {"word_or", R"(true ^OR false)", "OR is written ||"},
        {"word_not", R"(not ^device.allowMultipleAllocations)", "not is written !"},
        {"word_not_called", R"(not^(true))", "not is written !"},
        {"unequal", R"(device.driver <^> "a")", "<> is written !="},
        {"triple_equal", R"(device.driver ==^= "a")", "=== is written =="},
        {"typographic_quotes", "device.driver == ^“a”", "texts have straight quotes, \" or '"},
        {"len", "len^(device.driver) > 3", "did you mean size?"},
        {"any", R"(device.attributes["d"].x.any^(y, y == 1))", "did you mean exists?"},
        {"true_with_capital", "device.allowMultipleAllocations == ^True", "did you mean true?"},
        {"none", "device.driver != ^None", "did you mean null?"},
        // Names.
        {"devices", R"(^devices.driver == "a")", "did you mean device?"},
        {"field_alone", R"(^driver == "a")", "did you mean device.driver?"},
        {"no_quotes", "device.driver == ^nvidia",
         "a text is written in quotes, \"nvidia\"; the only variable is device"},
        {"another_variable", "^object.spec == 1", "the only variable is device"},
        {"case_of_a_function", R"(device.driver.startswith^("a"))", "did you mean startsWith?"},
        {"part_of_a_package", "sets.contain^([1], [1])", "did you mean sets.contains?"},
        {"attribute", R"(device^.attribute["d"].x == 1)", "did you mean device.attributes?"},
        {"attrs", R"(device^.attrs["d"].x == 1)", "did you mean device.attributes?"},
        {"field_that_is_nowhere", R"(device^.nodeName == "a")",
         "a device has driver, attributes, capacity, allowMultipleAllocations, name; everything "
         "else about it is in its attributes"},
        // Quantities and versions.
        {"quantity_and_text", R"(device.capacity["d"].memory ^>= "40Gi")",
         R"(did you mean device.capacity["d"].memory.compareTo(quantity("40Gi")) >= 0?)"},
        {"quantity_and_number", R"(device.capacity["d"].cores ^> 4)",
         R"(did you mean device.capacity["d"].cores.compareTo(quantity("4")) > 0?)"},
        {"quantities", R"(device.capacity["d"].memory ^< quantity("1Gi"))",
         R"(did you mean device.capacity["d"].memory.compareTo(quantity("1Gi")) < 0?)"},
        {"text_and_quantity", R"("40Gi" ^== device.capacity["d"].memory)",
         R"(did you mean quantity("40Gi").compareTo(device.capacity["d"].memory) == 0?)"},
        {"sum_of_quantities", R"((quantity("1") ^+ quantity("2")).isGreaterThan(quantity("1")))",
         R"(did you mean quantity("1").add(quantity("2"))?)"},
        {"capacity_value", R"(device.capacity["d"].memory^.value == "1")",
         "a capacity is the quantity itself: leave what follows it away"},
        {"version_and_text", R"(semver("1.0.0") ^> "1.0.0")",
         R"(did you mean semver("1.0.0").compareTo(semver("1.0.0")) > 0?)"},
        {"attribute_and_version", R"(device.attributes["d"].v ^>= semver("1.0.0"))",
         R"(did you mean device.attributes["d"].v.compareTo(semver("1.0.0")) >= 0?)"},
        // Domains.
        {"attribute_as_domain", R"(device.attributes["model"] ^== "a")",
         R"(the driver's domain comes first, as in device.attributes["gpu.example.com"].model)"},
        {"attribute_as_field", R"(device.attributes.model ^== "a")",
         R"(the driver's domain comes first, as in device.attributes["gpu.example.com"].model)"},
        {"attribute_with_domain", R"(device.attributes["d.com/model"] ^== "a")",
         R"(did you mean device.attributes["d.com"].model?)"},
        {"method_of_a_domain", R"(device.attributes["model"].startsWith^("a"))",
         R"(the driver's domain comes first, as in device.attributes["gpu.example.com"].model)"},
        {"domain_as_value", R"(device.attributes["d.com"] ^== 3)",
         R"(this is all of the domain "d.com": name one of it, as in )"
         R"(device.attributes["d.com"].model)"},
        // Other types.
        {"text_in_text", R"("a" ^in device.driver)",
         R"(did you mean device.driver.contains("a")?)"},
        {"list_contains", R"(["a"].contains^("a"))", R"(did you mean "a" in ["a"]?)"},
        {"number_as_text", "device.driver ^== 3", R"(a text is written in quotes: "3")"},
        {"bool_as_text", R"(device.allowMultipleAllocations ^== "true")",
         "a bool is written without quotes: true"},
        {"text_and_number", R"((device.driver ^+ 1) == "a1")", "did you mean string(1)?"},
        {"side_of_and", "device^.driver && true",
         "this is a string, not yes or no: compare it with something"},
        {"negated_text", "^!device.driver", "a condition is yes or no: compare with something"},
        // Results.
        {"selector_of_text", "device.driver",
         "a selector has to be true or false: compare the value, for example with == or <"},
        {"selector_of_quantity", R"(device.capacity["d"].memory)",
         "a selector says yes or no: compare, as in .compareTo(quantity(\"40Gi\")) >= 0"},
        {"selector_of_a_domain", R"(device.attributes["d.com"])",
         R"(this is all of the domain "d.com": name one of it, as in )"
         R"(device.attributes["d.com"].model)"},
        {"derived_fraction", "1.5",
         "an attribute cannot be a fraction: round with int(...) or use string(...)",
         Purpose::kDerivedAttribute},
        {"derived_quantity", R"(device.capacity["d"].memory)",
         "an attribute cannot be a quantity: use a number, .asInteger()",
         Purpose::kDerivedAttribute},
    }),
    [](const auto& info) { return info.param.name; });

// A hint that is wrong itself is worse than none.
TEST(DeviceHints, WhatIsOfferedForAWholeExpressionCompiles) {
  for (const std::string_view expression :
       {R"(device.capacity["d"].memory >= "40Gi")", R"(device.capacity["d"].cores > 4)",
        R"("40Gi" == device.capacity["d"].memory)", R"(semver("1.0.0") > "1.0.0")",
        R"(device.attributes["d"].v >= semver("1.0.0"))", R"("a" in device.driver)",
        R"(["a"].contains("a"))", R"(quantity("1") + quantity("2") > quantity("1"))",
        R"((device.allowMultipleAllocations ? quantity("1") : quantity("2")) < 3)",
        R"(device.capacity["d"].cores >= size(device.driver))"}) {
    std::string hint = Explained(expression)[0].hint;
    ASSERT_THAT(hint, ::testing::StartsWith("did you mean ")) << expression;
    hint = hint.substr(13, hint.size() - 14);
    EXPECT_TRUE(Compile(hint, Devices()).ok()) << hint;
  }
}

TEST(DeviceHints, IncludesNeedsItsGate) {
  const auto environment = DeviceEnvironment({.list_type_attributes = false});
  constexpr std::string_view kExpression = R"(device.attributes["d"].x.includes("a"))";
  const auto advice =
      Explain(kExpression, Compile(kExpression, environment), *environment, Purpose::kSelector);
  ASSERT_THAT(advice, SizeIs(1));
  EXPECT_THAT(advice[0].hint, HasSubstr("DRAListTypeAttributes"));
}

TEST(DeviceHints, AnythingThatDoesNotCompileIsExplained) {
  for (const std::string_view expression :
       {"", " ", "(", ")", "'", "\"\xff", "a.b.c", "1 +", "device[", "[1, 'a']", "x()", "x.y()",
        "device.matches('(')", "'a'.matches('(')", "{1: 2, 'a': 3}", "\n\nand", "@", "&", "not"}) {
    EXPECT_FALSE(Explained(expression).empty()) << expression;
  }
}

TEST(DeviceHints, ALongExpressionIsNotRepeated) {
  const std::string expression = "device.capacity['d'].memory >= '" + std::string(1000, '1') + "'";
  EXPECT_THAT(Explained(expression)[0].hint, IsEmpty());
}

std::vector<Advice> Suspicious(std::string_view expression) {
  const CompileResult compiled = Compile(expression, Devices());
  EXPECT_TRUE(compiled.ok()) << compiled.error;
  return compiled.ok() ? FindSuspicious(*compiled.checked) : std::vector<Advice>();
}

TEST(Suspicious, AFieldOfAnAttributesValue) {
  const auto advice = Suspicious(R"(device.attributes["d.com"].model.string == "a")");
  ASSERT_THAT(advice, SizeIs(1));
  EXPECT_EQ(advice[0].offset, 32U);
  EXPECT_THAT(advice[0].hint, HasSubstr(R"(is its value: device.attributes["d.com"].model)"));
}

TEST(Suspicious, ADomainWithTheAttributesName) {
  const auto advice = Suspicious(R"(device.attributes["d.com/model"].string == "a")");
  ASSERT_THAT(advice, SizeIs(1));
  EXPECT_THAT(advice[0].hint, HasSubstr(R"(device.attributes["d.com"].model)"));
}

TEST(Suspicious, AnAttributeWithoutItsDomain) {
  for (const std::string_view expression :
       {R"(device.attributes["model"].string == "a")", R"(device.attributes.model.string == "a")",
        R"(device.attributes[?"model"].optMap(m, m.string == "a").orValue(false) ||
           device.attributes["model"].string == "a")"}) {
    const auto advice = Suspicious(expression);
    ASSERT_THAT(advice, SizeIs(1)) << expression;
    EXPECT_THAT(advice[0].hint, HasSubstr(R"(device.attributes["gpu.example.com"].model)"));
  }
}

TEST(Suspicious, WhatIsFineIsLeftAlone) {
  for (const std::string_view expression :
       {R"(device.attributes["d.com"].model == "a")", R"(device.attributes["d.com"].string == "a")",
        R"("device.attributes['a/b'].c" == device.driver)",
        R"(device.attributes["d.com"].list.exists(x, x == "int"))",
        R"(device.capacity["d.com"].memory.isGreaterThan(quantity("1")))"}) {
    EXPECT_THAT(Suspicious(expression), IsEmpty()) << expression;
  }
}

TEST(ExplainCost, FindsLoopsInsideEachOther) {
  const CompileResult compiled = Compile(
      "device.driver.contains('a') && device.attributes.all(a, device.attributes.exists(b, a != "
      "b))",
      Devices());
  ASSERT_TRUE(compiled.ok()) << compiled.error;
  const auto advice = ExplainCost(*compiled.checked);
  ASSERT_TRUE(advice.has_value());
  EXPECT_EQ(advice->offset, 80U);
  EXPECT_THAT(advice->message, HasSubstr("2 loops"));
}

TEST(ExplainCost, ABindingIsNoLoop) {
  const CompileResult compiled =
      Compile("cel.bind(a, device.driver, cel.bind(b, a, a == b))", Devices());
  ASSERT_TRUE(compiled.ok()) << compiled.error;
  EXPECT_FALSE(ExplainCost(*compiled.checked).has_value());
}

}  // namespace
}  // namespace dray::cel
