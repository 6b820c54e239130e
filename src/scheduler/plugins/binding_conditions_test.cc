// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/binding_conditions.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace dray::scheduler {
namespace {

using Kind = BindingState::Kind;

struct DeviceConditions {
  std::vector<std::string> binding;
  std::vector<std::string> failure;
  std::vector<std::string> true_now;
  bool has_status = true;
};
struct BindingCase {
  std::string name;
  std::vector<DeviceConditions> devices;
  Kind want = Kind::kReady;
  friend void PrintTo(const BindingCase& c, std::ostream* os) { *os << c.name; }
};

api::ResourceClaim ClaimWith(const std::vector<DeviceConditions>& devices) {
  api::ResourceClaim claim;
  claim.metadata.name = "c";
  auto& allocation = claim.status.allocation.emplace();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string name = "gpu-" + std::to_string(i);
    allocation.devices.results.push_back({.request = "r",
                                          .driver = "d",
                                          .pool = "p",
                                          .device = name,
                                          .binding_conditions = devices[i].binding,
                                          .binding_failure_conditions = devices[i].failure});
    if (!devices[i].has_status) continue;
    auto& status = claim.status.devices.emplace_back();
    status.driver = "d";
    status.pool = "p";
    status.device = name;
    status.conditions.push_back({.type = "Unrelated", .status = "True"});
    for (const std::string& type : devices[i].true_now) {
      status.conditions.push_back(
          {.type = type, .status = "True", .reason = "Why", .message = "so"});
    }
  }
  return claim;
}

class BindingStateTest : public ::testing::TestWithParam<BindingCase> {};
TEST_P(BindingStateTest, IsThatOfAllDevicesTogether) {
  EXPECT_EQ(BindingStateOf(ClaimWith(GetParam().devices)).kind, GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Kep5007, BindingStateTest,
    ::testing::ValuesIn(std::vector<BindingCase>{
        {.name = "no_conditions", .devices = {{}}},
        {.name = "all_true", .devices = {{{"A", "B"}, {"F"}, {"B", "A"}}}},
        {.name = "one_missing", .devices = {{{"A", "B"}, {"F"}, {"A"}}}, .want = Kind::kPending},
        {.name = "no_status_yet", .devices = {{{"A"}, {}, {}, false}}, .want = Kind::kPending},
        {.name = "second_device_pending",
         .devices = {{{"A"}, {}, {"A"}}, {{"A"}, {}, {}}},
         .want = Kind::kPending},
        {.name = "failed", .devices = {{{"A"}, {"F"}, {"A", "F"}}}, .want = Kind::kFailed},
        // What has failed cannot become ready, whatever the others still wait for.
        {.name = "failed_behind_a_pending_one",
         .devices = {{{"A"}, {}, {}, false}, {{"A"}, {"F"}, {"F"}}},
         .want = Kind::kFailed},
        {.name = "failure_without_binding_conditions_does_not_count",
         .devices = {{{}, {"F"}, {"F"}}}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(BindingState, SaysWhatFailed) {
  EXPECT_EQ(BindingStateOf(ClaimWith({{{"A"}, {"F"}, {"F"}}})).message,
            "device binding failed: claim=c, reason=Why, message=\"so\"");
}

TEST(BindingDeadline, CountsFromTheAllocation) {
  api::ResourceClaim claim = ClaimWith({{{"A"}, {}, {}}});
  EXPECT_EQ(BindingDeadline(claim, std::chrono::seconds(5)), std::nullopt);
  claim.status.allocation->allocation_timestamp = base::Time::FromUnix(100);
  EXPECT_EQ(BindingDeadline(claim, std::chrono::seconds(5)), base::Time::FromUnix(105));
  EXPECT_TRUE(HasBindingConditions(claim));
  EXPECT_FALSE(HasBindingConditions(ClaimWith({{}})));
}

}  // namespace
}  // namespace dray::scheduler
