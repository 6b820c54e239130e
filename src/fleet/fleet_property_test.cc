// SPDX-License-Identifier: Apache-2.0
//
// Random changes: a fleet that was changed step by step looks like one that is made of what is
// left, its states are those of a slow model, and free and blocked are what the allocator says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "allocator/world_for_test.h"
#include "api/device_class.h"
#include "api/node.h"
#include "fleet/fleet.h"
#include "fleet/fleet_json.h"
#include "fmt/format.h"
#include "testing/claim_builder.h"
#include "testing/objects_from.h"
#include "testing/slice_builder.h"

namespace dray::fleet {
namespace {

using testing::AllocatedClaim;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int Below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool Chance(int in_hundred) { return Below(100) < in_hundred; }

 private:
  std::mt19937_64 engine_;
};

// The pools that there may be: one with a card on n1, one with shares on n2, one for all nodes.
// Names of devices are unique, so that a selector finds each.
std::vector<api::ResourceSlice> SlicesOf(Dice& dice, int which, std::int64_t generation) {
  std::vector<api::ResourceSlice> slices;
  if (which == 0) {
    testing::Slice counters("card-counters");
    counters.Pool("card").OnNode("n1").Of(2).Generation(generation);
    counters.Counters("set-0", {{"units", "4"}, {"memory", "8Gi"}})
        .Counters("set-1", {{"units", "2"}});
    testing::Slice devices("card-devices");
    devices.Pool("card").OnNode("n1").Of(2).Generation(generation);
    devices.With(testing::Device("whole").Consumes("set-0", {{"units", "4"}, {"memory", "8Gi"}}));
    const int parts = 1 + dice.Below(4);
    for (int i = 0; i < parts; ++i) {
      testing::Device part("part-" + std::to_string(i));
      const char* units = dice.Chance(50) ? "1" : "2";
      std::vector<std::string> groups;
      if (dice.Chance(50)) groups = {dice.Chance(50) ? "mig" : "vgpu"};
      part.Consumes("set-0", {{"units", units}, {"memory", "2Gi"}}, groups);
      devices.With(part);
    }
    devices.With(testing::Device("other").Consumes("set-1", {{"units", "2"}}));
    devices.With(testing::Device("plain"));
    slices.push_back(counters);
    slices.push_back(devices);
  } else if (which == 1) {
    testing::Slice slice("shares");
    slice.Pool("shares").OnNode("n2").Of(dice.Chance(80) ? 1 : 2).Generation(generation);
    for (int i = 0; i < 3; ++i) {
      testing::Device nic("nic-" + std::to_string(i));
      if (dice.Chance(70)) nic.Shared();
      nic.Capacity("bandwidth", dice.Chance(50) ? "100G" : "40G").Int("numa", dice.Below(2));
      if (dice.Chance(20)) nic.Taint("broken");
      slice.With(nic);
    }
    slices.push_back(slice);
  } else {
    testing::Slice slice("wide");
    slice.Pool("wide").OnAllNodes().Generation(generation);
    const int count = 1 + dice.Below(4);
    for (int i = 0; i < count; ++i) slice.With(testing::Device("wide-" + std::to_string(i)));
    slices.push_back(slice);
  }
  return slices;
}

api::ResourceClaim RandomClaim(Dice& dice, int number) {
  AllocatedClaim claim("c" + std::to_string(number));
  if (dice.Chance(15)) return claim;
  const int results = 1 + dice.Below(2);
  for (int i = 0; i < results; ++i) {
    switch (dice.Below(6)) {
      case 0:
        claim.In("card").Exclusive("whole");
        break;
      case 1:
        claim.In("card").Exclusive("part-" + std::to_string(dice.Below(4)));
        if (dice.Chance(40)) claim.Groups("set-0", {dice.Chance(50) ? "mig" : "vgpu"});
        break;
      case 2:
        claim.In("shares").Share("nic-" + std::to_string(dice.Below(3)),
                                 {{"bandwidth", dice.Chance(50) ? "10G" : "30G"}});
        break;
      case 3:
        claim.In("shares").Exclusive("nic-" + std::to_string(dice.Below(3)));
        break;
      case 4:
        claim.In("wide").Admin("wide-" + std::to_string(dice.Below(4)));
        break;
      default:
        claim.In("wide").Exclusive("wide-" + std::to_string(dice.Below(4)));
    }
  }
  return claim;
}

// Everything by name, so that two fleets with other numbers compare.
std::string Picture(const Fleet& fleet) {
  std::string text;
  std::map<std::string, std::string> devices;
  for (const Device& device : fleet.devices()) {
    if (device.state == State::kRemoved) continue;
    std::string shape;
    const Shape& of = fleet.shapes()[device.shape];
    for (const auto& [name, value] : of.attributes) {
      shape += fmt::format("{}={};", fleet.strings().At(name), value);
    }
    for (const auto& [name, value] : of.capacity) {
      shape += fmt::format("{}={};", fleet.strings().At(name), fleet.strings().At(value));
    }
    for (const std::uint32_t in : of.classes) shape += fleet.classes()[in] + ";";
    // One that is gone stays where it was.
    const std::string node =
        device.node == kNone || device.state == State::kGone
            ? ""
            : fleet.strings().At(fleet.nodes()[static_cast<Id>(device.node)].name);
    const std::string card =
        device.card == kNone
            ? ""
            : fleet.strings().At(fleet.cards()[static_cast<std::size_t>(device.card)].name);
    // So does its health, which is its node's.
    const int marks = device.state == State::kGone ? device.marks & ~kUnhealthy : device.marks;
    devices[fleet.NameOf(device)] = fmt::format("{} {} {} {} {} {}", NameOf(device.state),
                                                device.fill, marks, node, card, shape);
  }
  for (const auto& [name, device] : devices) text += name + ": " + device + "\n";
  std::map<std::string, std::string> rest;
  for (const Node& node : fleet.nodes()) {
    if ((node.flags & kNodeRemoved) == 0 && node.object) {
      rest["node " + fleet.strings().At(node.name)] = std::to_string(node.flags);
    }
  }
  for (const Pool& pool : fleet.pools()) {
    if ((pool.flags & kPoolRemoved) != 0 || pool.slices == 0) continue;
    rest["pool " + fleet.strings().At(pool.name)] =
        fmt::format("{} {} {}", pool.flags, pool.slices, pool.generation);
  }
  for (const auto& [key, claim] : fleet.claims()) {
    if (!claim.object) continue;
    std::string names;
    for (const Id id : claim.devices) names += fleet.NameOf(fleet.devices()[id]) + " ";
    rest["claim " + key.second] = fmt::format("{} {}", static_cast<int>(claim.state), names);
  }
  for (const auto& [name, value] : rest) text += name + ": " + value + "\n";
  return text;
}

// A world, said again to whoever asks.
struct World {
  std::map<std::string, api::ResourceSlice> slices;
  std::map<std::string, api::ResourceClaim> claims;
  std::map<std::string, api::Node> nodes;
  std::map<std::string, api::DeviceTaintRule> rules;
  std::map<std::string, api::DeviceClass> classes;
};

// The slow model: what is in use is summed up over all claims, for each device by itself. Groups
// are left to the allocator's answer.
struct Seen {
  State state = State::kFree;
  std::uint8_t fill = 0;
  bool counters_short = false;
};
std::map<std::string, Seen> Model(const World& world) {
  std::map<std::string, Seen> seen;
  std::map<std::string, std::int64_t> newest;
  for (const auto& [name, slice] : world.slices) {
    auto& generation = newest[slice.spec.pool.name];
    generation = std::max(generation, slice.spec.pool.generation);
  }
  struct Use {
    int whole = 0;
    std::map<std::string, double> consumed;
    int shares = 0;
  };
  std::map<std::string, Use> uses;
  for (const auto& [name, claim] : world.claims) {
    if (!claim.status.allocation.has_value()) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.admin_access.value_or(false)) continue;
      Use& use = uses[result.pool + "/" + result.device];
      (result.share_id ? use.shares : use.whole) += 1;
      for (const auto& [capacity, amount] : result.consumed_capacity) {
        use.consumed[std::string(capacity)] += static_cast<double>(*amount.ExactInt64());
      }
    }
  }
  std::map<std::string, double> left;  // by pool/set/counter
  std::map<std::string, const api::Device*> devices;
  for (const auto& [name, slice] : world.slices) {
    if (slice.spec.pool.generation != newest[slice.spec.pool.name]) continue;
    for (const auto& set : slice.spec.shared_counters.value_or(std::vector<api::CounterSet>())) {
      for (const auto& [counter, value] : set.counters) {
        left[slice.spec.pool.name + "/" + set.name + "/" + std::string(counter)] =
            static_cast<double>(*value.value.ExactInt64());
      }
    }
  }
  const auto all = left;
  for (const auto& [name, slice] : world.slices) {
    if (slice.spec.pool.generation != newest[slice.spec.pool.name] || !slice.spec.devices) continue;
    for (const api::Device& device : *slice.spec.devices) {
      const std::string key = slice.spec.pool.name + "/" + device.name;
      devices[key] = &device;
      if (!uses.contains(key)) continue;
      for (const auto& use : device.consumes_counters) {
        for (const auto& [counter, amount] : use.counters) {
          // A pool that lacks the set is invalid, and nothing of it can be had anyway.
          const auto of =
              left.find(slice.spec.pool.name + "/" + use.counter_set + "/" + std::string(counter));
          if (of != left.end()) of->second -= static_cast<double>(*amount.value.ExactInt64());
        }
      }
    }
  }
  std::set<std::string> overdrawn;
  for (const auto& [counter, amount] : left) {
    if (amount < 0) overdrawn.insert(counter.substr(0, counter.find('/')));
  }
  for (const auto& [key, device] : devices) {
    Seen& now = seen[key];
    const std::string pool = key.substr(0, key.find('/'));
    const auto use = uses.find(key);
    if (use != uses.end()) {
      const bool whole =
          use->second.whole > 0 || !device->allow_multiple_allocations.value_or(false);
      now.state = whole ? State::kHeld : State::kShared;
      if (whole) continue;
      for (const auto& [capacity, value] : device->capacity) {
        const auto taken = use->second.consumed.find(std::string(capacity));
        if (taken == use->second.consumed.end()) continue;
        const double share =
            std::ceil(taken->second * 100 / static_cast<double>(*value.value.ExactInt64()));
        now.fill = std::max(now.fill, static_cast<std::uint8_t>(std::min(share, 100.0)));
      }
      continue;
    }
    bool everything = !device->consumes_counters.empty();
    for (const auto& consumes : device->consumes_counters) {
      now.counters_short |= overdrawn.contains(pool);
      for (const auto& [name, value] : all) {
        const std::string prefix = pool + "/" + consumes.counter_set + "/";
        if (!name.starts_with(prefix)) continue;
        const auto* amount = consumes.counters.Find(name.substr(prefix.size()));
        const double takes =
            amount == nullptr ? 0 : static_cast<double>(*amount->value.ExactInt64());
        everything = everything && takes >= value;
        now.counters_short |= left[name] < takes;
      }
    }
    if (now.counters_short) now.state = everything ? State::kPartitioned : State::kBlocked;
  }
  for (const auto& [key, use] : uses) {
    if (!devices.contains(key)) seen[key].state = State::kGone;
  }
  return seen;
}

