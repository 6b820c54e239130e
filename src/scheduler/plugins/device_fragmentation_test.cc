// SPDX-License-Identifier: Apache-2.0
//
// The policy fragmentation through the whole scheduler: nodes and devices are chosen together.
#include "scheduler/plugins/device_fragmentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/device_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class FragmentationTest : public ::testing::Test {
 protected:
  static SchedulerOptions Options(allocator::Policy policy) {
    SchedulerOptions options;
    options.policy = policy;
    return options;
  }
  // A node with devices of a model that can be shared by thousandths.
  void AddShared(const std::string& name, int devices, const std::string& model = "a",
                 std::string_view cpu = "64") {
    test_.Create(MakeNode(name, cpu));
    testing::Slice slice("slice-" + name);
    slice.Pool(name).OnNode(name);
    for (int i = 0; i < devices; ++i) {
      slice.With(testing::Device("gpu-" + std::to_string(i))
                     .Shared()
                     .Capacity("milli", "1000")
                     .String("model", model)
                     .String("uuid", name + std::to_string(i)));
    }
    test_.Create(api::ResourceSlice(slice));
  }
  void AddShare(const std::string& name, int milli, int count = 1, const std::string& model = {},
                const std::string& cpu = "1") {
    api::ResourceClaim claim = DeviceCluster::GpuClaim(name, count);
    auto& asked = *claim.spec.devices.requests.front().exactly;
    asked.capacity.emplace();
    asked.capacity->requests["milli"] = testing::ToQuantity(std::to_string(milli));
    if (!model.empty()) {
      asked.selectors = {
          {.cel = api::CELDeviceSelector{
               .expression = "device.attributes['gpu.example.com'].model == '" + model + "'"}}};
    }
    test_.Create(claim);
    test_.Create(DeviceCluster::WithClaim(MakePod({.name = name, .cpu = cpu}), name));
  }
  std::string NodeOf(const std::string& pod) { return test_.Find<api::Pod>(pod)->spec.node_name; }
  std::vector<std::string> DevicesOf(const std::string& claim) {
    std::vector<std::string> devices;
    for (const auto& result :
         test_.Find<api::ResourceClaim>(claim)->status.allocation->devices.results) {
      devices.push_back(result.pool + "/" + result.device);
    }
    return devices;
  }
  // How many pods of each node.
  std::map<std::string, int> Counts(const std::vector<Outcome>& outcomes) {
    std::map<std::string, int> counts;
    for (const Outcome& outcome : outcomes) ++counts[outcome.node];
    return counts;
  }

  DeviceCluster test_{Options(allocator::Policy::kFragmentation)};
};

TEST_F(FragmentationTest, SharesThatFitTogetherShareADevice) {
  AddShared("n1", 2);
  AddShared("n2", 2);
  for (int i = 0; i < 4; ++i) AddShare("large" + std::to_string(i), 650);
  for (const Outcome& outcome : test_.scheduler().Run()) EXPECT_FALSE(outcome.node.empty());
  for (int i = 0; i < 4; ++i) AddShare("small" + std::to_string(i), 320);
  for (const Outcome& outcome : test_.scheduler().Run()) EXPECT_FALSE(outcome.node.empty());
  std::vector<std::string> large;
  std::vector<std::string> small;
  for (int i = 0; i < 4; ++i) {
    large.push_back(DevicesOf("large" + std::to_string(i)).front());
    small.push_back(DevicesOf("small" + std::to_string(i)).front());
  }
  EXPECT_THAT(large, UnorderedElementsAre("n1/gpu-0", "n1/gpu-1", "n2/gpu-0", "n2/gpu-1"));
  EXPECT_THAT(small, ::testing::UnorderedElementsAreArray(large));
}

TEST_F(FragmentationTest, ASmallShareGoesToADeviceThatIsBrokenOpen) {
  AddShared("n1", 4);
  AddShare("whole", 1000);
  AddShare("first", 200);
  test_.scheduler().Run();
  AddShare("second", 200);
  test_.scheduler().Run();
  EXPECT_EQ(DevicesOf("first"), DevicesOf("second"));
}

