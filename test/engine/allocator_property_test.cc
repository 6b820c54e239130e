// SPDX-License-Identifier: Apache-2.0
//
// The fast rooms against the slow model: the same answer, device by device, on random instances
// with every feature mixed in.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "api/json.h"
#include "engine/engine.h"
#include "engine/small_world.h"
#include "fmt/format.h"
#include "model/checker.h"
#include "model/dice.h"
#include "model/generator.h"
#include "model/hard_instances.h"
#include "model/model.h"
#include "model/seeds.h"

namespace dray::engine {
namespace {

using model::FirstSeed;
using model::Instance;
using model::Instances;
using model::Keep;
using model::Outcome;

std::string Describe(const Outcome& outcome) {
  std::string text(model::ToString(outcome.kind));
  if (outcome.node_only) text += " (this node)";
  if (outcome.kind == Outcome::Kind::kError) text += ": " + outcome.error;
  for (const api::AllocationResult& result : outcome.results) {
    text += "\n  " + api::EncodeJson(result);
  }
  return text;
}

// Share ids are made by either side in its own way; which results have one must be the same.
void NormalizeShareIds(Outcome& outcome) {
  for (api::AllocationResult& result : outcome.results) {
    for (api::DeviceRequestAllocationResult& device : result.devices.results) {
      if (device.share_id.has_value()) device.share_id = "share";
    }
  }
}

bool SameAnswer(const Outcome& a, const Outcome& b) {
  if (a.kind != b.kind || a.node_only != b.node_only) return false;
  return a.results == b.results;
}

struct Counts {
  std::uint64_t allocated = 0;
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::uint64_t unknown = 0;
};

void Compare(const Instance& instance, std::uint64_t seed, Counts& counts) {
  Outcome wanted = model::Solve(instance, {.max_steps = 20'000});
  Outcome got = engine::Solve(instance);
  const Outcome as_given = got;
  NormalizeShareIds(wanted);
  NormalizeShareIds(got);
  switch (wanted.kind) {
    case Outcome::Kind::kAllocated:
      ++counts.allocated;
      break;
    case Outcome::Kind::kNotPossible:
      ++counts.refused;
      break;
    case Outcome::Kind::kError:
      ++counts.errors;
      break;
    case Outcome::Kind::kBudget:
      ++counts.unknown;
      break;
  }
  if (wanted.kind != Outcome::Kind::kBudget) {
    ASSERT_TRUE(SameAnswer(wanted, got))
        << "seed " << seed << ", kept in " << Keep(instance, seed)
        << "\nmodel: " << Describe(wanted) << "\ndray: " << Describe(got);
  }
  ASSERT_NE(got.kind, Outcome::Kind::kBudget)
      << "seed " << seed << ", kept in " << Keep(instance, seed);
  if (got.kind == Outcome::Kind::kAllocated) {
    const auto complaints = model::CheckAllocation(instance, as_given.results);
    ASSERT_TRUE(complaints.empty())
        << "seed " << seed << ", kept in " << Keep(instance, seed) << ": " << complaints.front();
  }
}

TEST(AllocatorProperties, SearchAndModelGiveTheSameAnswer) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(20'000);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Compare(model::RandomInstance(seed), seed, counts);
    if (HasFatalFailure()) return;
  }
  fmt::print("seeds {} to {}: {} allocated, {} refused, {} errors, {} beyond the model\n", first,
             first + n - 1, counts.allocated, counts.refused, counts.errors, counts.unknown);
  EXPECT_GT(counts.allocated, n / 10);
  EXPECT_GT(counts.refused, n / 10);
}

// Fewer kinds of trouble, more devices and claims: deeper searches.
TEST(AllocatorProperties, SearchAndModelAgreeOnDeepSearches) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(4'000);
  model::GeneratorOptions options = model::DeepOptions();
  options.max_devices = 12;
  options.max_count = 3;
  Counts counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    Compare(model::RandomInstance(seed, options), seed, counts);
    if (HasFatalFailure()) return;
  }
  fmt::print("seeds {} to {}: {} allocated, {} refused, {} errors, {} beyond the model\n", first,
             first + n - 1, counts.allocated, counts.refused, counts.errors, counts.unknown);
  EXPECT_GT(counts.allocated, n / 20);
  EXPECT_GT(counts.refused, n / 20);
}

// Steps of nothing, expressions that fail, attributes without a value: which of them come to light
// depends on which devices are looked at.
TEST(AllocatorProperties, SearchAndModelAgreeOnBrokenDevices) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(4'000);
  Counts counts;
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
  Counts counts;
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

// Small relatives of the hard cases, which the model can still answer.
TEST(AllocatorProperties, SearchAndModelAgreeOnSmallHardCases) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(1'000);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    model::Dice dice(seed);
    const auto& kinds = model::HardKinds();
    const auto kind = kinds[seed % kinds.size()];
    Compare(model::RandomHardInstance(dice, kind, true).instance, seed, counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.allocated + counts.refused, n / 2);
}

// Whatever order is preferred, what fits fits, and no rule is broken.
TEST(AllocatorProperties, BestFitFindsSomethingExactlyWhenFirstFitDoes) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t n = Instances(6'000);
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const Instance instance = model::RandomInstance(seed, {.skip_operations = 0.0, .errors = 0.0});
    const Outcome plain = engine::Solve(instance);
    const Outcome best = engine::Solve(instance, {.policy = allocator::Policy::kBestFit});
    ASSERT_EQ(plain.kind, best.kind) << "seed " << seed << ", kept in " << Keep(instance, seed);
    if (best.kind != Outcome::Kind::kAllocated) continue;
    const auto complaints = model::CheckAllocation(instance, best.results);
    ASSERT_TRUE(complaints.empty())
        << "seed " << seed << ", kept in " << Keep(instance, seed) << ": " << complaints.front();
  }
}

}  // namespace
}  // namespace dray::engine
