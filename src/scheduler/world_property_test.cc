// SPDX-License-Identifier: Apache-2.0
//
// A world that was kept through random changes is the one that its objects alone make.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scheduler/objects_for_test.h"
#include "scheduler/world.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using testing::AllocatedClaim;
using testing::Device;
using testing::IsOk;
using testing::Slice;

constexpr int kNodes = 6;
constexpr int kPods = 12;
constexpr int kClaims = 8;

// Objects as they are now, and random changes of them.
class Objects {
 public:
  explicit Objects(std::uint32_t seed) : random_(seed) {}

  api::Change Next() {
    switch (Below(4)) {
      case 0:
        return Change("node", Below(kNodes), [&](int i) { return api::Object::Of(NodeAt(i)); });
      case 1:
        return Change("slice", Below(kNodes + 1),
                      [&](int i) { return api::Object::Of(SliceAt(i)); });
      case 2:
        return Change("claim", Below(kClaims), [&](int i) { return api::Object::Of(ClaimAt(i)); });
      default:
        return Change("pod", Below(kPods), [&](int i) { return api::Object::Of(PodAt(i)); });
    }
  }
  // Everything, in an order of its own.
  std::vector<api::Object> All() {
    std::vector<api::Object> all;
    for (const auto& [key, object] : objects_) all.push_back(object);
    std::shuffle(all.begin(), all.end(), random_);
    return all;
  }
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }

 private:
  template <typename Make>
  api::Change Change(const std::string& kind, int i, Make make) {
    const std::string key = kind + std::to_string(i);
    const auto found = objects_.find(key);
    if (found != objects_.end() && Below(4) == 0) {
      const api::Object gone = found->second;
      objects_.erase(found);
      return {api::Change::Kind::kDeleted, gone};
    }
    const bool there = found != objects_.end();
    const api::Object object = make(i);
    objects_.insert_or_assign(key, object);
    return {there ? api::Change::Kind::kUpdated : api::Change::Kind::kAdded, object};
  }
  api::Node NodeAt(int i) {
    api::Node node = MakeNode("n" + std::to_string(i), std::to_string(4 + Below(3)));
    if (Below(2) == 0) node.metadata.labels["rack"] = std::to_string(Below(2));
    return node;
  }
  api::ResourceSlice SliceAt(int i) {
    Slice slice("s" + std::to_string(i));
    if (i == kNodes) {
      slice.Pool("shared").Where(testing::LabelIs("rack", "1"));
    } else {
      slice.Pool("p" + std::to_string(i / 2)).Of(i / 2 == 1 ? 2 : 1);
      slice.OnNode("n" + std::to_string(i));
    }
    const int devices = 1 + Below(3);
    for (int d = 0; d < devices; ++d) {
      slice.With(Device("d" + std::to_string(i) + "-" + std::to_string(d)));
    }
    return slice;
  }
  api::ResourceClaim ClaimAt(int i) {
    AllocatedClaim claim("c" + std::to_string(i));
    if (Below(3) == 0) return claim.Allocated().Pending();
    const int node = Below(kNodes + 1);
    claim.In(node == kNodes ? "shared" : "p" + std::to_string(node / 2));
    claim.Exclusive("d" + std::to_string(node) + "-" + std::to_string(Below(3)));
    return claim;
  }
  api::Pod PodAt(int i) {
    PodText text{.name = "p" + std::to_string(i), .cpu = std::to_string(1 + Below(3))};
    if (Below(3) != 0) text.node = "n" + std::to_string(Below(kNodes));
    if (Below(4) == 0) text.phase = "Failed";
    api::Pod pod = MakePod(text);
    pod.spec.priority = 100 * Below(3) - 100;
    if (Below(3) == 0) pod.spec.containers.front().ports.push_back({.host_port = 80 + Below(2)});
    return pod;
  }

  std::mt19937 random_;
  std::map<std::string, api::Object> objects_;
};

