// SPDX-License-Identifier: Apache-2.0
//
// The search against brute force that knows neither kinds nor classes nor loads: pod by pod, every
// place and every device. Places have cpu and devices, some of them in parts that draw on the same
// counter; a pod names what it would take, in order of preference; a pool may be within reach of
// several places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gang/search.h"

namespace dray::gang {
namespace {

using Random = std::mt19937_64;

std::uint32_t Below(Random& random, std::uint32_t n) {
  return static_cast<std::uint32_t>(random() % n);
}

struct Device {
  std::uint32_t type = 0;
  std::uint32_t set = 0;  // the counters that it draws on, among all of the world
  std::uint32_t draws = 1;
  std::vector<std::size_t> places;  // that can use it
};
struct Kind {
  std::uint32_t cpu = 0;
  std::vector<std::vector<std::uint32_t>> wants;  // per device: types that will do
};
struct World {
  std::vector<std::uint32_t> cpu;       // by place
  std::vector<std::uint32_t> counters;  // by set
  std::vector<Device> devices;
  std::vector<Kind> kinds;
  Counts wanted;
  std::uint32_t least = 0;
  bool shares = false;
};

// Devices for pods that have their places, by trying all.
bool Allocate(const World& world, const std::vector<std::pair<std::size_t, std::size_t>>& pods,
              std::size_t pod, std::size_t want, std::vector<bool>& taken,
              std::vector<std::uint32_t>& left) {
  if (pod == pods.size()) return true;
  const auto [kind, place] = pods[pod];
  if (want == world.kinds[kind].wants.size()) {
    return Allocate(world, pods, pod + 1, 0, taken, left);
  }
  const auto& types = world.kinds[kind].wants[want];
  for (std::size_t i = 0; i < world.devices.size(); ++i) {
    const Device& device = world.devices[i];
    if (taken[i] || left[device.set] < device.draws) continue;
    if (std::ranges::find(types, device.type) == types.end()) continue;
    if (std::ranges::find(device.places, place) == device.places.end()) continue;
    taken[i] = true;
    left[device.set] -= device.draws;
    const bool done = Allocate(world, pods, pod, want + 1, taken, left);
    taken[i] = false;
    left[device.set] += device.draws;
    if (done) return true;
  }
  return false;
}

bool Possible(const World& world, const std::vector<std::pair<std::size_t, std::size_t>>& pods) {
  std::vector<std::uint32_t> cpu = world.cpu;
  for (const auto& [kind, place] : pods) {
    if (cpu[place] < world.kinds[kind].cpu) return false;
    cpu[place] -= world.kinds[kind].cpu;
  }
  std::vector<bool> taken(world.devices.size());
  std::vector<std::uint32_t> left = world.counters;
  return Allocate(world, pods, 0, 0, taken, left);
}

// The most pods that can be placed, by trying everything.
std::size_t Most(const World& world, const std::vector<std::size_t>& pods, std::size_t next,
                 std::vector<std::pair<std::size_t, std::size_t>>& placed, std::size_t best) {
  if (!Possible(world, placed)) return best;
  best = std::max(best, placed.size());
  if (next == pods.size() || placed.size() + pods.size() - next <= best) return best;
  for (std::size_t place = 0; place < world.cpu.size(); ++place) {
    placed.emplace_back(pods[next], place);
    best = Most(world, pods, next + 1, placed, best);
    placed.pop_back();
  }
  return Most(world, pods, next + 1, placed, best);
}

class WorldPlaces final : public Places {
 public:
  explicit WorldPlaces(const World& world) : world_(world) {
    std::map<std::string, std::uint64_t> numbers;
    for (std::size_t place = 0; place < world.cpu.size(); ++place) {
      std::string text = fmt::format("{};", world.cpu[place]);
      std::map<std::uint32_t, std::uint32_t> sets;  // in order of appearance: names do not count
      for (const Device& device : world.devices) {
        if (std::ranges::find(device.places, place) == device.places.end()) continue;
        // What several can use is one and the same thing for all of them.
        const bool own = device.places.size() == 1;
        const auto set =
            own ? sets.try_emplace(device.set, sets.size()).first->second : 1000 + device.set;
        text +=
            fmt::format("{},{},{},{};", device.type, set, device.draws, world.counters[device.set]);
      }
      classes_.push_back(numbers.try_emplace(text, numbers.size()).first->second);
    }
  }
  std::size_t size() const override { return world_.cpu.size(); }
  std::uint64_t ClassOf(std::size_t place) const override { return classes_[place]; }
  bool Fits(std::size_t place, std::span<const std::uint32_t> counts) override {
    const Load load{place, Counts(counts.begin(), counts.end())};
    return FitTogether({&load, 1});
  }
  bool Share() const override { return world_.shares; }
  bool FitTogether(std::span<const Load> loads) override {
    std::vector<std::pair<std::size_t, std::size_t>> pods;
    for (const Load& load : loads) {
      for (std::size_t kind = 0; kind < load.counts.size(); ++kind) {
        for (std::uint32_t i = 0; i < load.counts[kind]; ++i) pods.emplace_back(kind, load.place);
      }
    }
    return Possible(world_, pods);
  }

