// SPDX-License-Identifier: Apache-2.0
//
// The oracle's answers, held against all completions: at every place that a plain search comes by
// it says what enumerating says.
#include <gtest/gtest.h>

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "allocator/oracle.h"
#include "engine/engine.h"
#include "engine/search_states.h"
#include "fmt/format.h"
#include "model/generator_profiles.h"
#include "model/seeds.h"

namespace dray::engine {
namespace {

using allocator::Oracle;
using allocator::Position;
using allocator::State;

TEST(LookAhead, TheOracleKnowsWhatCanBeCompleted) {
  const std::uint64_t first = model::FirstSeed();
  const std::uint64_t n = model::Instances(3'000);
  std::uint64_t yes = 0;
  std::uint64_t no = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const model::Instance instance = model::TinyInstanceOf(seed);
    World world(instance);
    allocator::VerdictCache cache;
    allocator::Attempt attempt;
    if (!world.status().ok() || !attempt.Prepare(*world.plan(), world.usage(), cache).status.ok() ||
        attempt.any_faulty()) {
      continue;
    }
    allocator::WorkMeter work;
    State initial;
    initial.Reset(attempt);
    allocator::Bounds bounds;
    bounds.Reset(attempt, work);
    allocator::Residual residual;
    residual.Reset(attempt, initial, bounds.values(), work);
    if (!residual.usable() || residual.symmetry().admin()) continue;
    absl::flat_hash_set<allocator::Fingerprint> failed;
    Oracle oracle;
    oracle.Reset(attempt, bounds, residual, failed, work);
    std::uint64_t wrong = 0;
    const Places::Visitor visitor{
        .enter = [&](const State& state, const Position& position) -> std::size_t {
          State copy = state;
          const Oracle::Answer answer = oracle.Ask(copy, position);
          EXPECT_EQ(Dump(copy, attempt), Dump(state, attempt)) << "DRAY_SEED=" << seed;
          EXPECT_NE(answer, Oracle::Answer::kUnknown) << "DRAY_SEED=" << seed;
          return answer == Oracle::Answer::kYes ? 1 : 0;
        },
        .leave =
            [&](std::size_t said, bool answer) {
              (answer ? yes : no) += 1;
              wrong += static_cast<std::uint64_t>(answer != (said == 1));
            }};
    constexpr std::uint64_t kMostPlaces = 600;
    Places().Walk(attempt, visitor, kMostPlaces);
    ASSERT_EQ(wrong, 0) << "DRAY_SEED=" << seed << ", kept in " << model::Keep(instance, seed);
    if (HasFailure()) return;
  }
  fmt::print("{} places can be completed, {} cannot\n", yes, no);
  EXPECT_GT(yes, n);
  EXPECT_GT(no, n);
}

}  // namespace
}  // namespace dray::engine