std::vector<std::string> Keys(const NodeInfo& node) {
  std::vector<std::string> keys;
  for (const auto& pod : node.pods) keys.push_back(pod->key);
  std::ranges::sort(keys);
  return keys;
}

std::vector<std::string> TakenNames(World& world, NodeInfo& node) {
  EXPECT_THAT(world.RefreshDevices(node), IsOk());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < node.devices->devices().size(); ++i) {
    const auto& device = node.devices->devices()[i];
    std::string name(node.devices->dictionary().View(device.row->name));
    if (node.usage.taken().Test(i)) name += " taken";
    names.push_back(std::move(name));
  }
  return names;
}

void ExpectEqual(World& kept, World& made) {
  ASSERT_EQ(kept.nodes().size(), made.nodes().size());
  for (std::size_t i = 0; i < kept.nodes().size(); ++i) {
    NodeInfo& a = *kept.nodes()[i];
    NodeInfo& b = *made.nodes()[i];
    ASSERT_EQ(a.name(), b.name());
    EXPECT_EQ(a.rank, i);
    EXPECT_EQ(a.requested.milli_cpu, b.requested.milli_cpu) << a.name();
    EXPECT_EQ(a.requested.pods, b.requested.pods);
    EXPECT_EQ(a.non_zero.memory, b.non_zero.memory);
    EXPECT_EQ(a.allocatable.milli_cpu, b.allocatable.milli_cpu);
    EXPECT_EQ(a.ports.size(), b.ports.size());
    EXPECT_EQ(a.lowest_priority, b.lowest_priority) << a.name();
    EXPECT_EQ(Keys(a), Keys(b));
    EXPECT_EQ(TakenNames(kept, a), TakenNames(made, b)) << a.name();
  }
}

class WorldProperty : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(WorldProperty, KeptIsAsMadeFromScratch) {
  Objects objects(GetParam());
  World kept{WorldOptions{}};
  for (int step = 0; step < 200; ++step) {
    kept.Apply(objects.Next());
    // What is looked at now and then must not be stale later.
    if (objects.Below(3) == 0 && !kept.nodes().empty()) {
      EXPECT_THAT(kept.RefreshDevices(*kept.nodes().front()), IsOk());
    }
    if (step % 20 != 19) continue;
    World made{WorldOptions{}};
    for (const api::Object& object : objects.All()) {
      made.Apply({api::Change::Kind::kAdded, object});
    }
    ExpectEqual(kept, made);
    if (HasFailure()) return;
  }
}

// Who looks only at the nodes that are said to have changed misses nothing.
TEST_P(WorldProperty, WhatIsNotSaidToHaveChangedHasNot) {
  Objects objects(GetParam());
  World world{WorldOptions{}};
  std::map<std::string, std::vector<std::string>> seen;
  std::uint64_t version = 0;
  std::uint64_t nodes_version = 0;
  const auto look = [&](NodeInfo& node) {
    std::vector<std::string> facts = TakenNames(world, node);
    for (const std::string& key : Keys(node)) facts.push_back(key);
    facts.push_back(std::to_string(node.requested.milli_cpu));
    facts.push_back(std::to_string(node.allocatable.milli_cpu));
    return facts;
  };
  for (int step = 0; step < 300; ++step) {
    world.Apply(objects.Next());
    if (objects.Below(3) != 0) continue;
    const World::ChangedNodes changed = world.ChangedSince(version);
    if (changed.all || nodes_version != world.nodes_version() || version < world.global_version()) {
      seen.clear();
      for (NodeInfo* node : world.nodes()) seen[node->name()] = look(*node);
    } else {
      for (const NodeIndex index : changed.nodes) {
        if (NodeInfo* node = world.node(index)) seen[node->name()] = look(*node);
      }
    }
    version = world.version();
    nodes_version = world.nodes_version();
    for (NodeInfo* node : world.nodes()) ASSERT_EQ(seen[node->name()], look(*node)) << node->name();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorldProperty, ::testing::Range(0u, 40u));

}  // namespace
}  // namespace dray::scheduler