 private:
  const World& world_;
  std::vector<std::uint64_t> classes_;
};

World RandomWorld(Random& random) {
  World world;
  world.shares = Below(random, 4) == 0;
  const std::size_t places = 1 + Below(random, 4);
  for (std::size_t place = 0; place < places; ++place) {
    world.cpu.push_back(1 + Below(random, 4));
    const std::uint32_t boards = Below(random, 3);
    for (std::uint32_t board = 0; board < boards; ++board) {
      const auto set = static_cast<std::uint32_t>(world.counters.size());
      world.counters.push_back(2);
      if (Below(random, 2) == 0) {  // whole, or two halves
        world.devices.push_back({0, set, 2, {place}});
        world.devices.push_back({1, set, 1, {place}});
        world.devices.push_back({1, set, 1, {place}});
      } else {
        world.devices.push_back({2 + Below(random, 2), set, 1, {place}});
      }
    }
  }
  if (world.shares) {
    std::vector<std::size_t> all(places);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (std::uint32_t i = 1 + Below(random, 2); i-- > 0;) {
      world.counters.push_back(1);
      world.devices.push_back(
          {Below(random, 4), static_cast<std::uint32_t>(world.counters.size() - 1), 1, all});
    }
  }
  const std::size_t kinds = 1 + Below(random, 3);
  std::uint32_t pods = 0;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    Kind& made = world.kinds.emplace_back();
    made.cpu = Below(random, 3);
    for (std::uint32_t want = Below(random, 3); want-- > 0;) {
      auto& types = made.wants.emplace_back();
      for (std::uint32_t type = 0; type < 4; ++type) {
        if (Below(random, 2) == 0) types.push_back(type);
      }
    }
    const std::uint32_t count = 1 + Below(random, pods < 3 ? 3 : 1);
    world.wanted.push_back(count);
    pods += count;
  }
  world.least = Below(random, 3) == 0 ? 1 + Below(random, pods) : pods;
  return world;
}

int Instances() {
  const char* const wanted = std::getenv("DRAY_INSTANCES");
  return wanted == nullptr ? 500 : std::atoi(wanted);
}

TEST(GangProperty, TheSearchSaysWhatTryingEverythingSays) {
  int placed = 0;
  int refused = 0;
  for (int seed = 1; seed <= Instances(); ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const World world = RandomWorld(random);
    std::vector<std::size_t> pods;
    for (std::size_t kind = 0; kind < world.kinds.size(); ++kind) {
      pods.insert(pods.end(), world.wanted[kind], kind);
    }
    std::vector<std::pair<std::size_t, std::size_t>> none;
    const std::size_t most = Most(world, pods, 0, none, 0);
    WorldPlaces places(world);
    const Answer answer = Search(places, {.wanted = world.wanted, .least = world.least});
    ASSERT_EQ(answer.verdict, most >= world.least ? Verdict::kPlaced : Verdict::kImpossible)
        << "seed " << seed << ", most " << most << ", least " << world.least;
    ASSERT_LE(answer.found, most) << "seed " << seed;
    ASSERT_GE(answer.at_most, most) << "seed " << seed;
    if (answer.verdict != Verdict::kPlaced) {
      ++refused;
      continue;
    }
    ++placed;
    // What is said to fit does, and no pod is placed twice.
    EXPECT_TRUE(places.FitTogether(answer.loads)) << "seed " << seed;
    Counts sum(world.wanted.size());
    for (const Load& load : answer.loads) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += load.counts[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_LE(sum[i], world.wanted[i]);
    ASSERT_GE(std::accumulate(sum.begin(), sum.end(), 0u), world.least) << "seed " << seed;
  }
  // Both happen, or the test says nothing.
  EXPECT_GT(placed, Instances() / 10);
  EXPECT_GT(refused, Instances() / 10);
}

// The same pods in another order of kinds, and places in another order, are placed or not alike.
TEST(GangProperty, OrderDecidesNothing) {
  for (int seed = 1; seed <= Instances() / 5; ++seed) {
    Random random(static_cast<std::uint64_t>(seed) * 7919);
    const World world = RandomWorld(random);
    World turned = world;
    std::ranges::reverse(turned.kinds);
    std::ranges::reverse(turned.wanted);
    WorldPlaces places(world);
    WorldPlaces other(turned);
    const Answer a = Search(places, {.wanted = world.wanted, .least = world.least});
    const Answer b = Search(other, {.wanted = turned.wanted, .least = world.least});
    ASSERT_EQ(a.verdict, b.verdict) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dray::gang
