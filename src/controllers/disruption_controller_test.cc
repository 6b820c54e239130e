// SPDX-License-Identifier: Apache-2.0
#include "controllers/disruption_controller.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include "controllers/budget_math.h"
#include "controllers/workload_pods.h"
#include "controllers/workloads_for_test.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

api::PodDisruptionBudget BudgetNamed(std::string_view name) {
  api::PodDisruptionBudget budget;
  budget.metadata.namespace_ = "ns";
  budget.metadata.name = name;
  budget.spec.selector.emplace().match_labels["app"] = "web";
  return budget;
}

class DisruptionTest : public ::testing::Test {
 protected:
  void AddPods(int count, int ready, const api::ReplicaSet* owner = nullptr) {
    for (int i = 0; i < count; ++i) {
      api::Pod pod = PodNamed(fmt::format("p{}", i));
      pod.metadata.labels["app"] = "web";
      if (owner != nullptr) {
        pod.metadata.owner_references = {ControllerReference(api::Object::Of(*owner))};
      }
      scene_.Add(pod);
      if (i < ready) MakeReady(scene_, pod.metadata.name);
    }
  }
  api::PodDisruptionBudgetStatus StatusAfter() {
    scene_.Settle(controller_);
    EXPECT_EQ(scene_.Settle(controller_), 0u);
    return scene_.Get<api::PodDisruptionBudget>("b").status;
  }

  Scene scene_;
  DisruptionController controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(DisruptionTest, ANumberThatMustStayNeedsNoOwner) {
  api::PodDisruptionBudget budget = BudgetNamed("b");
  budget.spec.min_available = api::IntOrString{2};
  scene_.Add(budget);
  AddPods(4, 3);
  const auto status = StatusAfter();
  EXPECT_EQ(status.expected_pods, 4);
  EXPECT_EQ(status.current_healthy, 3);
  EXPECT_EQ(status.desired_healthy, 2);
  EXPECT_EQ(status.disruptions_allowed, 1);
  EXPECT_EQ(status.observed_generation, 1);
  EXPECT_EQ(status.conditions.at(0).status, "True");
}

TEST_F(DisruptionTest, WhatMayBeMissingIsOfWhatIsWanted) {
  const api::ReplicaSet set = scene_.Add(SetNamed("web", 5));
  api::PodDisruptionBudget budget = BudgetNamed("b");
  budget.spec.max_unavailable = api::IntOrString{1};
  scene_.Add(budget);
  AddPods(4, 4, &set);
  // One of five is missing already.
  EXPECT_EQ(StatusAfter().disruptions_allowed, 0);
  EXPECT_EQ(StatusAfter().expected_pods, 5);
  EXPECT_EQ(StatusAfter().conditions.at(0).reason, "InsufficientPods");
}

TEST_F(DisruptionTest, AnEvictedPodCountsAsGoneForTwoMinutes) {
  api::PodDisruptionBudget budget = BudgetNamed("b");
  budget.spec.min_available = api::IntOrString{1};
  scene_.Add(budget);
  AddPods(3, 3);
  ASSERT_EQ(StatusAfter().disruptions_allowed, 2);
  budget = scene_.Get<api::PodDisruptionBudget>("b");
  budget.status.disruptions_allowed = 1;
  budget.status.disrupted_pods["p0"] = scene_.clock().Now();
  scene_.PutStatus(budget);
  EXPECT_EQ(StatusAfter().disruptions_allowed, 1);
  EXPECT_TRUE(StatusAfter().disrupted_pods.contains("p0"));
  scene_.clock().Advance(std::chrono::minutes(3));
  EXPECT_EQ(StatusAfter().disruptions_allowed, 2);
  EXPECT_FALSE(StatusAfter().disrupted_pods.contains("p0"));
}

// Beside a model that counts pods one by one.
TEST(BudgetMath, AgreesWithCountingOneByOne) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto selected = static_cast<std::int32_t>(random() % 30);
    const auto wanted = static_cast<std::int32_t>(random() % 30);
    const auto healthy = static_cast<std::int32_t>(random() % 31);
    const auto amount = static_cast<std::int32_t>(random() % 40);
    const auto percent = static_cast<std::int32_t>(random() % 101);
    api::PodDisruptionBudgetSpec spec;
    const unsigned form = random() % 4;
    const api::IntOrString number{amount};
    const api::IntOrString share{fmt::format("{}%", percent)};
    // The smallest number of pods that is at least so many percent.
    std::int32_t part = 0;
    while (part * 100 < wanted * percent) ++part;
    std::int32_t expected = 0;
    std::int32_t desired = 0;
    if (form == 0) {
      spec.min_available = number;
      expected = selected;
      desired = amount;
    } else if (form == 1) {
      spec.min_available = share;
      expected = wanted;
      desired = part;
    } else if (form == 2) {
      spec.max_unavailable = number;
      expected = wanted;
      desired = wanted;
      for (std::int32_t k = 0; k < amount && desired > 0; ++k) --desired;
    } else {
      spec.max_unavailable = share;
      expected = wanted;
      desired = wanted;
      for (std::int32_t k = 0; k < part && desired > 0; ++k) --desired;
    }
    std::int32_t allowed = 0;
    for (std::int32_t left = healthy; left > desired && expected > 0; --left) ++allowed;
    const BudgetSizes sizes = SizesOf(spec, selected, wanted);
    ASSERT_EQ(sizes.expected, expected);
    ASSERT_EQ(sizes.desired, desired);
    ASSERT_EQ(DisruptionsAllowed(sizes, healthy), allowed);
  }
}

}  // namespace
}  // namespace dray::controllers
