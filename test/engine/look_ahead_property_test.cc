// SPDX-License-Identifier: Apache-2.0
//
// What the search believes of partial choices, held against all their completions: a state that is
// taken back is what it was, nothing that can be completed is called hopeless, and what has one
// fingerprint has one answer.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/bound_linear.h"
#include "allocator/bounds.h"
#include "allocator/residual.h"
#include "engine/engine.h"
#include "engine/search_states.h"
#include "fmt/format.h"
#include "model/dice.h"
#include "model/generator_profiles.h"
#include "model/seeds.h"

namespace dray::engine {
namespace {

using allocator::Attempt;
using allocator::Position;
using allocator::State;
using model::FirstSeed;
using model::Instances;

constexpr std::uint64_t kMostPlaces = 4'000;

// An instance up to the point where a search would begin. One thread.
struct Prepared {
  explicit Prepared(std::uint64_t seed) : instance(model::TinyInstanceOf(seed)), world(instance) {
    ready = world.status().ok() &&
            attempt.Prepare(*world.plan(), world.usage(), cache).status.ok() &&
            !attempt.any_faulty();
  }
  model::Instance instance;
  World world;
  allocator::VerdictCache cache;
  Attempt attempt;
  bool ready = false;
};

TEST(LookAhead, WhatIsTakenBackIsAsBefore) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(3'000);
  std::uint64_t placed = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Prepared it(seed);
    const auto& plan = *it.world.plan();
    if (!it.ready || plan.claims().empty()) continue;
    model::Dice dice(seed);
    State state;
    state.Reset(it.attempt);
    state.EnterClaim(0);
    std::size_t claim = 0;
    std::vector<std::string> before;       // per choice: the state it was made in
    std::vector<std::size_t> begun = {0};  // per claim: placed when it was entered
    for (int step = 0; step < 60; ++step) {
      if (dice.Chance(0.4) && before.size() > begun.back()) {
        state.TakeBack();
        ASSERT_EQ(Dump(state, it.attempt), before.back()) << "DRAY_SEED=" << seed;
        before.pop_back();
        continue;
      }
      if (dice.Chance(0.1) && claim + 1 < plan.claims().size()) {
        begun.push_back(before.size());
        state.EnterClaim(++claim);
        continue;
      }
      if (dice.Chance(0.2) && claim > 0 && before.size() == begun.back()) {
        begun.pop_back();
        state.EnterClaim(--claim);
        continue;
      }
      const auto& planned = plan.claims()[claim];
      if (planned.requests == 0 || it.attempt.device_count() == 0) break;
      const auto request = plan.requests(
          planned)[static_cast<std::size_t>(dice.Range(0, static_cast<int>(planned.requests) - 1))];
      if (request.count == 0) break;
      const auto alternative = request.first + static_cast<std::uint32_t>(dice.Range(
                                                   0, static_cast<int>(request.count) - 1));
      const auto device = static_cast<std::uint32_t>(
          dice.Range(0, static_cast<int>(it.attempt.device_count()) - 1));
      const auto& candidates = it.attempt.candidates(alternative);
      if (!candidates.devices.Test(device) || state.blocked(*candidates.alternative).Test(device)) {
        continue;
      }
      std::string now = Dump(state, it.attempt);
      if (state.TryPlace(alternative, device)) {
        before.push_back(std::move(now));
        ++placed;
      } else {
        ASSERT_EQ(Dump(state, it.attempt), now) << "DRAY_SEED=" << seed << ": refused, yet changed";
      }
    }
  }
  EXPECT_GT(placed, n);
}

TEST(LookAhead, NothingThatCanBeCompletedIsCalledHopeless) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(6'000);
  std::uint64_t completable = 0;
  std::uint64_t hopeless = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Prepared it(seed);
    if (!it.ready) continue;
    allocator::Bounds bounds;
    allocator::WorkMeter work;
    bounds.Reset(it.attempt, work);
    std::uint64_t wrong = 0;
    const Places::Visitor visitor{
        .enter = [&](const State& state, const Position& position) -> std::size_t {
          return bounds.Hopeless(state, position) ? 1 : 0;
        },
        .leave =
            [&](std::size_t called_hopeless, bool answer) {
              completable += static_cast<std::uint64_t>(answer);
              hopeless += called_hopeless;
              wrong += static_cast<std::uint64_t>(answer && called_hopeless == 1);
            }};
    Places().Walk(it.attempt, visitor, kMostPlaces);
    ASSERT_EQ(wrong, 0) << "DRAY_SEED=" << seed;
  }
  fmt::print("{} places that can be completed, {} called hopeless\n", completable, hopeless);
  EXPECT_GT(completable, n);
  EXPECT_GT(hopeless, n) << "bounds that never say anything are sound too";
}

