// SPDX-License-Identifier: Apache-2.0
//
// The fast rooms against the slow model: the same answer, device by device, on random instances
// with every feature mixed in.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "engine/agreement.h"
#include "engine/engine.h"
#include "engine/small_world.h"
#include "fmt/format.h"
#include "model/dice.h"
#include "model/generator.h"
#include "model/generator_profiles.h"
#include "model/model.h"
#include "model/seeds.h"

namespace dray::engine {
namespace {

using model::FirstSeed;
using model::Instance;
using model::Instances;
using model::Keep;
using model::Outcome;

void Compare(const Instance& instance, std::uint64_t seed, Tally& tally) {
  const Agreement agreement = AskAll(instance);
  tally.Count(agreement);
  ASSERT_EQ(agreement.complaint, "")
      << "DRAY_SEED=" << seed << ", kept in " << Keep(instance, seed);
  if (agreement.dray.kind != Outcome::Kind::kBudget) return;
  fmt::print("given up: DRAY_SEED={}, kept in {}\n", seed, Keep(instance, seed));
}

// The search, the search without its look-ahead, best fit and the model.
TEST(AllocatorProperties, SearchAndModelGiveTheSameAnswer) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(12'000);
  Tally tally;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Compare(model::InstanceOf(seed), seed, tally);
    if (HasFatalFailure()) return;
  }
  fmt::print("seeds {} to {}: {}\n", first, first + n - 1, tally.ToString());
  EXPECT_GT(tally.allocated, n / 10);
  EXPECT_GT(tally.refused, n / 10);
  EXPECT_LE(tally.neither, n / 20) << "nobody to hold the search against";
  // Nothing is wrong with it, but it should be as good as never.
  EXPECT_LE(tally.gave_up, 1 + n / 4'000);
}

// Steps of nothing, expressions that fail, attributes without a value: which of them come to light
// depends on which devices are looked at.
TEST(AllocatorProperties, SearchAndModelAgreeOnBrokenDevices) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(4'000);
  Tally counts;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const Instance instance =
        model::RandomInstance(seed, {.capacity = 0.9, .features_off = 0.05, .errors = 0.9});
    Compare(instance, seed, counts);
    if (HasFatalFailure()) return;
    const Outcome outcome = engine::Solve(instance);
    steps += static_cast<std::uint64_t>(outcome.error.find("has a step of") != std::string::npos);
  }
  EXPECT_GT(counts.allocated, n / 20);
  EXPECT_GT(counts.errors, n / 10);
  EXPECT_GT(steps, n / 100);
}

// After the first dead end requests that have nothing in common are searched one by one. The limit
// of devices is one for the whole claim all the same.
TEST(AllocatorProperties, RequestsThatHaveNothingInCommonShareTheLimitOfTheirClaim) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(400);
  Tally counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    model::Dice dice(seed);
    testing::Slice gpus = OnNode("gpus");
    testing::Slice nics = OnNode("nics");
    nics.Driver("nic.example.com").Pool("nics");
    for (int i = 0; i < 24; ++i) {
      gpus.With(testing::Device(fmt::format("gpu-{:02}", i)).Int("kind", 0));
      nics.With(testing::Device(fmt::format("nic-{:02}", i)).Int("kind", 0));
    }
    // A pair of one colour, of which the first device is not: the dead end.
    testing::Slice odd = OnNode("odd");
    odd.Pool("odd");
    for (int i = 0; i < 3; ++i) {
      testing::Device device(fmt::format("odd-{}", i));
      odd.With(device.Int("kind", 1).Int("colour", i == 0 ? 7 : 8));
    }
    const auto some = [&](const char* name, const char* device_class) {
      Ask ask(name);
      ask.Class(device_class);
      for (const char* entry : {"much", "less", "least"}) ask.Or(entry, dice.Range(5, 24));
      api::DeviceRequest request = ask;
      for (auto& sub : request.first_available) {
        sub.selectors.push_back(Selector("device.attributes[device.driver].kind == 0"));
      }
      return request;
    };
    api::DeviceConstraint pair = Match("gpu.example.com/colour");
    pair.requests = {"pair"};
    const Instance instance =
        WorldOf({gpus, nics, odd},
                {Claim("c",
                       {Ask("pair", 2).Where("device.attributes[device.driver].kind == 1"),
                        some("a", "gpu"), some("b", "nic")},
                       {pair})});
    Compare(instance, seed, counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.allocated, n / 4);
}

}  // namespace
}  // namespace dray::engine
