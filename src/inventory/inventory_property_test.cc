// SPDX-License-Identifier: Apache-2.0
//
// An inventory that was changed step by step equals one that was made of what is left, and a
// snapshot equals what it was when it was taken; also when the dictionary was collected on the way.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "inventory/node_devices.h"
#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using testing::Device;
using testing::LabelIs;
using testing::Node;
using testing::Slice;

constexpr int kNodes = 4;

api::Node MakeNode(int i) {
  return Node(fmt::format("n{}", i)).Label("zone", i % 2 == 0 ? "a" : "b");
}

// Everything that a NodeDevices says, in words: numbers differ between dictionaries.
class Describer {
 public:
  explicit Describer(const NodeDevices& devices)
      : devices_(devices), dictionary_(devices.dictionary()) {}

  std::string Run() {
    for (std::uint32_t p = 0; p < devices_.pools().size(); ++p) DescribePool(p);
    for (const NodeDevice& device : devices_.devices()) DescribeDevice(device);
    return text_;
  }

 private:
  void DescribePool(std::uint32_t p) {
    const PoolOnNode& pool = devices_.pools()[p];
    text_ += fmt::format("pool {}/{} state {} ({}) devices {}+{} sets {}+{}\n", View(pool.driver),
                         View(pool.name), static_cast<int>(pool.state), pool.why, pool.first_device,
                         pool.devices, pool.first_set, pool.sets);
    for (std::uint32_t s = pool.first_set; s < pool.first_set + pool.sets; ++s) {
      const CounterSetOnNode& set = devices_.counter_sets()[s];
      text_ += fmt::format(" set {} of {}:", View(set.name), set.pool);
      std::map<std::string_view, std::string> sorted;
      for (const CounterOnNode& c : devices_.counters().subspan(set.first_counter, set.counters)) {
        sorted[View(c.name)] = Show(c.value);
      }
      for (const auto& [name, value] : sorted) text_ += fmt::format(" {}={}", name, value);
      text_ += "\n";
    }
    for (int d = 0; d < 8; ++d) {
      const auto name = dictionary_.Find(fmt::format("d{}", d));
      if (name.has_value() && devices_.FindElsewhere(p, *name) != nullptr) {
        text_ += fmt::format(" elsewhere d{}\n", d);
      }
    }
  }

  void DescribeDevice(const NodeDevice& device) {
    text_ +=
        fmt::format("device {} of {} in pool {} on {} ops {} groups {} counters {} taints",
                    View(device.row->name), device.slice->object_name(), device.pool,
                    static_cast<bool>(device.on_node), static_cast<bool>(device.operations_missing),
                    static_cast<bool>(device.groups_off), static_cast<bool>(device.counters_off));
    for (const api::DeviceTaint& taint : dictionary_.At(device.taints)) text_ += " " + taint.key;
    std::map<std::string, std::string> uses;
    for (const CounterUse& use : devices_.counter_uses(device)) {
      const CounterOnNode& counter = devices_.counters()[use.counter];
      uses[fmt::format("{}.{}", View(devices_.counter_sets()[counter.set].name),
                       View(counter.name))] = Show(use.amount);
    }
    for (const auto& [name, value] : uses) text_ += fmt::format(" {}={}", name, value);
    text_ += "\n";
  }

  std::string_view View(NameId name) const { return dictionary_.View(name); }
  static std::string Show(Amount amount) {
    return std::to_string(static_cast<std::int64_t>(amount / 1'000'000'000));
  }

  const NodeDevices& devices_;
  const Dictionary& dictionary_;
  std::string text_;
};

std::string Describe(const Snapshot& snapshot, const Features& features) {
  std::string text;
  for (int i = 0; i < kNodes; ++i) {
    const auto devices = Gather(snapshot, MakeNode(i), features);
    text += fmt::format("== n{}\n", i);
    text +=
        devices.ok() ? Describer(**devices).Run() : std::string(base::Message(devices.status()));
  }
  text += "unbound:";
  for (const auto& slice : snapshot.Unbound()) text += " " + slice->object_name();
  // By name: pools have other numbers in another inventory.
  std::map<std::string, std::string> pools;
  const Dictionary& dictionary = snapshot.dictionary();
  for (std::size_t p = 1; p <= dictionary.pools(); ++p) {
    const PoolId pool{static_cast<std::uint32_t>(p)};
    const PoolName name = dictionary.At(pool);
    for (const auto& slice : snapshot.OfPool(pool)) {
      pools[fmt::format("{}/{}", dictionary.View(name.driver), dictionary.View(name.pool))] +=
          " " + slice->object_name();
    }
  }
  for (const auto& [name, slices] : pools) text += fmt::format("\npool {}:{}", name, slices);
  return text;
}

// Small numbers of everything, so that things collide.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  unsigned Below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  api::ResourceSlice MakeSlice(const std::string& name) {
    Slice slice(name);
    slice.Pool(fmt::format("p{}", Below(3))).Generation(1 + Below(2)).Of(1 + Below(3));
    if (Below(4) == 0) slice.Driver("other.example");
    ChooseNodes(slice);
    if (Below(4) == 0) {
      slice.Counters(fmt::format("s{}", Below(2)), {{"c0", "10"}, {"c1", "20"}});
      return slice;
    }
    if (Below(5) == 0) slice.SkipsNodeOperations();
    for (unsigned i = Below(4); i > 0; --i) slice.With(MakeDevice());
    return slice;
  }

