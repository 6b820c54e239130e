// SPDX-License-Identifier: Apache-2.0
//
// Relatives of the hard cases, by the thousand: every answer right, and the work grows with a small
// power of the size. Prints what it measured, which is where docs/performance.md has its table
// from.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/engine.h"
#include "fmt/format.h"
#include "model/checker.h"
#include "model/dice.h"
#include "model/hard_instances.h"

namespace dray::engine {
namespace {

using model::HardInstance;
using model::HardKind;
using model::Outcome;

std::uint64_t FromEnvironment(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

struct Worst {
  std::uint64_t steps = 0;
  double micros = 0;
  std::uint64_t seed = 0;
  std::size_t devices = 0;
};

std::string Keep(const model::Instance& instance, std::uint64_t seed) {
  const std::string path =
      fmt::format("{}hard-{}-{}.json", testing::TempDir(), instance.name, seed);
  std::ofstream(path) << model::WriteInstance(instance);
  return path;
}

void Check(const HardInstance& hard, std::uint64_t seed, Worst& worst) {
  World world(hard.instance);
  ASSERT_TRUE(world.status().ok());
  // The second time is what a scheduler meets: expressions have been evaluated.
  allocator::Allocator allocator;
  constexpr std::uint64_t kBudget = 20'000;
  Decide(world, allocator, {.step_budget = kBudget});
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = Decide(world, allocator, {.step_budget = kBudget});
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  if (outcome.steps >= worst.steps) {
    worst.steps = outcome.steps;
    worst.seed = seed;
  }
  worst.micros = std::max(worst.micros, took.count());
  worst.devices = std::max(worst.devices, world.devices()->devices().size());
  ASSERT_TRUE(outcome.kind ==
                  (hard.feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible) ||
              outcome.kind == Outcome::Kind::kBudget)
      << hard.instance.name << " seed " << seed << ": " << model::ToString(outcome.kind) << " "
      << outcome.error << ", kept in " << Keep(hard.instance, seed);
  if (outcome.kind == Outcome::Kind::kAllocated) {
    const auto complaints = model::CheckAllocation(hard.instance, outcome.results);
    ASSERT_TRUE(complaints.empty())
        << hard.instance.name << " seed " << seed << ": " << complaints.front();
  }
}

TEST(HardCases, RelativesOfEveryKindAreAnsweredWithFewSteps) {
  const std::uint64_t first = FromEnvironment("DRAY_SEED", 1);
  const std::uint64_t n = FromEnvironment("DRAY_INSTANCES", 40);
  for (const HardKind kind : model::HardKinds()) {
    std::string line = fmt::format("{:32}", model::NameOf(kind));
    for (const int times : {1, 2, 4}) {
      Worst worst;
      for (std::uint64_t seed = first; seed < first + n; ++seed) {
        model::Dice dice(seed);
        Check(model::RandomHardInstance(dice, kind, false, times), seed, worst);
        if (HasFatalFailure()) return;
      }
      line += fmt::format(" | {:4} {:6} {:8.0f} s{:<5}", worst.devices, worst.steps, worst.micros,
                          worst.seed);
    }
    fmt::print("{}\n", line);
  }
}

TEST(HardCases, PairsOfKindsDoNotHideEachOther) {
  const std::uint64_t first = FromEnvironment("DRAY_SEED", 1);
  const std::uint64_t n = FromEnvironment("DRAY_INSTANCES", 40) * 25;
  Worst worst;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    model::Dice dice(seed);
    const HardKind a = dice.Pick(model::HardKinds());
    const HardKind b = dice.Pick(model::HardKinds());
    Worst own;
    const HardInstance pair = model::RandomHardPair(dice, a, b);
    Check(pair, seed, own);
    if (HasFatalFailure()) return;
    if (own.steps > 1000) {
      fmt::print("{} seed {}: {} steps, {:.0f} us\n", pair.instance.name, seed, own.steps,
                 own.micros);
    }
    worst.steps = std::max(worst.steps, own.steps);
    worst.micros = std::max(worst.micros, own.micros);
  }
  fmt::print("pairs: {} steps, {:.0f} us\n", worst.steps, worst.micros);
}

}  // namespace
}  // namespace dray::engine
