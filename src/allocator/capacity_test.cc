// SPDX-License-Identifier: Apache-2.0
#include "allocator/capacity.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/slice_builder.h"

namespace dray::allocator {
namespace {

using base::Quantity;
using testing::ToQuantity;

// Texts, so that a row reads as a manifest does; empty: not set.
struct Range {
  std::string min;
  std::string max;
  std::string step;
};

struct CapacityCase {
  std::string name;
  std::string requested;  // empty: no request
  std::string value = "100";
  std::string default_value;
  std::vector<std::string> valid_values;
  std::optional<Range> range;
  bool policy = true;
  bool fractional = true;
  std::string want;  // as printed; empty: cannot be counted
  bool violates = false;
  friend void PrintTo(const CapacityCase& c, std::ostream* os) { *os << c.name; }
};

std::optional<Quantity> Optional(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return ToQuantity(text);
}

api::DeviceCapacity CapacityOf(const CapacityCase& c) {
  api::DeviceCapacity capacity{.value = ToQuantity(c.value)};
  if (!c.policy) return capacity;
  capacity.request_policy = api::CapacityRequestPolicy{.default_value = Optional(c.default_value)};
  for (const std::string& value : c.valid_values) {
    capacity.request_policy->valid_values.push_back(ToQuantity(value));
  }
  if (c.range) {
    capacity.request_policy->valid_range =
        api::CapacityRequestPolicyRange{.min = Optional(c.range->min),
                                        .max = Optional(c.range->max),
                                        .step = Optional(c.range->step)};
  }
  return capacity;
}

class CapacityTest : public ::testing::TestWithParam<CapacityCase> {};

TEST_P(CapacityTest, IsConsumedAsThePolicySays) {
  const CapacityCase& c = GetParam();
  const api::DeviceCapacity capacity = CapacityOf(c);
  const api::DeviceCapacity before = capacity;
  const std::optional<Quantity> requested = Optional(c.requested);
  const auto amount = ConsumedAmount(requested ? &*requested : nullptr, capacity, c.fractional);
  EXPECT_EQ(amount ? amount->ToString() : "", c.want);
  EXPECT_EQ(capacity, before);
  if (!amount) return;
  EXPECT_EQ(ViolatesPolicy(*amount, capacity.request_policy.get(), c.fractional), c.violates);
}

std::vector<CapacityCase> WithoutRange() {
  return {
      {.name = "no_request_takes_the_default", .default_value = "5", .want = "5"},
      {.name = "no_request_and_no_policy_takes_it_all", .policy = false, .want = "100"},
      {.name = "no_request_and_no_default_takes_it_all", .want = "100"},
      // Nobody asked for 100, yet 100 is what the policy does not have.
      {.name = "all_of_it_may_violate_the_policy",
       .valid_values = {"10", "20"},
       .want = "100",
       .violates = true},
      {.name = "no_policy_takes_what_is_asked", .requested = "7", .policy = false, .want = "7"},
      {.name = "a_policy_of_nothing_takes_what_is_asked", .requested = "7", .want = "7"},
      {.name = "the_default_is_not_for_those_who_ask",
       .requested = "3",
       .default_value = "5",
       .want = "3"},
      {.name = "a_negative_request_stays_negative",
       .requested = "-1",
       .policy = false,
       .want = "-1"},
      {.name = "a_value_that_is_in_the_list",
       .requested = "2",
       .valid_values = {"1", "2", "4"},
       .want = "2"},
      {.name = "between_values_goes_up",
       .requested = "3",
       .valid_values = {"1", "2", "4"},
       .want = "4"},
      {.name = "a_value_keeps_its_own_form",
       .requested = "1Gi",
       .valid_values = {"2147483648", "4Gi"},
       .want = "2147483648"},
      // In the order of the list, which validation wants sorted.
      {.name = "the_first_value_that_is_enough",
       .requested = "1",
       .valid_values = {"4", "2"},
       .want = "4"},
      {.name = "above_all_values_is_not_allowed",
       .requested = "5",
       .valid_values = {"1", "4"},
       .want = "5",
       .violates = true},
      {.name = "the_default_may_lie_outside_of_the_values",
       .default_value = "3",
       .valid_values = {"1", "4"},
       .want = "3"},
      // Kubernetes compares how the two are held in memory; by value they are the same.
      {.name = "the_default_in_another_spelling",
       .requested = "3000m",
       .default_value = "3",
       .range = Range{.max = "2"},
       .want = "3"},
  };
}

std::vector<CapacityCase> WithRange() {
  return {
      {.name = "below_min_gives_min", .requested = "3", .range = Range{.min = "4"}, .want = "4"},
      {.name = "min_goes_before_values",
       .requested = "3",
       .valid_values = {"8"},
       .range = Range{.min = "4"},
       .want = "4"},
      {.name = "without_min_the_values_are_asked",
       .requested = "3",
       .valid_values = {"8"},
       .range = Range{.max = "9"},
       .want = "8"},
      {.name = "above_min_without_step_is_taken_as_it_is",
       .requested = "4500m",
       .range = Range{.min = "4"},
       .want = "4500m"},
      {.name = "on_a_step_stays",
       .requested = "8",
       .range = Range{.min = "4", .step = "2"},
       .want = "8"},
      {.name = "between_steps_goes_up",
       .requested = "7",
       .range = Range{.min = "4", .step = "2"},
       .want = "8"},
      {.name = "steps_are_counted_from_min",
       .requested = "6",
       .range = Range{.min = "5", .step = "2"},
       .want = "7"},
      // 9 becomes 10, past max: refused, not clamped to 8.
      {.name = "past_max_is_not_allowed",
       .requested = "9",
       .range = Range{.min = "4", .max = "8", .step = "2"},
       .want = "10",
       .violates = true},
      {.name = "at_max_is_allowed",
       .requested = "7",
       .range = Range{.min = "4", .max = "8", .step = "2"},
       .want = "8"},
      {.name = "a_default_off_the_steps_is_allowed",
       .default_value = "5",
       .range = Range{.min = "4", .step = "2"},
       .want = "5"},
      {.name = "all_of_it_must_be_on_a_step",
       .value = "7",
       .range = Range{.min = "4", .step = "2"},
       .want = "7",
       .violates = true},
      {.name = "the_form_is_that_of_the_step",
       .requested = "5Gi",
       .value = "80Gi",
       .range = Range{.min = "1", .step = "8"},
       .want = "5368709121"},
      {.name = "a_binary_step_prints_binary",
       .requested = "1073741825",
       .value = "80Gi",
       .range = Range{.min = "1Gi", .step = "1Gi"},
       .want = "2Gi"},
      {.name = "min_keeps_its_own_form",
       .requested = "1",
       .value = "80Gi",
       .range = Range{.min = "1073741824", .step = "1Gi"},
       .want = "1073741824"},
  };
}

std::vector<CapacityCase> Fractions() {
  return {
      {.name = "thousandths_are_exact",
       .requested = "600m",
       .range = Range{.min = "500m", .step = "250m"},
       .want = "750m"},
      {.name = "thousandths_that_add_up_to_whole_ones",
       .requested = "900m",
       .range = Range{.min = "500m", .step = "250m"},
       .want = "1"},
      {.name = "whole_bounds_count_in_thousandths_too",
       .requested = "1500m",
       .range = Range{.min = "1", .step = "1"},
       .want = "2"},
      {.name = "without_the_feature_bounds_go_up_to_whole_units",
       .requested = "600m",
       .range = Range{.min = "200m", .step = "100m"},
       .fractional = false,
       .want = "1"},
      {.name = "without_the_feature_requests_go_up_too",
       .requested = "2100m",
       .range = Range{.min = "1", .step = "1"},
       .fractional = false,
       .want = "3"},
      // A step of less than a thousandth cannot be counted in thousandths, so all are whole.
      {.name = "a_finer_step_makes_everything_whole",
       .requested = "1500m",
       .range = Range{.min = "1", .step = "500u"},
       .want = "2"},
      {.name = "a_request_finer_than_thousandths_goes_up",
       .requested = "1000500u",
       .range = Range{.min = "1", .step = "1"},
       .want = "2"},
      {.name = "a_request_finer_than_thousandths_goes_up_to_the_next_step",
       .requested = "1000500u",
       .range = Range{.min = "1", .step = "1m"},
       .want = "1001m"},
      {.name = "the_same_request_in_whole_units_goes_up",
       .requested = "1000500u",
       .range = Range{.min = "1", .step = "1"},
       .fractional = false,
       .want = "2"},
  };
}

std::vector<CapacityCase> LargeAmounts() {
  return {
      {.name = "a_request_of_more_than_64_bits_cannot_be_counted",
       .requested = "9223372036854775808",
       .range = Range{.min = "1", .step = "1"},
       .fractional = false,
       .want = ""},
      {.name = "without_steps_it_is_just_a_number",
       .requested = "9223372036854775808",
       .range = Range{.min = "1"},
       .want = "9223372036854775808"},
      {.name = "the_largest_that_can_be_counted",
       .requested = "9223372036854775807",
       .range = Range{.min = "1", .step = "1"},
       .fractional = false,
       .want = "9223372036854775807"},
      {.name = "rounding_past_64_bits_cannot_be_counted",
       .requested = "9223372036854775807",
       .range = Range{.min = "1", .step = "4"},
       .fractional = false,
       .want = ""},
      // 9223372036854776 is more than 64 bits of thousandths hold; as a bound it would switch to
      // whole units, as a request it cannot be counted.
      {.name = "a_request_too_large_for_thousandths",
       .requested = "9223372036854776",
       .range = Range{.min = "1", .step = "1"},
       .want = ""},
      {.name = "a_bound_too_large_for_thousandths_counts_whole",
       .requested = "9223372036854776",
       .range = Range{.min = "1", .max = "9223372036854777", .step = "1"},
       .want = "9223372036854776"},
      // The difference of the two is more than 64 bits hold; the result is not.
      {.name = "a_negative_min_far_below",
       .requested = "9223372036854775807",
       .range = Range{.min = "-9223372036854775807", .step = "2"},
       .fractional = false,
       .want = "9223372036854775807"},
  };
}

std::string NameOf(const ::testing::TestParamInfo<CapacityCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(WithoutRange, CapacityTest, ::testing::ValuesIn(WithoutRange()), NameOf);
INSTANTIATE_TEST_SUITE_P(WithRange, CapacityTest, ::testing::ValuesIn(WithRange()), NameOf);
INSTANTIATE_TEST_SUITE_P(Fractions, CapacityTest, ::testing::ValuesIn(Fractions()), NameOf);
INSTANTIATE_TEST_SUITE_P(LargeAmounts, CapacityTest, ::testing::ValuesIn(LargeAmounts()), NameOf);

// Steps that are none are an error only for those who would have to take them.
struct BrokenStepCase {
  std::string name;
  std::string requested;
  std::string default_value;
  Range range;
  bool broken = false;
  friend void PrintTo(const BrokenStepCase& c, std::ostream* os) { *os << c.name; }
};
class BrokenStepTest : public ::testing::TestWithParam<BrokenStepCase> {};

TEST_P(BrokenStepTest, IsNeededOrNot) {
  const BrokenStepCase& c = GetParam();
  const api::DeviceCapacity capacity =
      CapacityOf({.default_value = c.default_value, .range = c.range});
  const std::optional<Quantity> requested = Optional(c.requested);
  EXPECT_EQ(NeedsBrokenStep(requested ? &*requested : nullptr, capacity), c.broken);
}

INSTANTIATE_TEST_SUITE_P(
    StepsOfNothing, BrokenStepTest,
    ::testing::Values(
        BrokenStepCase{.name = "a_step_of_one", .requested = "3", .range = {"1", "", "1"}},
        BrokenStepCase{.name = "no_step", .requested = "3", .range = {"1", "", ""}},
        BrokenStepCase{.name = "zero", .requested = "3", .range = {"1", "", "0"}, .broken = true},
        BrokenStepCase{
            .name = "negative", .requested = "3", .range = {"1", "", "-1"}, .broken = true},
        BrokenStepCase{.name = "at_min", .requested = "1", .range = {"1", "", "0"}, .broken = true},
        BrokenStepCase{.name = "min_is_taken_and_then_looked_at",
                       .requested = "0",
                       .range = {"1", "", "0"},
                       .broken = true},
        BrokenStepCase{.name = "min_that_is_the_default",
                       .requested = "0",
                       .default_value = "1",
                       .range = {"1", "", "0"}},
        BrokenStepCase{
            .name = "without_min", .requested = "3", .range = {"", "", "0"}, .broken = true},
        BrokenStepCase{.name = "without_min_past_max", .requested = "3", .range = {"", "2", "0"}},
        BrokenStepCase{.name = "rounding_comes_before_max",
                       .requested = "3",
                       .range = {"1", "2", "0"},
                       .broken = true},
        BrokenStepCase{.name = "the_default", .default_value = "2", .range = {"1", "", "0"}},
        BrokenStepCase{
            .name = "no_request_and_no_default", .range = {"1", "", "0"}, .broken = true},
        BrokenStepCase{.name = "all_of_it_past_max", .range = {"1", "2", "0"}}),
    [](const auto& info) { return info.param.name; });

TEST(Capacity, WithoutARangeThereAreNoSteps) {
  const Quantity three = Quantity::FromInt(3);
  EXPECT_FALSE(NeedsBrokenStep(&three, CapacityOf({.policy = false})));
  EXPECT_FALSE(NeedsBrokenStep(&three, CapacityOf({.valid_values = {"4"}})));
}

// Property: rounding never goes down, and rounding twice is rounding once.
TEST(Capacity, RoundingNeverGoesDownAndTwiceIsOnce) {
  for (const bool fractional : {false, true}) {
    for (int min = 0; min <= 6; ++min) {
      for (int step = 1; step <= 5; ++step) {
        api::DeviceCapacity capacity{.value = Quantity::FromInt(100)};
        capacity.request_policy = api::CapacityRequestPolicy{};
        capacity.request_policy->valid_range = api::CapacityRequestPolicyRange{
            .min = Quantity::FromMilli(min * 500), .step = Quantity::FromMilli(step * 250)};
        for (int milli = 0; milli <= 9000; milli += 125) {
          const Quantity asked = Quantity::FromMilli(milli);
          const auto once = ConsumedAmount(&asked, capacity, fractional);
          ASSERT_TRUE(once.has_value());
          ASSERT_GE(*once, asked);
          ASSERT_FALSE(ViolatesPolicy(*once, capacity.request_policy.get(), fractional))
              << asked.ToString() << " gave " << once->ToString();
          // In whole units a min that is none is taken as it is, and rounded when asked for.
          if (!fractional && *once == *capacity.request_policy->valid_range->min) continue;
          ASSERT_EQ(ConsumedAmount(&*once, capacity, fractional), once);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dray::allocator
