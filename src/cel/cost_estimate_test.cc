// SPDX-License-Identifier: Apache-2.0
#include "cel/cost_estimate.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/estimates.h"

namespace dray::cel {
namespace {

constexpr std::uint64_t kLargest = CostRange::kLargest;

TEST(CostRange, StopsAtTheLargestNumber) {
  const CostRange large{2, kLargest - 1};
  EXPECT_EQ(large + CostRange::Exactly(5), (CostRange{7, kLargest}));
  EXPECT_EQ(large * CostRange::Exactly(2), (CostRange{4, kLargest}));
  EXPECT_EQ(CostRange::Unknown() * CostRange{}, (CostRange{0, 0}));
}

TEST(CostRange, FactorsGoThroughDouble) {
  EXPECT_EQ((CostRange{11, kLargest}).Times(0.1), (CostRange{2, 1844674407370955264u}));
  EXPECT_EQ((CostRange{0, kLargest}).Times(2), (CostRange{0, kLargest}));
}

struct CostCase {
  std::string name;
  std::string expression;  // D is device.attributes["dra.example.com"]
  CostRange want;
  friend void PrintTo(const CostCase& c, std::ostream* os) { *os << c.expression; }
};
class EstimateTest : public ::testing::TestWithParam<CostCase> {};

TEST_P(EstimateTest, FollowsTheRules) {
  std::string expression = GetParam().expression;
  for (std::size_t at = 0; (at = expression.find('D', at)) != std::string::npos;) {
    expression.replace(at, 1, "device.attributes['dra.example.com']");
  }
  const CompileResult result = Compile(expression, DeviceEnvironment({}));
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.cost.min, GetParam().want.min);
  EXPECT_EQ(result.cost.max, GetParam().want.max);
}

INSTANTIATE_TEST_SUITE_P(
    Chapter7, EstimateTest,
    ::testing::ValuesIn(std::vector<CostCase>{
        {"literal", "true", {0, 0}},
        {"driver", "device.driver == 'gpu.example.com'", {3, 4}},
        {"order", "D.name > 0", {5, 5}},
        {"equality", "D.name == 'fish'", {5, 5}},
        {"in_attribute", "1 in D.names", {4, 68}},
        {"includes", "D.name.includes('fish')", {4, 68}},
        {"exists", "D.names.exists(x, x > 0)", {5, 389}},
        {"exists_one", "device.attributes.exists_one(x, x == 'dra.example.com')", {4, 164}},
        {"split", "D.services.split('example').size() >= 2", {6, 19}},
        {"matches", "D.services.matches('[^a]?sym')", {6, 18}},
        {"bind", "cel.bind(dra, D, dra.name)", {15, 15}},
        {"pattern_of_unknown_size", "D.model.matches(D.uuid)", {8, 120}},
        {"logic_may_stop_early", "true && D.a == 1", {0, 5}},
        // By field name a capacity's size is unknown, by index it is 0: so is upstream's.
        {"capacity_by_field", "device.capacity['a'].x != quantity('1')", {6, 1844674407370955269u}},
        {"capacity_by_index", "device.capacity['a']['x'] != quantity('1')", {5, 5}},
        {"library_equality", "quantity('1') == quantity('2')", {3, 3}},
        {"slice_wraps_around", "[1, 2, 3].slice(2, 1).size() == 0", {kLargest, kLargest}},
        {"our_name_is_a_label", "device.name == 'a'", {3, 3}},
    }),
    [](const auto& info) { return info.param.name; });

// Of a result that is the bare name of what was bound, Kubernetes has forgotten the size; of one
// that leads into the device it has not, nor of one that is more than the name.
TEST(EstimateOfBindings, ABareNameHasNoSize) {
  const auto largest = [](std::string_view expression) {
    const CompileResult result = Compile(expression, DeviceEnvironment({}));
    EXPECT_TRUE(result.ok()) << expression << ": " << result.error;
    return result.cost.max;
  };
  EXPECT_GT(largest("'a'.contains(cel.bind(b, 'x', b))"), 1'000'000u);
  EXPECT_GT(largest("cel.bind(b, [1, 2], b).exists(x, x == 1)"), 1'000'000u);
  EXPECT_LT(largest("cel.bind(b, [1, 2], b.exists(x, x == 1))"), 100u);
  EXPECT_LT(largest("'a'.contains(cel.bind(b, device.driver, b))"), 100u);
}

struct ReplaceCase {
  std::string name;
  CostRange text, searched, replacement, want;
  friend void PrintTo(const ReplaceCase& c, std::ostream* os) { *os << c.name; }
};
class ReplacedSizeTest : public ::testing::TestWithParam<ReplaceCase> {};

TEST_P(ReplacedSizeTest, IsBounded) {
  const ReplaceCase& c = GetParam();
  EXPECT_EQ(estimate::ReplacedSize(c.text, c.searched, c.replacement), c.want);
}

INSTANTIATE_TEST_SUITE_P(Upstream, ReplacedSizeTest,
                         ::testing::ValuesIn(std::vector<ReplaceCase>{
                             {"empty_with_char", {3, 3}, {0, 0}, {1, 1}, {7, 7}},
                             {"char_with_empty", {3, 3}, {1, 1}, {0, 0}, {0, 3}},
                             {"repeated", {4, 4}, {2, 2}, {4, 4}, {4, 8}},
                             {"maybe_larger", {4, 4}, {1, 1}, {1, 2}, {4, 8}},
                         }),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::cel