// Whether the allocator gives the device to somebody who asks for it by name, on either node.
bool Gives(const World& world, const std::string& device) {
  for (const char* node : {"n1", "n2"}) {
    allocator::WorldForTest asked;
    asked.node.metadata.name = node;
    for (const auto& [name, slice] : world.slices) asked.Put(slice);
    for (const auto& [name, claim] : world.claims) asked.Taken(claim);
    for (const auto& [name, rule] : world.rules) asked.inventory().PutTaintRule(rule);
    api::DeviceToleration everything{.operator_ = "Exists"};
    testing::Ask ask("r");
    ask.Tolerate(everything).Where(fmt::format("device.name == \"{}\"", device));
    if (asked.Solve(ask) == "r=" + device) return true;
  }
  return false;
}

void Check(const Fleet& fleet, const World& world, bool ask_allocator) {
  const auto model = Model(world);
  std::size_t live = 0;
  for (const Device& device : fleet.devices()) {
    if (device.state == State::kRemoved) continue;
    ++live;
    const std::string& pool = fleet.strings().At(fleet.pools()[device.pool].name);
    const std::string& name = fleet.strings().At(device.name);
    const auto want = model.find(pool + "/" + name);
    ASSERT_NE(want, model.end()) << pool << "/" << name;
    const bool by_groups =
        (device.state == State::kBlocked || device.state == State::kPartitioned) &&
        want->second.state == State::kFree;
    if (!by_groups) {
      ASSERT_EQ(NameOf(device.state), NameOf(want->second.state)) << pool << "/" << name;
    }
    ASSERT_EQ(device.fill, want->second.fill) << pool << "/" << name;
    const bool whole_pool = (fleet.pools()[device.pool].flags & (kIncomplete | kInvalid)) == 0;
    const bool nobodys = device.state == State::kFree || device.state == State::kBlocked ||
                         device.state == State::kPartitioned;
    if (ask_allocator && nobodys) {
      ASSERT_EQ(Gives(world, name), device.state == State::kFree && whole_pool)
          << pool << "/" << name << " is " << NameOf(device.state);
    }
  }
  ASSERT_EQ(live, model.size());
  ASSERT_EQ(live, fleet.live_devices());
}

