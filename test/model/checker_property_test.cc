// SPDX-License-Identifier: Apache-2.0
//
// The checker and the model, beside each other: whatever the model allocates is right, and what is
// changed in it afterwards is noticed.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/checker.h"
#include "model/generator.h"
#include "model/model.h"
#include "model/seeds.h"

namespace dray::model {
namespace {

using Results = std::vector<api::AllocationResult>;

constexpr std::uint64_t kFirstSeed = 1;

TEST(CheckerProperty, AcceptsEveryAllocationOfTheModel) {
  const std::uint64_t first = FirstSeed();
  const std::uint64_t instances = Instances(12'000);
  fmt::print("seeds {} to {}\n", first, first + instances - 1);
  std::uint64_t allocated = 0;
  for (std::uint64_t seed = first; seed < first + instances; ++seed) {
    const Instance instance = RandomInstance(seed);
    const Outcome outcome = Solve(instance, {.max_steps = 5'000});
    if (outcome.kind != Outcome::Kind::kAllocated) continue;
    ++allocated;
    const auto complaints = CheckAllocation(instance, outcome.results);
    ASSERT_TRUE(complaints.empty())
        << "seed " << seed << ", kept in " << Keep(instance, seed) << "\n"
        << fmt::format("{}", fmt::join(complaints, "\n"));
  }
  EXPECT_GT(allocated, instances / 4);
}

// One result of an allocation that has any.
api::DeviceRequestAllocationResult* Any(Dice& dice, Results& results) {
  std::vector<api::DeviceRequestAllocationResult*> all;
  for (auto& result : results) {
    for (auto& device : result.devices.results) all.push_back(&device);
  }
  return all.empty() ? nullptr : dice.Pick(all);
}

// Each changes something and says whether it could.
using Mutation = std::function<bool(Dice&, const Instance&, Results&)>;
struct Named {
  const char* name;
  Mutation change;
  double least;  // the share of changes that must be noticed
};

const std::vector<Named>& Mutations() {
  static const std::vector<Named> list = {
      {"another device",
       [](Dice& dice, const Instance& instance, Results& results) {
         auto* result = Any(dice, results);
         std::vector<DeviceId> others;
         for (const auto& slice : instance.slices) {
           if (!slice.spec.devices) continue;
           for (const auto& device : *slice.spec.devices) {
             if (device.name != result->device) {
               others.push_back({slice.spec.driver, slice.spec.pool.name, device.name});
             }
           }
         }
         if (others.empty()) return false;
         const DeviceId id = dice.Pick(others);
         result->driver = id.driver;
         result->pool = id.pool;
         result->device = id.device;
         return true;
       },
       0.6},  // some other devices would have been right too
      {"a device that does not exist",
       [](Dice& dice, const Instance&, Results& results) {
         Any(dice, results)->device = "nobody";
         return true;
       },
       1.0},
      {"an unknown request",
       [](Dice& dice, const Instance&, Results& results) {
         Any(dice, results)->request = "nobody";
         return true;
       },
       1.0},
      {"one device less",
       [](Dice& dice, const Instance&, Results& results) {
         const auto* gone = Any(dice, results);
         for (auto& result : results) {
           std::erase_if(result.devices.results, [&](const auto& d) { return &d == gone; });
         }
         return true;
       },
       0.9},  // an alternative of no devices may be left
      {"the same device twice",
       [](Dice& dice, const Instance&, Results& results) {
         for (auto& result : results) {
           if (result.devices.results.empty()) continue;
           result.devices.results.push_back(dice.Pick(result.devices.results));
           return true;
         }
         return false;
       },
       1.0},
      {"another amount",
       [](Dice& dice, const Instance&, Results& results) {
         auto* result = Any(dice, results);
         if (result->consumed_capacity.empty()) return false;
         result->consumed_capacity.begin()->second += base::Quantity::FromMilli(1);
         return true;
       },
       1.0},
      {"no share id",
       [](Dice& dice, const Instance&, Results& results) {
         auto* result = Any(dice, results);
         if (!result->share_id) return false;
         result->share_id.reset();
         return true;
       },
       1.0},
      {"admin access that nobody asked for",
       [](Dice& dice, const Instance&, Results& results) {
         auto* result = Any(dice, results);
         if (result->admin_access) return false;
         result->admin_access = true;
         return true;
       },
       1.0},
      {"forgotten groups",
       [](Dice& dice, const Instance&, Results& results) {
         auto* result = Any(dice, results);
         if (result->compatibility_groups.empty()) return false;
         result->compatibility_groups.clear();
         return true;
       },
       1.0},
      {"no node selector",
       [](Dice& dice, const Instance&, Results& results) {
         auto& result =
             results[static_cast<std::size_t>(dice.Range(0, static_cast<int>(results.size()) - 1))];
         if (!result.node_selector) return false;
         result.node_selector.reset();
         return true;
       },
       1.0},
      {"lost configuration",
       [](Dice&, const Instance&, Results& results) {
         if (results[0].devices.config.empty()) return false;
         results[0].devices.config.pop_back();
         return true;
       },
       0.9},  // not told when an alternative of no devices was chosen
      {"a claim without an answer",
       [](Dice&, const Instance&, Results& results) {
         results.pop_back();
         return true;
       },
       1.0},
  };
  return list;
}

TEST(CheckerProperty, NoticesWhatIsChangedInAnAllocation) {
  struct Count {
    int made = 0;
    int noticed = 0;
  };
  std::map<std::string, Count> counts;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 2500; ++seed) {
    const Instance instance = RandomInstance(seed);
    const Outcome outcome = Solve(instance, {.max_steps = 5'000});
    if (outcome.kind != Outcome::Kind::kAllocated) continue;
    Dice dice(seed);
    Results probe = outcome.results;
    if (Any(dice, probe) == nullptr) continue;
    for (const Named& mutation : Mutations()) {
      Results changed = outcome.results;
      if (!mutation.change(dice, instance, changed)) continue;
      ++counts[mutation.name].made;
      if (!CheckAllocation(instance, changed).empty()) ++counts[mutation.name].noticed;
    }
  }
  for (const Named& mutation : Mutations()) {
    const Count& count = counts[mutation.name];
    fmt::print("{}: {} of {} noticed\n", mutation.name, count.noticed, count.made);
    EXPECT_GE(count.made, 30) << mutation.name;
    EXPECT_GE(count.noticed, mutation.least * count.made) << mutation.name;
  }
}

}  // namespace
}  // namespace dray::model