// The linear relaxation is asked behind the other bounds, and by the oracle alone. Here without them,
// so that it has something to say.
TEST(LookAhead, TheLinearRelaxationCallsNothingHopelessThatCanBeCompleted) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(3'000);
  std::uint64_t completable = 0;
  std::uint64_t hopeless = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Prepared it(seed);
    if (!it.ready) continue;
    constexpr std::uint64_t kUnlimited = 1'000'000'000'000;
    allocator::WorkMeter work(kUnlimited);
    State initial;
    initial.Reset(it.attempt);
    allocator::Bounds bounds;
    bounds.Reset(it.attempt, work);
    allocator::Residual residual;
    residual.Reset(it.attempt, initial, bounds.values(), work);
    if (!residual.usable() || residual.symmetry().admin()) continue;
    allocator::Demands demands;
    demands.Reset(it.attempt, bounds.values(), work);
    allocator::LinearBound linear;
    linear.Reset({it.attempt, bounds.values(), bounds.supply(), work}, residual.symmetry());
    std::uint64_t wrong = 0;
    const Places::Visitor visitor{
        .enter = [&](const State& state, const Position& position) -> std::size_t {
          constexpr std::uint64_t kEnough = 1'000'000;
          return demands.Make(state, position) && linear.Hopeless(state, demands, kEnough) ? 1 : 0;
        },
        .leave =
            [&](std::size_t called_hopeless, bool answer) {
              completable += static_cast<std::uint64_t>(answer);
              hopeless += called_hopeless;
              wrong += static_cast<std::uint64_t>(answer && called_hopeless == 1);
            }};
    Places().Walk(it.attempt, visitor, 1'000);
    ASSERT_EQ(wrong, 0) << "DRAY_SEED=" << seed << ", kept in " << model::Keep(it.instance, seed);
  }
  fmt::print("{} places that can be completed, {} called hopeless\n", completable, hopeless);
  EXPECT_GT(completable, n);
  EXPECT_GT(hopeless, n / 4) << "bounds that never say anything are sound too";
}

TEST(LookAhead, EqualFingerprintsHaveEqualFutures) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(6'000);
  std::uint64_t places = 0;
  std::uint64_t alike = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Prepared it(seed);
    if (!it.ready) continue;
    State initial;
    initial.Reset(it.attempt);
    allocator::ConstraintValues values;
    allocator::WorkMeter work;
    values.Reset(it.attempt, work);
    allocator::Residual residual;
    residual.Reset(it.attempt, initial, values, work);
    if (!residual.usable()) continue;
    std::vector<allocator::Fingerprint> seen;
    absl::flat_hash_map<allocator::Fingerprint, bool> answers;
    std::uint64_t wrong = 0;
    const Places::Visitor visitor{
        .enter =
            [&](const State& state, const Position& position) {
              seen.push_back(residual.Of(state, position));
              return seen.size() - 1;
            },
        .leave =
            [&](std::size_t ticket, bool answer) {
              ++places;
              const auto [known, fresh] = answers.try_emplace(seen[ticket], answer);
              alike += static_cast<std::uint64_t>(!fresh);
              wrong += static_cast<std::uint64_t>(known->second != answer);
            }};
    Places().Walk(it.attempt, visitor, kMostPlaces);
    ASSERT_EQ(wrong, 0) << "DRAY_SEED=" << seed;
  }
  fmt::print("{} places, {} of them like an earlier one\n", places, alike);
  EXPECT_GT(alike, places / 20) << "fingerprints that never meet are right too";
}

// Whichever of several equal devices a request takes, what it leaves has one fingerprint.
TEST(LookAhead, EqualDevicesLeaveEqualFingerprints) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(3'000);
  std::uint64_t pairs = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Prepared it(seed);
    const auto& plan = *it.world.plan();
    if (!it.ready || plan.claims().empty() || plan.claims()[0].requests == 0) continue;
    State state;
    state.Reset(it.attempt);
    allocator::ConstraintValues values;
    allocator::WorkMeter work;
    values.Reset(it.attempt, work);
    allocator::Residual residual;
    residual.Reset(it.attempt, state, values, work);
    if (!residual.usable()) continue;
    state.EnterClaim(0);
    const std::uint32_t alternative = plan.requests()[0].first;
    // As the search tells equal devices: of one class, with the same left to share.
    const auto equal = [&](std::uint32_t a, std::uint32_t b) {
      return residual.symmetry().Twins(state, a, b);
    };
    base::BitSet open(plan.requests().size(), true);
    open.Reset(0);
    std::vector<std::pair<std::uint32_t, allocator::Fingerprint>> left;
    it.attempt.candidates(alternative).devices.ForEach([&](std::size_t index) {
      const auto device = static_cast<std::uint32_t>(index);
      if (!state.TryPlace(alternative, device)) return;
      const auto fingerprint = residual.Of(state, {.open = &open});
      state.TakeBack();
      for (const auto& [other, known] : left) {
        if (!equal(other, device)) continue;
        ++pairs;
        EXPECT_EQ(known, fingerprint)
            << "DRAY_SEED=" << seed << ", devices " << other << ", " << device;
      }
      left.emplace_back(device, fingerprint);
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(pairs, n / 10);
}

}  // namespace
}  // namespace dray::engine
