// SPDX-License-Identifier: Apache-2.0
//
// What the search believes of partial choices, held against all their completions (beliefs.h), and
// a state that is taken back against what it was.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/constraint_values.h"
#include "allocator/residual.h"
#include "engine/beliefs.h"
#include "engine/search_states.h"
#include "engine/small_world.h"
#include "fmt/format.h"
#include "model/dice.h"
#include "model/generator_profiles.h"
#include "model/seeds.h"

namespace dray::engine {
namespace {

using allocator::State;
using model::FirstSeed;
using model::Instances;

// Judges as many instances as the test says; `wrong` is one of beliefs.h.
template <typename Wrong>
Judged JudgeAll(std::uint64_t n, const Wrong& wrong) {
  const std::uint64_t first = FirstSeed();
  Judged judged;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const model::Instance instance = model::TinyInstanceOf(seed);
    EXPECT_EQ(wrong(Prepared(instance), judged), 0U)
        << "DRAY_SEED=" << seed << ", kept in " << model::Keep(instance, seed);
    if (::testing::Test::HasFailure()) break;
  }
  return judged;
}

TEST(LookAhead, WhatIsTakenBackIsAsBefore) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(3'000);
  std::uint64_t placed = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const model::Instance instance = model::TinyInstanceOf(seed);
    Prepared it(instance);
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
  const std::uint64_t n = Instances(6'000);
  const Judged judged = JudgeAll(n, WrongBounds);
  if (HasFailure()) return;
  fmt::print("{} places that can be completed, {} called hopeless\n", judged.completable,
             judged.hopeless);
  EXPECT_GT(judged.completable, n);
  EXPECT_GT(judged.hopeless, n) << "bounds that never say anything are sound too";
}

TEST(LookAhead, TheLinearRelaxationCallsNothingHopelessThatCanBeCompleted) {
  const std::uint64_t n = Instances(3'000);
  const Judged judged = JudgeAll(n, WrongLinear);
  if (HasFailure()) return;
  fmt::print("{} places that can be completed, {} called hopeless\n", judged.completable,
             judged.hopeless);
  EXPECT_GT(judged.completable, n);
  EXPECT_GT(judged.hopeless, n / 4) << "bounds that never say anything are sound too";
}

TEST(LookAhead, EqualFingerprintsHaveEqualFutures) {
  const Judged judged = JudgeAll(Instances(6'000), WrongFingerprints);
  if (HasFailure()) return;
  fmt::print("{} places, {} of them like an earlier one\n", judged.places, judged.alike);
  EXPECT_GT(judged.alike, judged.places / 20) << "fingerprints that never meet are right too";
}

TEST(LookAhead, WhereADeviceLeadsNowhereItsTwinsDoNeither) {
  const std::uint64_t n = Instances(3'000);
  const Judged judged = JudgeAll(n, WrongTwins);
  if (HasFailure()) return;
  fmt::print("{} devices with a twin that had led nowhere\n", judged.twins);
  EXPECT_GT(judged.twins, n) << "devices that are never alike are right too";
}

TEST(LookAhead, TheOracleKnowsWhatCanBeCompleted) {
  const std::uint64_t n = Instances(3'000);
  const Judged judged = JudgeAll(n, WrongOracle);
  if (HasFailure()) return;
  fmt::print("{} of {} places can be completed\n", judged.completable, judged.places);
  EXPECT_GT(judged.completable, n);
  EXPECT_GT(judged.places - judged.completable, n);
}

// A few devices of which requests for one or two take parts, nearly all of what there is: devices
// that were different become equal when parts of them are taken, but not for a request that has one.
TEST(LookAhead, TheOracleKnowsWhatCanBeCompletedOfShares) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(3'000);
  Judged judged;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    model::Dice dice(seed);
    auto slice = OnNode();
    for (int d = dice.Range(2, 3); d > 0; --d) {
      slice.With(testing::Device(fmt::format("d{}", d))
                     .Capacity("memory", std::to_string(dice.Range(3, 6)))
                     .Shared());
    }
    std::vector<api::ResourceClaim> claims;
    for (int c = dice.Range(1, 3); c > 0; --c) {
      std::vector<api::DeviceRequest> requests;
      for (int r = dice.Range(1, 2); r > 0; --r) {
        requests.push_back(Ask(fmt::format("r{}", r), dice.Range(1, 2))
                               .Capacity("memory", std::to_string(dice.Range(1, 3))));
      }
      claims.push_back(Claim(fmt::format("c{}", c), std::move(requests)));
    }
    const model::Instance instance = WorldOf({slice}, std::move(claims));
    ASSERT_EQ(WrongOracle(Prepared(instance), judged), 0U)
        << "DRAY_SEED=" << seed << ", kept in " << model::Keep(instance, seed);
  }
  fmt::print("{} of {} places can be completed\n", judged.completable, judged.places);
  EXPECT_GT(judged.completable, n);
  EXPECT_GT(judged.places - judged.completable, n);
}

// Whichever of several equal devices a request takes, what it leaves has one fingerprint.
TEST(LookAhead, EqualDevicesLeaveEqualFingerprints) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(3'000);
  std::uint64_t pairs = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const model::Instance instance = model::TinyInstanceOf(seed);
    Prepared it(instance);
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
