// SPDX-License-Identifier: Apache-2.0
#include "node/node_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "api/lease.h"
#include "node/agent_for_test.h"
#include "node/machine.h"

namespace dray::node {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeReporterTest : public AgentTest {
 protected:
  const api::KindInfo& kind() const { return api::HubKind(api::TypeInfoOf<api::Node>()); }
  api::Node Node() const {
    const auto object = memory_->Stored(kind(), "", "n1");
    return object ? *object->As<api::Node>() : api::Node();
  }
  const api::NodeCondition* Ready(const api::Node& node) const {
    const auto it = std::ranges::find(node.status.conditions, "Ready", &api::NodeCondition::type);
    return it == node.status.conditions.end() ? nullptr : &*it;
  }
  base::Time Renewed() const {
    const auto lease =
        memory_->Stored(api::HubKind(api::TypeInfoOf<api::Lease>()), "kube-node-lease", "n1");
    return lease ? lease->As<api::Lease>()->spec.renew_time->time : base::Time();
  }
};

TEST_F(NodeReporterTest, RegistersWhatTheMachineHas) {
  options_.node.declared_features = {"DRAOptionalNodeOperations"};
  options_.node.labels = {{"example.com/rack", "7"}};
  options_.node.machine.info.architecture = "amd64";
  options_.node.port = 10250;
  StartAgent();
  const api::Node node = Node();
  EXPECT_EQ(*node.metadata.labels.Find("kubernetes.io/hostname"), "n1");
  EXPECT_EQ(*node.metadata.labels.Find("kubernetes.io/arch"), "amd64");
  EXPECT_EQ(*node.metadata.labels.Find("example.com/rack"), "7");
  EXPECT_EQ(node.status.allocatable.Find("cpu")->ToString(), "4");
  EXPECT_EQ(node.status.addresses.at(0).address, "192.0.2.7");
  EXPECT_EQ(node.status.daemon_endpoints.kubelet_endpoint.port, 10250);
  EXPECT_THAT(node.status.declared_features, ElementsAre("DRAOptionalNodeOperations"));
  EXPECT_EQ(node.status.node_info.container_runtime_version, "none://1");
  ASSERT_NE(Ready(node), nullptr);
  EXPECT_EQ(Ready(node)->status, "True");
  EXPECT_EQ(node.status.conditions.size(), 4u);
}

TEST_F(NodeReporterTest, TheLeaseIsRenewedEveryTenSeconds) {
  StartAgent();
  const base::Time first = Renewed();
  Run(seconds(9));
  const base::Time second = Renewed();
  EXPECT_EQ(second - first, seconds(10));
  Run(seconds(30));
  EXPECT_EQ(Renewed() - second, seconds(30));
}

TEST_F(NodeReporterTest, TheStatusIsWrittenEveryFiveMinutesOrWhenSomethingHasChanged) {
  StartAgent();
  const std::string version = Node().metadata.resource_version;
  Run(minutes(4));
  EXPECT_EQ(Node().metadata.resource_version, version);
  Run(minutes(2));
  EXPECT_NE(Node().metadata.resource_version, version);
  runtime_.Fail("Probe", base::Unavailable("it has crashed"), 3);
  Run(seconds(6));
  EXPECT_EQ(Ready(Node())->status, "False");
  EXPECT_THAT(Ready(Node())->message, HasSubstr("it has crashed"));
  Run(seconds(20));
  EXPECT_EQ(Ready(Node())->status, "True");
}

TEST_F(NodeReporterTest, WithoutANetworkForPodsItIsNotReady) {
  runtime_.SetNoNetwork("NetworkReady=false reason:NetworkPluginNotReady message:no CNI");
  StartAgent();
  Run(seconds(6));
  EXPECT_EQ(Ready(Node())->status, "False");
  EXPECT_EQ(Ready(Node())->message,
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
            "message:no CNI");
  runtime_.SetNoNetwork("");
  Run(seconds(20));
  EXPECT_EQ(Ready(Node())->status, "True");
}

TEST_F(NodeReporterTest, ANodeThatSomebodyDeletesIsRegisteredAgain) {
  StartAgent();
  const std::string uid = Node().metadata.uid;
  ASSERT_TRUE(memory_->Delete(kind(), "", "n1").ok());
  Run(seconds(12));
  EXPECT_NE(Node().metadata.uid, "");
  EXPECT_NE(Node().metadata.uid, uid);
  EXPECT_EQ(Ready(Node())->status, "True");
}

TEST(LookAtMachine, FindsThisOne) {
  const Machine machine = LookAtMachine({});
  EXPECT_GE(machine.capacity.Find("cpu")->Value(), 1);
  EXPECT_GT(machine.capacity.Find("memory")->Value(), 1 << 20);
  EXPECT_EQ(machine.capacity.Find("pods")->Value(), 110);
  EXPECT_FALSE(machine.info.kernel_version.empty());
  EXPECT_EQ(machine.info.operating_system, "linux");
}

}  // namespace
}  // namespace dray::node
