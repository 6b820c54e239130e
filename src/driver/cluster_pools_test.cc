// SPDX-License-Identifier: Apache-2.0
#include "driver/cluster_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "driver/kit_for_test.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using namespace std::chrono_literals;
using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kFile = R"(
driver: disk.example.com
pools:
- devices: [{name: local}]
- name: fabric
  allNodes: true
  devices: [{name: lun-0}, {name: lun-1}]
- name: rack
  nodeSelector:
    nodeSelectorTerms:
    - matchExpressions: [{key: rack, operator: In, values: [r1]}]
  devices: [{name: shelf}]
)";

class ClusterPoolsTest : public ::testing::Test {
 protected:
  ClusterPoolOptions Options(const std::string& who = "") {
    ClusterPoolOptions options;
    options.description = [this] { return ReadDeviceFile(text_); };
    options.problem = [this](const Status& status) {
      problems_.emplace_back(base::Message(status));
    };
    if (!who.empty()) {
      options.lease =
          client::LeaseOptions{.namespace_ = "ns", .name = "disk.example.com", .identity = who};
    }
    return options;
  }
  std::unique_ptr<ClusterPools> Start(ClusterPoolOptions options) {
    auto pools = ClusterPools::Start(std::move(options), shop_.cluster, shop_.clock);
    EXPECT_THAT(pools, IsOk());
    return pools.ok() ? *std::move(pools) : nullptr;
  }
  // "fabric all lun-0 lun-1"
  std::vector<std::string> Published() const {
    std::vector<std::string> out;
    const auto slices = shop_.cluster.List(api::HubKind(api::TypeInfoOf<api::ResourceSlice>()));
    for (const api::Object& object : *slices) {
      const auto& spec = object.As<api::ResourceSlice>()->spec;
      EXPECT_FALSE(spec.node_name.has_value());
      EXPECT_THAT(object.metadata().owner_references, IsEmpty());
      std::string text = spec.pool.name + (spec.all_nodes.value_or(false) ? " all" : "") +
                         (spec.node_selector.has_value() ? " selected" : "");
      for (const api::Device& device : *spec.devices) text += " " + device.name;
      out.push_back(text);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::string text_ = std::string(kFile);
  Workshop shop_;
  std::vector<std::string> problems_;
};

TEST_F(ClusterPoolsTest, ArePublishedForNoNodeAndTheOthersAreNot) {
  const auto pools = Start(Options());
  ASSERT_NE(pools, nullptr);
  pools->Tick();
  EXPECT_THAT(Published(), ElementsAre("fabric all lun-0 lun-1", "rack selected shelf"));
  EXPECT_THAT(problems_, IsEmpty());
  // What has changed is published; what is as before is not written.
  const PublishCounts before = pools->counts();
  shop_.clock.Advance(2s);
  pools->Tick();
  EXPECT_EQ(pools->counts(), before);
  text_ = "driver: disk.example.com\npools: [{name: rack, allNodes: true, devices: [{name: x}]}]\n";
  shop_.clock.Advance(2s);
  pools->Tick();
  EXPECT_THAT(Published(), ElementsAre("rack all x"));
  text_ = "pools: [";
  shop_.clock.Advance(2s);
  pools->Tick();
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("the devices are as before")));
}

// Two could; the one with the lease does. When it is gone, the other takes over and changes nothing.
TEST_F(ClusterPoolsTest, OneOfSeveralPublishes) {
  auto first = Start(Options("first"));
  auto second = Start(Options("second"));
  first->Tick();
  second->Tick();
  EXPECT_TRUE(first->leads());
  EXPECT_FALSE(second->leads());
  EXPECT_THAT(Published(), ElementsAre("fabric all lun-0 lun-1", "rack selected shelf"));
  for (int i = 0; i < 20; ++i) {
    shop_.clock.Advance(2s);
    first->Tick();
    second->Tick();
  }
  EXPECT_TRUE(first->leads());
  EXPECT_FALSE(second->leads());
  // It ends as it should: nobody waits.
  first.reset();
  shop_.clock.Advance(2s);
  second->Tick();
  EXPECT_TRUE(second->leads());
  EXPECT_EQ(second->counts(), PublishCounts{});
  EXPECT_THAT(Published(), ElementsAre("fabric all lun-0 lun-1", "rack selected shelf"));
}

// Whoever has not renewed its lease does not write, though it has not heard of another.
TEST_F(ClusterPoolsTest, WhoMayHaveLostTheLeaseWritesNothing) {
  const auto first = Start(Options("first"));
  const auto second = Start(Options("second"));
  first->Tick();
  second->Tick();
  for (int i = 0; i < 12; ++i) {  // the first is frozen
    shop_.clock.Advance(2s);
    second->Tick();
  }
  EXPECT_TRUE(second->leads());
  text_ = "driver: disk.example.com\npools: [{name: rack, allNodes: true, devices: [{name: x}]}]\n";
  first->Tick();
  EXPECT_FALSE(first->leads());
  EXPECT_THAT(Published(), ElementsAre("fabric all lun-0 lun-1", "rack selected shelf"));
}

TEST_F(ClusterPoolsTest, SayWhatTheyNeed) {
  text_ = "driver: d.example.com\npools: [{devices: [{name: x}]}]\n";
  EXPECT_THAT(ClusterPools::Start(Options(), shop_.cluster, shop_.clock),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("`allNodes: true`")));
  text_ = "pools: [{name: a, allNodes: true, devices: [{name: x}]}]\n";
  EXPECT_THAT(ClusterPools::Start(Options(), shop_.cluster, shop_.clock),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no name")));
  text_ = "driver: d.example.com\npools: [{allNodes: true, devices: [{name: x}]}]\n";
  EXPECT_THAT(ClusterPools::Start(Options(), shop_.cluster, shop_.clock),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("pools[0]: a pool for several nodes needs a name")));
}

}  // namespace
}  // namespace dray::driver
