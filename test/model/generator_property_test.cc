// SPDX-License-Identifier: Apache-2.0
//
// That random instances stay interesting: feasible and infeasible ones, every feature in use, and
// hard ones whose answer is what their construction says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fmt/format.h"
#include "model/checker.h"
#include "model/generator.h"
#include "model/generator_profiles.h"
#include "model/hard_instances.h"
#include "model/model.h"
#include "testing/status_matchers.h"

namespace dray::model {
namespace {

using ::dray::testing::IsOk;

TEST(Generator, TheSameSeedGivesTheSameInstance) {
  EXPECT_TRUE(RandomInstance(7) == RandomInstance(7));
  EXPECT_FALSE(RandomInstance(7) == RandomInstance(8));
}

TEST(Generator, InstancesSurviveWritingAndReading) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Instance instance = RandomInstance(seed);
    const auto again = ParseInstance(WriteInstance(instance));
    ASSERT_THAT(again, IsOk()) << "seed " << seed;
    ASSERT_TRUE(*again == instance) << "seed " << seed;
  }
}

// The steps of a search that never has to go back.
std::uint64_t StraightSteps(const Instance& instance, const Outcome& outcome) {
  std::uint64_t steps = 1;
  for (std::size_t i = 0; i < instance.claims.size(); ++i) {
    steps += 1 + outcome.results[i].devices.results.size();
    for (const auto& request : instance.claims[i].spec.devices.requests) {
      steps += request.first_available.empty() ? 1 : 2;
    }
  }
  return steps;
}