TEST_F(FragmentationTest, PodsWithoutDevicesStayWhereNoneAre) {
  test_.AddNode("a-gpu", 4, "64");
  test_.AddNode("b-plain", 0, "8");
  for (int i = 0; i < 3; ++i) test_.AddGpuPod("g" + std::to_string(i), 1);
  test_.scheduler().Run();
  for (int i = 0; i < 6; ++i) test_.Create(MakePod({.name = "p" + std::to_string(i)}));
  // By least allocated the large node would have them.
  EXPECT_EQ(Counts(test_.scheduler().Run()), (std::map<std::string, int>{{"b-plain", 6}}));
}

TEST_F(FragmentationTest, WholeNodesAreKeptForThoseWhoNeedThem) {
  test_.AddNode("n1", 4, "64");
  test_.AddNode("n2", 4, "64");
  test_.AddNode("n3", 4, "64");
  for (int i = 0; i < 3; ++i) test_.AddGpuPod("one" + std::to_string(i), 1);
  test_.AddGpuPod("four-a", 4);
  test_.AddGpuPod("one3", 1);
  test_.AddGpuPod("four-b", 4);
  for (const Outcome& outcome : test_.scheduler().Run()) {
    EXPECT_EQ(outcome.kind, Outcome::Kind::kBound) << outcome.pod << ": " << outcome.message;
  }
}

TEST_F(FragmentationTest, AScarceModelIsKeptForThoseWhoNeedIt) {
  AddShared("a-rare", 2, "rare");
  for (int i = 0; i < 3; ++i) AddShared("b-usual" + std::to_string(i), 2, "usual");
  AddShare("wants-rare", 1000, 1, "rare");
  test_.scheduler().Run();
  EXPECT_EQ(NodeOf("wants-rare"), "a-rare");
  for (int i = 0; i < 6; ++i) AddShare("any" + std::to_string(i), 1000);
  const auto counts = Counts(test_.scheduler().Run());
  EXPECT_FALSE(counts.contains("a-rare"));
}

TEST_F(FragmentationTest, MatchedSetsStayWhole) {
  // Two links of two devices each; single devices come from the link that is open already.
  test_.Create(MakeNode("n", "64"));
  testing::Slice slice("slice-n");
  slice.Pool("n").OnNode("n");
  for (int i = 0; i < 6; ++i) {
    slice.With(testing::Device("gpu-" + std::to_string(i)).String("link", i < 3 ? "x" : "y"));
  }
  test_.Create(api::ResourceSlice(slice));
  api::ResourceClaim pair = DeviceCluster::GpuClaim("pair", 2);
  pair.spec.devices.constraints.push_back({.match_attribute = "gpu.example.com/link"});
  test_.Create(pair);
  test_.Create(DeviceCluster::WithClaim(MakePod({.name = "pair"}), "pair"));
  test_.scheduler().Run();
  test_.AddGpuPod("single", 1);
  test_.scheduler().Run();
  // Two of x are taken; the single one is the third of x, and y can still give a set of three.
  const std::vector<std::string> devices = DevicesOf("pair");
  const bool first = devices.front() < "n/gpu-3";
  EXPECT_EQ(DevicesOf("single").front() < "n/gpu-3", first);
}

