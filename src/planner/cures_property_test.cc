// SPDX-License-Identifier: Apache-2.0
//
// Property of cures of random small clusters: each one, applied to the objects of the plan and
// planned anew from scratch, places the pod that it is for. And a plan does not change by looking
// for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/workloads.h"
#include "planner/cures.h"
#include "planner/internal/outcomes.h"
#include "planner/plan_for_test.h"

namespace dray::planner {
namespace {

constexpr int kRounds = 120;

// Nodes with taints, labels and little cpu; pods and claims that mind some of it.
std::string RandomCluster(std::mt19937& random) {
  const auto up_to = [&](std::uint32_t n) { return static_cast<int>(random() % (n + 1)); };
  const auto one_of = [&](std::uint32_t n) { return random() % n == 0; };
  std::string yaml = ClassYaml();
  const int nodes = 1 + up_to(3);
  for (int i = 0; i < nodes; ++i) {
    std::string node = NodeYaml(fmt::format("n{}", i), up_to(3));
    std::string spec;
    if (one_of(4)) spec += "taints: [{key: only, value: some, effect: NoSchedule}], ";
    if (one_of(5)) spec += "unschedulable: true, ";
    if (!spec.empty()) {
      node.replace(node.find("status:"), 7, fmt::format("spec: {{{}}}\nstatus:", spec));
    }
    yaml += node;
  }
  for (int i = up_to(3); i > 0; --i) {
    std::string claim = ClaimYaml(fmt::format("c{}", i), 1 + up_to(3));
    if (one_of(4)) {
      claim.replace(claim.find("deviceClassName: gpu,"), 21,
                    "deviceClassName: gpu, selectors: [{cel: {expression: 'device.driver == "
                    "\"none\"'}}],");
    } else if (one_of(6)) {
      claim.replace(claim.find("deviceClassName: gpu,"), 21, "deviceClassName: gpux,");
    }
    yaml += claim;
  }
  for (int i = 2 + up_to(5); i > 0; --i) {
    std::string more = fmt::format("  priority: {}\n", up_to(2) * 10);
    if (one_of(5)) more += "  nodeSelector: {disk: fast}\n";
    if (one_of(5)) more += "  tolerations: [{operator: Exists}]\n";
    const std::string name = fmt::format("p{}", i);
    if (one_of(4)) {
      more += fmt::format("  nodeName: n{}\nstatus: {{phase: Running}}\n", up_to(nodes - 1));
    }
    switch (random() % 3) {
      case 0:
        yaml += GpuPodYaml(name, 1 + up_to(3), more);
        break;
      case 1:
        yaml += ClaimPodYaml(name, fmt::format("c{}", 1 + up_to(3)), more);
        break;
      default:
        yaml += PodYaml(name, more, std::to_string(1 + up_to(9)));
    }
  }
  return yaml;
}

// The plan's objects with the cure, without the other pods that wait: it is promised for this one.
std::vector<api::Object> Cured(const Plan& plan, const Cure& cure, std::string_view pod) {
  std::vector<api::Object> objects = plan.objects;
  std::erase_if(objects, [&](const api::Object& object) {
    const auto* other = object.As<api::Pod>();
    return other != nullptr && other->spec.node_name.empty() && other->metadata.name != pod;
  });
  Apply(cure.changes, objects);
  return objects;
}

TEST(CureProperty, EveryCureThatIsToldHelps) {
  std::mt19937 random(20261116);
  const PlanOptions options = DefaultOptions();
  std::size_t cures = 0;
  std::size_t refused = 0;
  std::size_t helpless = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string yaml = RandomCluster(random);
    const Plan plan = PlanOf(yaml, options);
    CureFinder finder(plan, options);
    for (const PodOutcome& pod : plan.pods) {
      if (!pod.explanation) continue;
      const Help help = finder.For(pod);
      // Who names a claim that is not there is only told so.
      if (!pod.explanation->groups.empty()) {
        ++refused;
        helpless += help.cures.empty() ? 1 : 0;
      }
      for (const Cure& cure : help.cures) {
        ++cures;
        SCOPED_TRACE(fmt::format("round {}, pod {}: {}\n{}", round, pod.name, cure.text, yaml));
        const auto cured = MakePlan(Cured(plan, cure, pod.name), options);
        ASSERT_TRUE(cured.ok()) << base::Message(cured.status());
        bool placed = false;
        for (const PodOutcome& outcome : cured->pods) {
          if (outcome.name != pod.name || outcome.namespace_ != pod.namespace_) continue;
          placed = outcome.state == State::kPlaced;
          EXPECT_EQ(outcome.node, cure.node);
        }
        ASSERT_TRUE(placed);
      }
    }
  }
  EXPECT_GT(cures, 100U);
  EXPECT_GT(refused, 100U);
  // Random pods ask for odd things; for most of them something can be done.
  EXPECT_LT(helpless * 4, refused);
}

// What is said not to be enough is not, planned anew from scratch; unless others were sent away for it.
TEST(CureProperty, WhatIsSaidNotToBeEnoughIsNot) {
  std::mt19937 random(20261118);
  const PlanOptions options = DefaultOptions();
  std::size_t told = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string yaml = RandomCluster(random);
    const Plan plan = PlanOf(yaml, options);
    CureFinder finder(plan, options);
    for (const PodOutcome& pod : plan.pods) {
      if (!pod.explanation) continue;
      for (const Cure& cure : finder.For(pod).others) {
        if (cure.verified != Verified::kInsufficient) continue;
        ++told;
        SCOPED_TRACE(fmt::format("round {}, pod {}: {}\n{}", round, pod.name, cure.text, yaml));
        EXPECT_FALSE(cure.still.empty());
        const auto cured = MakePlan(Cured(plan, cure, pod.name), options);
        ASSERT_TRUE(cured.ok()) << base::Message(cured.status());
        for (const PodOutcome& outcome : cured->pods) {
          if (outcome.name != pod.name || outcome.namespace_ != pod.namespace_) continue;
          EXPECT_EQ(outcome.state, State::kRefused);
        }
      }
    }
  }
  EXPECT_GT(told, 20U);
}

// A trial leaves nothing behind: the second time everything is found again.
TEST(CureProperty, LookingForThemChangesNothing) {
  std::mt19937 random(20261117);
  const PlanOptions options = DefaultOptions();
  for (int round = 0; round < kRounds / 4; ++round) {
    const std::string yaml = RandomCluster(random);
    const Plan plan = PlanOf(yaml, options);
    CureFinder finder(plan, options);
    const auto all = [&] {
      std::vector<std::string> texts;
      for (const PodOutcome& pod : plan.pods) {
        for (const Cure& cure : finder.For(pod).cures) {
          texts.push_back(fmt::format("{}: {} -> {}", pod.name, cure.text, cure.node));
        }
      }
      return texts;
    };
    const auto first = all();
    EXPECT_EQ(all(), first) << "round " << round << "\n" << yaml;
  }
}

}  // namespace
}  // namespace dray::planner
