// SPDX-License-Identifier: Apache-2.0
//
// Relatives of the hard cases, by the thousand: every answer right, and the work grows with a small
// power of the size. Prints what it measured, which is where docs/performance.md has its table
// from.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fmt/format.h"
#include "model/checker.h"
#include "model/dice.h"
#include "model/hard_instances.h"
#include "model/seeds.h"

namespace dray::engine {
namespace {

using model::HardInstance;
using model::HardKind;
using model::Outcome;

struct Worst {
  std::uint64_t steps = 0;
  std::uint64_t work = 0;
  std::uint64_t seed = 0;
  std::size_t devices = 0;
  int gave_up = 0;
};

// Those that are answered with few steps, whatever their size.
std::vector<HardKind> SettledKinds() {
  std::vector<HardKind> kinds = model::HardKinds();
  std::erase_if(kinds, [](HardKind kind) { return kind > HardKind::kCapacitySizes; });
  return kinds;
}

void Check(const HardInstance& hard, std::uint64_t seed, Worst& worst,
           std::uint64_t budget = allocator::kDefaultWork, bool may_give_up = false) {
  World world(hard.instance);
  ASSERT_TRUE(world.status().ok());
  allocator::Allocator allocator;
  const Outcome outcome = Decide(world, allocator, {.work_budget = budget});
  worst.gave_up += static_cast<int>(outcome.kind == Outcome::Kind::kBudget);
  if (may_give_up && outcome.kind == Outcome::Kind::kBudget) return;
  worst.work = std::max(worst.work, outcome.work);
  if (outcome.steps >= worst.steps) {
    worst.steps = outcome.steps;
    worst.seed = seed;
  }
  worst.devices = std::max(worst.devices, world.devices()->devices().size());
  ASSERT_EQ(outcome.kind, hard.feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible)
      << hard.instance.name << " seed " << seed << ": " << model::ToString(outcome.kind) << " "
      << outcome.error << ", kept in " << model::Keep(hard.instance, seed);
  if (outcome.kind == Outcome::Kind::kAllocated) {
    const auto complaints = model::CheckAllocation(hard.instance, outcome.results);
    ASSERT_TRUE(complaints.empty())
        << hard.instance.name << " seed " << seed << ": " << complaints.front();
  }
}

// The most steps that the relatives of a kind may take: some more than was ever seen, and growing
// with a small power of the size.
std::uint64_t Allowed(HardKind kind, int times) {
  const auto t = static_cast<std::uint64_t>(times);
  return kind == HardKind::kClaimsOfTwoShapes ? 200 * t * t : 160 * t;
}

TEST(HardCases, RelativesOfEveryKindAreAnsweredWithFewSteps) {
  const std::uint64_t first = model::FixedSeed();
  const std::uint64_t n = model::Instances(40);
  for (const HardKind kind : SettledKinds()) {
    std::string line = fmt::format("{:32}", model::NameOf(kind));
    for (const int times : {1, 2, 4}) {
      Worst worst;
      for (std::uint64_t seed = first; seed < first + n; ++seed) {
        model::Dice dice(seed);
        Check(model::RandomHardInstance(dice, kind, false, times), seed, worst);
        if (HasFatalFailure()) return;
      }
      line += fmt::format(" | {:4} {:6}", worst.devices, worst.steps);
      EXPECT_LE(worst.steps, Allowed(kind, times))
          << model::NameOf(kind) << " seed " << worst.seed << " times " << times;
    }
    fmt::print("{}\n", line);
  }
}

// The others have to be answered truly, or not at all.
TEST(HardCases, NoKindIsAnsweredWrongly) {
  const std::uint64_t first = model::FirstSeed();
  const std::uint64_t n = model::Instances(6);
  for (const HardKind kind : model::HardKinds()) {
    if (kind <= HardKind::kCapacitySizes) continue;
    std::string line = fmt::format("{:32}", model::NameOf(kind));
    for (const int times : {1, 2, 4}) {
      Worst worst;
      for (std::uint64_t seed = first; seed < first + n; ++seed) {
        model::Dice dice(seed);
        Check(model::RandomHardInstance(dice, kind, false, times), seed, worst, 20'000'000, true);
        if (HasFatalFailure()) return;
      }
      line += fmt::format(" | {:4} {:6}, {} given up", worst.devices, worst.steps, worst.gave_up);
    }
    fmt::print("{}\n", line);
  }
}

// The most work that those may take, in million units: some times what was seen, at 1, 2 and 4 times the
// recorded size. Zero: what is still given up at times.
struct MostWork {
  HardKind kind;
  std::array<std::uint64_t, 3> millions;
};
constexpr MostWork kMostWork[] = {
    {HardKind::kScarceBehindAlternatives, {5, 20, 120}},
    {HardKind::kDistinctBlocks, {2, 40, 80}},
    {HardKind::kRooks, {2, 10, 80}},
    {HardKind::kCapacityVectors, {8, 0, 0}},
    {HardKind::kThreeProfiles, {5, 20, 150}},
    {HardKind::kRandomVectors, {5, 80, 80}},
    {HardKind::kRandomProfiles, {5, 20, 20}},
    {HardKind::kRandomDisjointLists, {5, 20, 20}},
    {HardKind::kSharesOfDifferentDevices, {5, 20, 40}},
};
constexpr std::array<std::uint64_t, 3> kUsualWork = {2, 5, 20};

TEST(HardCases, KindsAreAnsweredWithinTheirWork) {
  const std::uint64_t first = model::FixedSeed();
  const std::uint64_t n = model::Instances(6);
  for (const HardKind kind : model::HardKinds()) {
    if (kind <= HardKind::kCapacitySizes) continue;
    const auto* row = std::ranges::find(kMostWork, kind, &MostWork::kind);
    const auto& millions = row == std::end(kMostWork) ? kUsualWork : row->millions;
    std::string line = fmt::format("{:32}", model::NameOf(kind));
    for (std::size_t i = 0; i < millions.size(); ++i) {
      Worst worst;
      for (std::uint64_t seed = first; seed < first + n && millions[i] > 0; ++seed) {
        model::Dice dice(seed);
        Check(model::RandomHardInstance(dice, kind, false, 1 << i), seed, worst);
        if (HasFatalFailure()) return;
      }
      line += fmt::format(" | {:4} {:9}", worst.devices, worst.work);
      EXPECT_LE(worst.work, millions[i] * 1'000'000)
          << model::NameOf(kind) << " times " << (1 << i);
    }
    fmt::print("{}\n", line);
  }
}

TEST(HardCases, PairsOfKindsDoNotHideEachOther) {
  const std::uint64_t first = model::FixedSeed();
  const std::uint64_t n = model::Instances(40) * 25;
  std::uint64_t most = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    model::Dice dice(seed);
    const HardKind a = dice.Pick(SettledKinds());
    const HardKind b = dice.Pick(SettledKinds());
    Worst worst;
    const HardInstance pair = model::RandomHardPair(dice, a, b);
    Check(pair, seed, worst);
    if (HasFatalFailure()) return;
    EXPECT_LE(worst.steps, 2'000U) << pair.instance.name << " seed " << seed;
    most = std::max(most, worst.steps);
  }
  fmt::print("pairs: {} steps at most\n", most);
}

struct Recorded {
  std::string name;
  bool feasible = false;
  std::uint64_t steps = 0;
};
void PrintTo(const Recorded& recorded, std::ostream* os) { *os << recorded.name; }

class RecordedHardCase : public ::testing::TestWithParam<Recorded> {};

TEST_P(RecordedHardCase, TakesExactlySoManySteps) {
  const char* shared = std::getenv("DRAY_SHARED");
  std::ifstream in(fmt::format("{}/bench/allocator-hard/{}.json",
                               shared == nullptr ? "../shared" : shared, GetParam().name));
  if (!in) GTEST_SKIP() << "the recorded cases are not here";
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto instance = model::ParseInstance(text);
  ASSERT_TRUE(instance.ok());
  const Outcome outcome = engine::Solve(*instance);
  EXPECT_EQ(outcome.kind,
            GetParam().feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible);
  EXPECT_EQ(outcome.steps, GetParam().steps);
}

// The work done, which is the same on every machine.
INSTANTIATE_TEST_SUITE_P(Shared, RecordedHardCase,
                         ::testing::ValuesIn(std::vector<Recorded>{
                             {"capacity-one-short", false, 26},
                             {"distinct-pigeonhole", false, 10},
                             {"groups-exclusive-feasible", true, 26},
                             {"groups-exclusive-infeasible", false, 27},
                             {"list-intersection-infeasible", false, 8},
                             {"many-claims-infeasible", false, 12},
                             {"match-three-kinds-infeasible", false, 15},
                             {"match-three-kinds-last-numa", true, 37},
                             {"narrow-request-last", true, 29},
                             {"narrow-request-last-infeasible", false, 0},
                             {"one-short-16", false, 0},
                             {"one-short-24", false, 0},
                             {"one-short-32", false, 0},
                             {"partitions-one-short", false, 26},
                             {"prioritized-infeasible", false, 29},
                             {"prioritized-tight", true, 102},
                             {"two-requests-one-short", false, 27},
                         }),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Instances that once took seconds or minutes, or ran out of steps.
TEST(HardCases, TheOnesThatWereSlowAreAnswered) {
  const char* source = std::getenv("DRAY_SOURCE");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(source == nullptr ? "." : source) / "test/engine/hard")) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty());
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto instance = model::ParseInstance(text);
    ASSERT_TRUE(instance.ok()) << file;
    const bool feasible = text.find("\"feasible\": true") != std::string::npos;
    const Outcome outcome = engine::Solve(*instance);
    EXPECT_EQ(outcome.kind, feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible)
        << file << ": " << model::ToString(outcome.kind);
    fmt::print("{:40} {:7} steps\n", file.stem().string(), outcome.steps);
  }
}

// Whatever the budget, the answer is the right one or none at all.
TEST(WorkBudget, RunningOutIsSaidAndIsNoRefusal) {
  for (const HardKind kind : SettledKinds()) {
    model::Dice dice(7);
    const HardInstance hard = model::RandomHardInstance(dice, kind);
    World world(hard.instance);
    allocator::Allocator allocator;
    const std::uint64_t needed = Decide(world, allocator, {}).work;
    for (const std::uint64_t budget : {std::uint64_t{0}, needed / 2, needed - needed / 4, needed}) {
      const Outcome outcome = Decide(world, allocator, {.work_budget = budget});
      const Outcome::Kind right =
          hard.feasible ? Outcome::Kind::kAllocated : Outcome::Kind::kNotPossible;
      EXPECT_EQ(outcome.kind, budget < needed ? Outcome::Kind::kBudget : right)
          << model::NameOf(kind) << " with " << budget << " of " << needed;
    }
  }
}

}  // namespace
}  // namespace dray::engine
