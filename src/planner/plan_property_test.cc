// SPDX-License-Identifier: Apache-2.0
//
// Properties of plans of random small clusters: the order of the objects does not matter, the same
// objects give the same plan, a plan of a plan changes nothing, and no device is given twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "api/resource_claim.h"
#include "planner/plan_for_test.h"

namespace dray::planner {
namespace {

constexpr int kRounds = 150;

std::string RandomCluster(std::mt19937& random) {
  const auto up_to = [&](std::uint32_t n) { return static_cast<int>(random() % (n + 1)); };
  std::string yaml = ClassYaml();
  const int nodes = up_to(3);
  for (int i = 0; i < nodes; ++i) yaml += NodeYaml(fmt::format("n{}", i), up_to(4));
  for (int i = up_to(3); i > 0; --i) yaml += ClaimYaml(fmt::format("c{}", i), 1 + up_to(2));
  if (random() % 2 == 0) yaml += DeploymentYaml("web", up_to(3));
  for (int i = up_to(6); i > 0; --i) {
    const std::string name = fmt::format("p{}", i);
    std::string more = fmt::format("  priority: {}\n", up_to(2) * 10);
    if (nodes > 0 && random() % 4 == 0) {
      more += fmt::format("  nodeName: n{}\nstatus: {{phase: {}}}\n", up_to(nodes - 1),
                          random() % 3 == 0 ? "Succeeded" : "Running");
    }
    switch (random() % 3) {
      case 0:
        yaml += GpuPodYaml(name, 1 + up_to(3), more);
        break;
      case 1:
        yaml += ClaimPodYaml(name, fmt::format("c{}", 1 + up_to(3)), more);
        break;
      default:
        yaml += PodYaml(name, more, std::to_string(1 + up_to(5)));
    }
  }
  return yaml;
}

void ExpectNoDeviceTwice(const Plan& plan, const std::string& yaml) {
  std::set<std::string> given;
  for (const api::Object& object : plan.objects) {
    const auto* claim = object.As<api::ResourceClaim>();
    if (claim == nullptr || !claim->status.allocation) continue;
    for (const auto& result : claim->status.allocation->devices.results) {
      EXPECT_TRUE(given.insert(result.pool + "/" + result.device).second)
          << result.pool << "/" << result.device << "\n"
          << yaml;
    }
  }
}

TEST(PlanProperty, NeitherOrderNorRepetitionMatters) {
  std::mt19937 random(20260728);
  std::size_t placed = 0;
  std::size_t refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string yaml = RandomCluster(random);
    SCOPED_TRACE(fmt::format("round {}\n{}", round, yaml));
    std::vector<api::Object> objects = testing::ObjectsFrom(yaml);
    const Plan plan = PlanOf(objects);
    EXPECT_EQ(JsonOf(PlanOf(objects).objects), JsonOf(plan.objects));
    std::ranges::shuffle(objects, random);
    const Plan shuffled = PlanOf(objects);
    EXPECT_EQ(Lines(shuffled), Lines(plan));
    ASSERT_EQ(JsonOf(shuffled.objects), JsonOf(plan.objects));
    ExpectNoDeviceTwice(plan, yaml);
    placed += plan.Count(State::kPlaced);
    refused += plan.Count(State::kRefused);
  }
  EXPECT_GT(placed, 100U);
  EXPECT_GT(refused, 100U);
}

TEST(PlanProperty, APlanOfAPlanChangesNothing) {
  std::mt19937 random(20260729);
  for (int round = 0; round < kRounds; ++round) {
    const std::string yaml = RandomCluster(random);
    SCOPED_TRACE(fmt::format("round {}\n{}", round, yaml));
    const Plan plan = PlanOf(yaml);
    const Plan again = PlanOf(plan.objects);
    ASSERT_EQ(JsonOf(again.objects), JsonOf(plan.objects));
    EXPECT_EQ(again.Count(State::kPlaced), 0U);
    EXPECT_EQ(again.Count(State::kRefused), plan.Count(State::kRefused));
  }
}

}  // namespace
}  // namespace dray::planner
