// SPDX-License-Identifier: Apache-2.0
//
// The planner beside a slow model and under random histories.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "driver/slice_plan.h"
#include "driver/slices_for_test.h"

namespace dray::driver {
namespace {

using Random = std::mt19937_64;

int Below(Random& random, int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

WantedPool RandomPool(Random& random) {
  WantedPool pool;
  const int slices = Below(random, 5);
  int device = 0;
  for (int i = 0; i < slices; ++i) {
    WantedSlice& slice = pool.slices.emplace_back();
    for (int n = Below(random, 3); n > 0; --n) {
      slice.devices.push_back(
          dray::testing::Device("d" + std::to_string(device++)).Int("x", Below(random, 2)));
    }
  }
  if (Below(random, 12) == 0) pool.generation = Below(random, 40);
  return pool;
}

std::string DevicesOf(const api::ResourceSliceSpec& spec) {
  std::string text = "[";
  for (const api::Device& device : spec.devices.value_or(std::vector<api::Device>())) {
    text += device.name + "=" + std::to_string(*device.attributes.Find("x")->int_value) + " ";
  }
  return text + "]";
}
std::string DevicesOf(const WantedPool& pool) {
  std::string text;
  for (const WantedSlice& slice : pool.slices) {
    api::ResourceSliceSpec spec;
    spec.devices = slice.devices;
    text += DevicesOf(spec);
  }
  return text.empty() ? "[]" : text;
}

// What somebody sees who reads slices: nothing, unless all slices of the highest generation are
// there; then the devices in order of the slices' names.
std::optional<std::string> Seen(const StoredSlices& stored) {
  std::int64_t highest = 0;
  for (const auto* slice : stored.All()) highest = std::max(highest, slice->spec.pool.generation);
  std::map<std::string, const api::ResourceSlice*> current;
  std::set<std::int64_t> counts;
  for (const auto* slice : stored.All()) {
    if (slice->spec.pool.generation != highest) continue;
    current[slice->metadata.name] = slice;
    counts.insert(slice->spec.pool.resource_slice_count);
  }
  if (current.empty() || counts.size() != 1) return std::nullopt;
  if (*counts.begin() != static_cast<std::int64_t>(current.size())) return std::nullopt;
  std::string text;
  for (const auto& [name, slice] : current) text += DevicesOf(slice->spec);
  return text;
}

// The generation that there has to be afterwards, said as plainly as possible: which of the wanted
// slices would a reader find, as they are wanted, at their place?
std::int64_t ModelGeneration(const WantedPool& wanted, const StoredSlices& stored) {
  std::int64_t highest = 0;
  for (const auto* slice : stored.All()) highest = std::max(highest, slice->spec.pool.generation);
  if (wanted.generation > highest) return wanted.generation;
  const std::size_t count = std::max<std::size_t>(1, wanted.slices.size());
  int absent = 0;
  int different = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string prefix = fmt::format("{:05x}-", i);
    const api::ResourceSlice* there = nullptr;
    for (const auto* slice : stored.All()) {
      if (slice->spec.pool.generation != highest) continue;
      if (!slice->metadata.name.starts_with(prefix)) continue;
      if (there == nullptr || slice->metadata.name < there->metadata.name) there = slice;
    }
    if (there == nullptr) {
      ++absent;
      continue;
    }
    api::ResourceSliceSpec spec;
    if (!wanted.slices.empty()) spec.devices = wanted.slices[i].devices;
    const bool same = DevicesOf(spec) == DevicesOf(there->spec) &&
                      there->spec.pool.resource_slice_count == static_cast<std::int64_t>(count);
    if (!same) ++different;
  }
  return absent == 0 && different <= 1 ? highest : highest + 1;
}

// Somebody else does something.
void Disturb(Random& random, StoredSlices& stored) {
  if (stored.size() == 0) return;
  const auto i = static_cast<std::size_t>(Below(random, static_cast<int>(stored.size())));
  api::ResourceSlice& slice = stored.Mutable(i);
  switch (Below(random, 6)) {
    case 0:
    case 1:
      stored.Delete(std::string(slice.metadata.uid));
      break;
    case 2:
      if (slice.spec.devices && !slice.spec.devices->empty()) slice.spec.devices->pop_back();
      break;
    case 3:
      slice.spec.pool.generation += Below(random, 3);
      break;
    case 4:
      slice.spec.pool.resource_slice_count += 1;
      break;
    default:
      stored.Add(fmt::format("{:0{}x}-by-hand", Below(random, 6), 4 + Below(random, 2)),
                 Below(random, 4), Below(random, 4), {});
  }
}

std::uint64_t Instances() {
  const char* text = std::getenv("DRAY_INSTANCES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 3000;
}

TEST(SlicePlanProperty, OnePlanIsEnoughAndItsGenerationIsTheModels) {
  for (std::uint64_t seed = 1; seed <= Instances(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    StoredSlices stored;
    for (int step = 0; step < 12; ++step) {
      for (int n = Below(random, 4); n > 0; --n) Disturb(random, stored);
      const WantedPool wanted = RandomPool(random);
      const std::int64_t generation = ModelGeneration(wanted, stored);
      stored.Apply(PlanPool(TestPublisher(), "pool", &wanted, stored.All()));
      ASSERT_EQ(stored.size(), std::max<std::size_t>(1, wanted.slices.size()));
      for (const auto* slice : stored.All()) {
        ASSERT_EQ(slice->spec.pool.generation, generation);
      }
      ASSERT_EQ(Seen(stored), DevicesOf(wanted));
      ASSERT_TRUE(PlanPool(TestPublisher(), "pool", &wanted, stored.All()).empty());
    }
  }
}

// Whoever reads between two writes of a plan sees all of what was, all of what shall be, or nothing.
TEST(SlicePlanProperty, NobodySeesHalfOfAChange) {
  for (std::uint64_t seed = 1; seed <= Instances(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    StoredSlices stored;
    std::string before = "nothing";
    for (int step = 0; step < 12; ++step) {
      const WantedPool wanted = RandomPool(random);
      const std::string after = DevicesOf(wanted);
      const auto look = [&] {
        const auto seen = Seen(stored);
        ASSERT_TRUE(!seen || *seen == before || *seen == after) << *seen;
      };
      const PoolPlan plan = PlanPool(TestPublisher(), "pool", &wanted, stored.All());
      for (const DoomedSlice& doomed : plan.deletes) {
        stored.Delete(doomed.uid);
        look();
      }
      for (const api::ResourceSlice& slice : plan.updates) {
        stored.Update(slice);
        look();
      }
      for (const api::ResourceSlice& slice : plan.creates) {
        stored.Create(slice);
        look();
      }
      ASSERT_EQ(Seen(stored), after);
      before = after;
    }
  }
}

}  // namespace
}  // namespace dray::driver
