// SPDX-License-Identifier: Apache-2.0
//
// The budget bounds the time, whatever an instance is like: pods and pools of the largest allowed size,
// made so that one thing after the other is long: lists, lists of lists, requests, claims, alternatives.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/small_world.h"
#include "fmt/format.h"
#include "model/dice.h"

namespace dray::engine {
namespace {

using model::Instance;
using model::Outcome;

constexpr const char* kLanes = "gpu.example.com/lanes";

// `devices` of them, each with `longest` lanes out of `lanes`.
std::vector<api::ResourceSlice> WithLanes(model::Dice& dice, int devices, int longest, int lanes) {
  std::vector<api::ResourceSlice> slices;
  for (int made = 0; made < devices;) {
    testing::Slice slice = OnNode(fmt::format("slice-{:05}", made));
    slice.Of((devices + 127) / 128);
    for (int i = 0; i < 128 && made < devices; ++i, ++made) {
      std::vector<std::int64_t> values;
      for (int k = 0; k < longest; ++k) values.push_back(dice.Range(0, lanes - 1));
      testing::Device device(fmt::format("gpu-{:05}", made));
      slice.With(device.Ints("lanes", values).Int("kind", made % 7));
    }
    slices.push_back(slice);
  }
  return slices;
}

// Time of the processor, so that neighbours do not matter. A second is meant; machines differ.
void ExpectToEndSoon(const Instance& instance) {
  World world(instance);
  ASSERT_TRUE(world.status().ok());
  allocator::Allocator allocator;
  const std::clock_t before = std::clock();
  const Outcome outcome = Decide(world, allocator, {});
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  fmt::print("{}: {} units, {:.2f} s\n", model::ToString(outcome.kind), outcome.work, seconds);
  EXPECT_LT(seconds, 5.0);
  EXPECT_LT(outcome.work, allocator::kDefaultWork + allocator::kDefaultWork / 2);
}

TEST(WorkBound, LongListsThatMustNotMeet) {
  model::Dice dice(1);
  ExpectToEndSoon(
      WorldOf(WithLanes(dice, 2'000, 60, 4'000), {Claim("c", {Ask("r", 32)}, {Distinct(kLanes)})}));
}

TEST(WorkBound, LongListsThatMustMeet) {
  model::Dice dice(2);
  ExpectToEndSoon(WorldOf(WithLanes(dice, 2'000, 60, 600),
                          {Claim("c", {Ask("r", 20), Ask("s", 12)}, {Match(kLanes)})}));
}

TEST(WorkBound, ThirtyTwoClaimsForThirtyTwoDevices) {
  model::Dice dice(3);
  std::vector<api::ResourceClaim> claims;
  for (int c = 0; c < 32; ++c) {
    claims.push_back(Claim(fmt::format("c{}", c), {Ask("r", 32)}, {Distinct(kLanes)}));
  }
  ExpectToEndSoon(WorldOf(WithLanes(dice, 1'200, 12, 3'000), std::move(claims)));
}

TEST(WorkBound, ThirtyTwoRequestsThatDiffer) {
  model::Dice dice(4);
  std::vector<api::DeviceRequest> requests;
  for (int r = 0; r < 32; ++r) {
    requests.push_back(
        Ask(fmt::format("r{}", r))
            .Where(fmt::format("device.attributes['gpu.example.com'].kind != {}", r % 7)));
  }
  ExpectToEndSoon(WorldOf(WithLanes(dice, 2'000, 40, 1'300),
                          {Claim("c", std::move(requests), {Distinct(kLanes)})}));
}

TEST(WorkBound, EightThousandClaimsForPairs) {
  model::Dice dice(5);
  std::vector<api::ResourceClaim> claims;
  for (int c = 0; c < 8'000; ++c) {
    claims.push_back(Claim(fmt::format("c{}", c), {Ask("r", 2)}, {Match(kLanes)}));
  }
  ExpectToEndSoon(WorldOf(WithLanes(dice, 2'000, 3, 3'000), std::move(claims)));
}

TEST(WorkBound, ThousandsOfClaimsThatMustNotMeet) {
  model::Dice dice(6);
  std::vector<api::ResourceClaim> claims;
  for (int c = 0; c < 4'000; ++c) {
    claims.push_back(Claim(fmt::format("c{}", c), {Ask("r", 2)}, {Distinct(kLanes)}));
  }
  ExpectToEndSoon(WorldOf(WithLanes(dice, 4'000, 20, 60), std::move(claims)));
}

TEST(WorkBound, ThousandsOfAlternatives) {
  model::Dice dice(7);
  std::vector<api::ResourceClaim> claims;
  for (int c = 0; c < 1'000; ++c) {
    std::vector<api::DeviceRequest> requests;
    for (int r = 0; r < 8; ++r) {
      Ask ask(fmt::format("r{}", r));
      for (const int count : {4, 3, 2, 1}) ask.Or(fmt::format("a{}", count), count);
      requests.push_back(ask);
    }
    claims.push_back(Claim(fmt::format("c{}", c), std::move(requests), {Match(kLanes)}));
  }
  ExpectToEndSoon(WorldOf(WithLanes(dice, 2'000, 8, 400), std::move(claims)));
}

}  // namespace
}  // namespace dray::engine