 private:
  void ChooseNodes(Slice& slice) {
    switch (Below(6)) {
      case 0:
        slice.OnAllNodes();
        break;
      case 1:
        slice.Where(LabelIs("zone", Below(2) == 0 ? "a" : "b"));
        break;
      case 2:
        slice.PerDevice();
        break;
      default:
        slice.OnNode(fmt::format("n{}", Below(kNodes)));
    }
  }
  api::Device MakeDevice() {
    Device device(fmt::format("d{}", Below(8)));
    device.Int("index", Below(3)).String("uuid", fmt::format("u{}", Below(1000)));
    if (Below(3) == 0) device.OnNode(fmt::format("n{}", Below(kNodes)));
    if (Below(3) == 0) device.Taint(fmt::format("t{}", Below(2)));
    if (Below(6) == 0) device.BindingCondition("ready");
    if (Below(3) == 0) {
      device.Consumes(fmt::format("s{}", Below(2)), {{Below(2) == 0 ? "c0" : "c1", "3"}},
                      Below(2) == 0 ? std::vector<std::string>{"g"} : std::vector<std::string>{});
    }
    return device;
  }

  std::mt19937 random_;
};

Features FeaturesOf(unsigned seed) {
  Features features = Features::All();
  features.partitionable_devices = seed % 4 != 3;
  features.compatibility_groups = seed % 3 != 2;
  return features;
}

class InventoryProperty : public ::testing::TestWithParam<unsigned> {};

TEST_P(InventoryProperty, ChangedStepByStepEqualsMadeFromScratch) {
  const unsigned seed = GetParam();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Features features = FeaturesOf(seed);
  Generator generate(seed);
  Inventory inventory;
  // What is left, in the order of first arrival.
  std::vector<api::ResourceSlice> left;
  std::map<std::string, api::DeviceTaintRule> rules;
  std::vector<std::pair<Snapshot, std::string>> taken;
  for (int step = 0; step < 120; ++step) {
    const std::string name = fmt::format("slice-{}", generate.Below(12));
    const auto known = std::ranges::find(left, name, [](const auto& s) { return s.metadata.name; });
    const unsigned what = generate.Below(10);
    if (what < 7) {
      const api::ResourceSlice slice = generate.MakeSlice(name);
      inventory.Put(slice);
      if (known == left.end()) {
        left.push_back(slice);
      } else {
        *known = slice;
      }
    } else if (what < 9) {
      inventory.Remove(name);
      if (known != left.end()) left.erase(known);
    } else {
      api::DeviceTaintRule rule;
      rule.metadata.name = fmt::format("rule-{}", generate.Below(2));
      rule.spec.taint.key = fmt::format("r{}", generate.Below(3));
      if (generate.Below(3) > 0) {
        rule.spec.device_selector = api::DeviceTaintSelector{};
        if (generate.Below(2) == 0) {
          rule.spec.device_selector->device = fmt::format("d{}", generate.Below(8));
        }
      }
      inventory.PutTaintRule(rule);
      rules[rule.metadata.name] = rule;
    }
    if (step % 10 != 9) continue;
    Inventory fresh;
    for (const api::ResourceSlice& slice : left) fresh.Put(slice);
    for (const auto& [rule_name, rule] : rules) fresh.PutTaintRule(rule);
    const std::string have = Describe(inventory.snapshot(), features);
    ASSERT_EQ(have, Describe(fresh.snapshot(), features));
    ASSERT_EQ(inventory.snapshot().devices(), fresh.snapshot().devices());
    taken.emplace_back(inventory.snapshot(), have);
    if (seed % 2 == 0 || generate.Below(3) > 0) continue;
    for (const auto& [snapshot, was] : taken) ASSERT_EQ(Describe(snapshot, features), was);
    taken.clear();
    const auto mark = [&](Marker& marker) { inventory.Mark(marker); };
    inventory.snapshot().dictionary().Collect(mark);
    ASSERT_EQ(Describe(inventory.snapshot(), features), have);
  }
  for (const auto& [snapshot, was] : taken) ASSERT_EQ(Describe(snapshot, features), was);
}

INSTANTIATE_TEST_SUITE_P(Seeds, InventoryProperty, ::testing::Range(0u, 60u));

}  // namespace
}  // namespace dray::inventory