TEST(Generator, FeasibleAndInfeasibleInstancesAreBothFrequent) {
  constexpr int kInstances = 3000;
  std::map<Outcome::Kind, int> kinds;
  int node_only = 0;
  int first_choice = 0;
  int went_back = 0;
  for (std::uint64_t seed = 1; seed <= kInstances; ++seed) {
    const Instance instance = RandomInstance(seed);
    const Outcome outcome = Solve(instance, {.max_steps = 5'000});
    if (outcome.kind == Outcome::Kind::kAllocated &&
        outcome.steps > StraightSteps(instance, outcome)) {
      ++went_back;
    }
    ++kinds[outcome.kind];
    if (outcome.node_only) ++node_only;
    if (outcome.kind == Outcome::Kind::kAllocated && outcome.results.size() == 1 &&
        outcome.results[0].devices.results.size() <= 1) {
      ++first_choice;
    }
  }
  for (const auto& [kind, n] : kinds) fmt::print("{}: {} of {}\n", ToString(kind), n, kInstances);
  fmt::print("error of one node: {}, at most one device: {}, found after going back: {}\n",
             node_only, first_choice, went_back);
  EXPECT_GT(kinds[Outcome::Kind::kAllocated], kInstances / 4);
  EXPECT_GT(kinds[Outcome::Kind::kNotPossible], kInstances / 5);
  EXPECT_GT(kinds[Outcome::Kind::kError], kInstances / 50);
  EXPECT_LT(kinds[Outcome::Kind::kError], kInstances / 4);
  EXPECT_LT(kinds[Outcome::Kind::kBudget], kInstances / 50);
  EXPECT_GT(node_only, kInstances / 100);
  EXPECT_LT(first_choice, kinds[Outcome::Kind::kAllocated] * 6 / 10);
  EXPECT_GT(went_back, kinds[Outcome::Kind::kAllocated] / 20);
}

TEST(Generator, EveryFeatureReachesTheResults) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Instance instance = RandomInstance(seed);
    const Outcome outcome = Solve(instance, {.max_steps = 5'000});
    if (outcome.kind != Outcome::Kind::kAllocated) continue;
    std::map<std::string, bool> has;
    has["several claims"] = outcome.results.size() > 1;
    for (std::size_t i = 0; i < outcome.results.size(); ++i) {
      const api::DeviceClaim& claim = instance.claims[i].spec.devices;
      has["config"] |= !outcome.results[i].devices.config.empty();
      has["no node selector"] |= !outcome.results[i].node_selector.has_value();
      for (const auto& constraint : claim.constraints) {
        has["match"] |= constraint.match_attribute.has_value();
        has["distinct"] |= constraint.distinct_attribute.has_value();
      }
      for (const auto& request : claim.requests) {
        has["all"] |= request.exactly && request.exactly->allocation_mode == "All";
        has["derived"] |= request.exactly && !request.exactly->derived_attributes.empty();
      }
      for (const auto& result : outcome.results[i].devices.results) {
        has["subrequest"] |= result.request.find('/') != std::string::npos;
        has["admin"] |= result.admin_access.has_value();
        has["share"] |= result.share_id.has_value();
        has["amount"] |= !result.consumed_capacity.empty();
        has["groups"] |= !result.compatibility_groups.empty();
        has["binding"] |= !result.binding_conditions.empty();
        has["tolerations"] |= !result.tolerations.empty();
        has["skip"] |= !result.skip_node_operations.empty();
      }
    }
    for (const auto& [name, present] : has) seen[name] += present ? 1 : 0;
  }
  for (const auto& [name, n] : seen) {
    fmt::print("{}: {}\n", name, n);
    EXPECT_GE(n, 20) << name;
  }
  EXPECT_EQ(seen.size(), 15U);
}

// What makes them worth asking about: they can be met, and not at the first attempt.
TEST(Generator, WhatIsPlantedCanBeMetAndTakesGoingBack) {
  for (const PlantedProfile& profile : PlantedProfiles()) {
    PlantedOptions options = profile.options;
    options.admin = 0.0;
    options.lists_off = 0.0;
    options.limit = 0.0;
    options.spoiled = 0.0;
    constexpr std::uint64_t kInstances = 200;
    std::uint64_t went_back = 0;
    std::uint64_t given_up = 0;
    for (std::uint64_t seed = 1; seed <= kInstances; ++seed) {
      Dice dice(seed);
      const Instance instance = PlantedInstance(dice, options);
      const Outcome outcome = Solve(instance, {.max_steps = 20'000});
      given_up += static_cast<std::uint64_t>(outcome.kind == Outcome::Kind::kBudget);
      if (outcome.kind == Outcome::Kind::kBudget) continue;
      ASSERT_EQ(outcome.kind, Outcome::Kind::kAllocated)
          << profile.name << " seed " << seed << " " << outcome.error << "\n"
          << WriteInstance(instance);
      went_back += static_cast<std::uint64_t>(outcome.steps > StraightSteps(instance, outcome));
    }
    fmt::print("{}: {} of {} after going back\n", profile.name, went_back, kInstances);
    EXPECT_GT(went_back, kInstances / 10) << profile.name;
    EXPECT_LT(given_up, kInstances / 20) << profile.name;
  }
}

TEST(HardInstances, SmallOnesAreWhatTheirConstructionSays) {
  for (const HardKind kind : HardKinds()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Dice dice(seed);
      const HardInstance hard = RandomHardInstance(dice, kind, true);
      const Outcome outcome = Solve(hard.instance, {.max_steps = 200'000});
      ASSERT_NE(outcome.kind, Outcome::Kind::kBudget) << NameOf(kind) << " seed " << seed;
      ASSERT_EQ(outcome.kind,
                hard.feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible)
          << NameOf(kind) << " seed " << seed << " " << outcome.error;
      if (hard.feasible) {
        EXPECT_THAT(CheckAllocation(hard.instance, outcome.results), ::testing::IsEmpty());
      }
    }
  }
}

TEST(HardInstances, APairIsFeasibleWhenBothAre) {
  int answered = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Dice dice(seed);
    const HardKind first = dice.Pick(HardKinds());
    const HardKind second = dice.Pick(HardKinds());
    const HardInstance pair = RandomHardPair(dice, first, second, true);
    const Outcome outcome = Solve(pair.instance, {.max_steps = 5'000});
    if (outcome.kind == Outcome::Kind::kBudget) continue;
    ++answered;
    EXPECT_EQ(outcome.kind, pair.feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible)
        << pair.instance.name << " seed " << seed << " " << outcome.error;
  }
  EXPECT_GT(answered, 150);
}

TEST(HardInstances, LargeOnesAreTooMuchForPlainEnumeration) {
  int given_up = 0;
  for (const HardKind kind : HardKinds()) {
    Dice dice(1);
    const HardInstance hard = RandomHardInstance(dice, kind);
    const Outcome outcome = Solve(hard.instance, {.max_steps = 3'000});
    ASSERT_NE(outcome.kind, Outcome::Kind::kError) << NameOf(kind) << " " << outcome.error;
    if (outcome.kind == Outcome::Kind::kBudget) ++given_up;
  }
  EXPECT_GT(given_up, 10);
}

}  // namespace
}  // namespace dray::model