void RunChanges(std::uint64_t seed, int steps) {
  SCOPED_TRACE(fmt::format("DRAY_SEED={}", seed));
  Dice dice(seed);
  World world;
  Fleet fleet{{}};
  std::int64_t generation = 1;
  std::uint64_t told = 0;
  const auto apply = [&](auto& map, const std::string& name, auto object, bool gone) {
    if (gone) {
      const auto it = map.find(name);
      if (it == map.end()) return;
      fleet.Apply({api::Change::Kind::kDeleted, api::Object::Of(it->second)});
      map.erase(it);
      return;
    }
    map.insert_or_assign(name, object);
    fleet.Apply({api::Change::Kind::kAdded, api::Object::Of(std::move(object))});
  };
  for (int step = 0; step < steps; ++step) {
    switch (dice.Below(10)) {
      case 0:
      case 1: {
        const int which = dice.Below(3);
        if (dice.Chance(30)) ++generation;
        for (api::ResourceSlice& slice : SlicesOf(dice, which, generation)) {
          const std::string name = slice.metadata.name;
          apply(world.slices, name, std::move(slice), false);
        }
        break;
      }
      case 2:
        if (!world.slices.empty() && dice.Chance(50)) {
          auto it = world.slices.begin();
          std::advance(it, dice.Below(static_cast<int>(world.slices.size())));
          apply(world.slices, std::string(it->first), api::ResourceSlice(), true);
        }
        break;
      case 3: {
        api::Node node =
            testing::Node(dice.Chance(50) ? "n1" : "n2").Label("zone", dice.Chance(50) ? "a" : "b");
        node.status.conditions.push_back(
            {.type = "Ready", .status = dice.Chance(70) ? "True" : "False"});
        const std::string name = node.metadata.name;
        apply(world.nodes, name, std::move(node), dice.Chance(20));
        break;
      }
      case 4: {
        api::DeviceTaintRule rule;
        rule.metadata.name = "rule-" + std::to_string(dice.Below(2));
        auto& selector = rule.spec.device_selector.emplace();
        if (dice.Chance(50)) selector.pool = dice.Chance(50) ? "card" : "wide";
        if (dice.Chance(30)) selector.device = "nic-1";
        rule.spec.taint = {.key = "k",
                           .effect = std::string(dice.Chance(50) ? "NoSchedule" : "None")};
        const std::string name = rule.metadata.name;
        apply(world.rules, name, std::move(rule), dice.Chance(40));
        break;
      }
      case 5: {
        api::DeviceClass of;
        of.metadata.name = "class-" + std::to_string(dice.Below(2));
        of.spec.selectors.push_back(
            {.cel = api::CELDeviceSelector{dice.Chance(50) ? "device.allowMultipleAllocations"
                                                           : "device.name != 'plain'"}});
        const std::string name = of.metadata.name;
        apply(world.classes, name, std::move(of), dice.Chance(40));
        break;
      }
      default: {
        const int number = dice.Below(6);
        apply(world.claims, "c" + std::to_string(number), RandomClaim(dice, number),
              dice.Chance(35));
      }
    }
    if (dice.Chance(40)) continue;
    const std::uint64_t before = fleet.revision();
    const std::string earlier = Picture(fleet);
    const bool settled = fleet.Settle();
    ASSERT_EQ(settled, fleet.revision() == before + 1);
    Fleet scratch{{}};
    for (const auto& [name, object] : world.claims) {
      scratch.Apply({api::Change::Kind::kAdded, api::Object::Of(object)});
    }
    for (const auto& [name, object] : world.slices) {
      scratch.Apply({api::Change::Kind::kAdded, api::Object::Of(object)});
    }
    for (const auto& [name, object] : world.nodes) {
      scratch.Apply({api::Change::Kind::kAdded, api::Object::Of(object)});
    }
    for (const auto& [name, object] : world.rules) {
      scratch.Apply({api::Change::Kind::kAdded, api::Object::Of(object)});
    }
    for (const auto& [name, object] : world.classes) {
      scratch.Apply({api::Change::Kind::kAdded, api::Object::Of(object)});
    }
    scratch.Settle();
    ASSERT_EQ(Picture(fleet), Picture(scratch)) << "step " << step;
    // Nothing changes without a revision that tells of it.
    if (!settled) {
      ASSERT_EQ(earlier, Picture(fleet));
    }
    if (settled && before >= fleet.oldest()) {
      ASSERT_FALSE(ChangesJson(fleet, before, base::Time()).empty());
    }
    ASSERT_NO_FATAL_FAILURE(Check(fleet, world, dice.Chance(15))) << "step " << step;
    told = fleet.revision();
  }
  EXPECT_GT(told, 1U);
}

TEST(FleetProperty, StepByStepIsAsFromScratchAndAsTheModelAndTheAllocatorSay) {
  if (const char* seed = std::getenv("DRAY_SEED")) {
    RunChanges(std::strtoull(seed, nullptr, 10), 400);
    return;
  }
  const char* const instances = std::getenv("DRAY_INSTANCES");
  const std::uint64_t count = instances == nullptr ? 40 : std::strtoull(instances, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    RunChanges(seed, 200);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace dray::fleet