TEST_F(FragmentationTest, PartitionsComeFromTheDeviceThatIsBrokenOpen) {
  test_.Create(MakeNode("n", "64"));
  testing::Slice counters("slice-c");
  counters.Pool("n").OnNode("n").Of(2);
  testing::Slice slice("slice-n");
  slice.Pool("n").OnNode("n").Of(2);
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::string set = "gpu-" + std::to_string(gpu);
    counters.Counters(set, {{"memory", "4"}});
    for (int part = 0; part < 4; ++part) {
      slice.With(
          testing::Device(set + "-part-" + std::to_string(part)).Consumes(set, {{"memory", "1"}}));
    }
  }
  test_.Create(api::ResourceSlice(counters));
  test_.Create(api::ResourceSlice(slice));
  for (int i = 0; i < 4; ++i) test_.AddGpuPod("p" + std::to_string(i), 1);
  test_.scheduler().Run();
  std::set<std::string> gpus;
  for (int i = 0; i < 4; ++i) {
    gpus.insert(DevicesOf("p" + std::to_string(i)).front().substr(0, 7));
  }
  EXPECT_THAT(gpus, ElementsAre("n/gpu-0"));
}

TEST_F(FragmentationTest, NamesOfNodesDecideNothing) {
  // Two clusters with names in opposite orders fill the same kinds of nodes.
  const auto filled = [](bool reversed) {
    DeviceCluster test(Options(allocator::Policy::kFragmentation));
    for (int i = 0; i < 6; ++i) {
      test.AddNode("n" + std::to_string(reversed ? 9 - i : i), 1 + i % 3, "32");
    }
    for (int i = 0; i < 7; ++i) test.AddGpuPod("p" + std::to_string(i), 1 + i % 2);
    std::map<std::size_t, int> by_size;
    for (const Outcome& outcome : test.scheduler().Run()) {
      if (outcome.node.empty()) continue;
      const int number = outcome.node.back() - '0';
      ++by_size[static_cast<std::size_t>(1 + (reversed ? 9 - number : number) % 3)];
    }
    return by_size;
  };
  EXPECT_EQ(filled(false), filled(true));
}

// What the configuration says counts from the first pod on, and what comes changes nothing.
TEST_F(FragmentationTest, RequestsThatAreSaidTakeThePlaceOfThoseThatCome) {
  const auto first = [](bool said) {
    SchedulerOptions options = Options(allocator::Policy::kFragmentation);
    TypicalRequest typical;
    typical.resources[api::kResourceCpu] = testing::ToQuantity("1");
    typical.devices = DeviceCluster::GpuClaim("typical", 3).spec.devices;
    if (said) options.config.profiles.front().fragmentation.requests = {typical};
    DeviceCluster test(options);
    test.AddNode("n1", 4, "64");
    test.AddNode("n2", 4, "64");
    test.AddNode("n3", 3, "8");
    test.AddGpuPod("one", 1);
    for (const Outcome& outcome : test.scheduler().Run()) {
      if (outcome.pod.ends_with("one")) return outcome.node;
    }
    return std::string();
  };
  EXPECT_EQ(first(false), "n3") << "nothing is known of others, who may want all four of a node";
  EXPECT_NE(first(true), "n3") << "three at a time can still go everywhere";
}

TEST(FragmentationProfile, ReplacesTheScoresOfResources) {
  const Profile profile = WithPolicy({}, allocator::Policy::kFragmentation);
  const auto weight = [&](std::string_view name) {
    for (const PluginWeight& plugin : profile.score_weights) {
      if (plugin.name == name) return plugin.weight;
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(weight("DeviceFragmentation"), 1);
  EXPECT_EQ(weight("NodeResourcesFit"), 0);
  EXPECT_EQ(weight("NodeResourcesBalancedAllocation"), 0);
  EXPECT_TRUE(WithPolicy({}, allocator::Policy::kFirstFit).score_weights.empty());
}

TEST(FragmentationProfile, HasThePolicyThatItsScoresNeed) {
  Profile profile;
  profile.score_weights.push_back({"DeviceFragmentation", 7});
  EXPECT_EQ(WithPolicy(profile, allocator::Policy::kFirstFit).policy,
            allocator::Policy::kFragmentation);
  profile.policy = allocator::Policy::kBestFit;
  EXPECT_EQ(WithPolicy(profile, allocator::Policy::kFirstFit).policy, allocator::Policy::kBestFit);
}

}  // namespace
}  // namespace dray::scheduler
