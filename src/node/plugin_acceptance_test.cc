// SPDX-License-Identifier: Apache-2.0
//
// The rows of docs/spec/node.md section 20 that are about registering and calling plugins, by number. Time is the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/plugin_acceptance_for_test.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(PluginAcceptance, Row1AgentRestartsAndRegistersTheDriverAgain) {
  StartDriver();
  EXPECT_THAT(Registration().told, ElementsAre(""));
  StartAgent();
  EXPECT_THAT(Registered(),
              StatusIs(StatusCode::kNotFound, "DRA driver gpu.example.com is not registered"));
  SocketFound();
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_EQ(Registration().asked, 2);
  EXPECT_THAT(Registration().told, ElementsAre("", ""));
}

TEST_F(PluginAcceptance, Row2DriverRestartsAndIsRegisteredAgain) {
  StartDriver();
  drivers_.Listen(kEndpoint, false);
  SocketGone();
  EXPECT_FALSE(Registered().ok());
  StartDriver();
  EXPECT_THAT(Registered(), IsOk());
  // The same path, made anew, and nobody saw it go.
  SocketFound();
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_THAT(Registration().told, ElementsAre("", "", ""));
  EXPECT_THAT(listening_.ready, SizeIs(::testing::Ge(3)));
  EXPECT_THAT(Prepare(), IsOk());
}

TEST_F(PluginAcceptance, Row3GetInfoFailsAndLaterDoesNot) {
  const rpc::PluginInfo info = *Registration().info;
  Registration().info = base::Internal("not now");
  SocketFound();
  EXPECT_FALSE(Registered().ok());
  Run(10s);
  // After 0.5, 1.5, 3.5 and 7.5 s.
  EXPECT_EQ(Registration().asked, 5);
  Registration().info = info;
  Run(10s);
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_EQ(Registration().asked, 6);
  Run(600s);
  EXPECT_EQ(Registration().asked, 6);
}

TEST_F(PluginAcceptance, Row4NotifyFailsAndLaterDoesNot) {
  Registration().notify = base::Internal("failed to come up");
  SocketFound();
  EXPECT_FALSE(Registered().ok());
  EXPECT_THAT(listening_.ready, IsEmpty());
  Registration().notify = Status();
  Run(1s);
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_THAT(listening_.ready, ElementsAre(kDriver));
}

TEST_F(PluginAcceptance, Row5ServicesThatNobodyKnows) {
  Registration().info->supported_versions = {};
  SocketFound();
  EXPECT_THAT(Registration().told,
              ElementsAre("empty list of supported gRPC services (aka supported versions)"));
  EXPECT_FALSE(Registered().ok());
  Registration().info->supported_versions = {"1.0.0", "v1.DRAResourceHealth"};
  Run(1s);
  ASSERT_THAT(Registration().told, SizeIs(2));
  EXPECT_THAT(Registration().told[1], HasSubstr("1.0.0, v1.DRAResourceHealth"));
  EXPECT_THAT(Registration().told[1], HasSubstr("v1.DRAPlugin, v1beta1.DRAPlugin"));
  EXPECT_FALSE(Registered().ok());
}

TEST_F(PluginAcceptance, Row6TheNewestServiceThatBothKnow) {
  struct {
    std::vector<std::string> services;
    std::string call;
  } const rows[] = {{{"v1beta1.DRAPlugin"}, "prepare v1beta1 u"},
                    {{"v1.DRAPlugin"}, "prepare v1 u"},
                    {{"v1.DRAPlugin", "v1beta1.DRAPlugin"}, "prepare v1 u"},
                    {{"v1beta1.DRAPlugin", "v7.DRAPlugin", "v1.DRAPlugin"}, "prepare v1 u"}};
  for (const auto& row : rows) {
    StartDriver(row.services);
    EXPECT_THAT(Prepare(), IsOk());
    EXPECT_EQ(drivers_.endpoint(kEndpoint).calls.back(), row.call);
    SocketGone();
  }
}

TEST_F(PluginAcceptance, Row7TheSameEndpointTwice) {
  StartDriver();
  Registration("/registry/second.sock");
  SocketFound("/registry/second.sock");
  EXPECT_THAT(Registration("/registry/second.sock").told,
              ElementsAre("endpoint /plugins/gpu/dra.sock already registered for DRA driver plugin "
                          "gpu.example.com"));
  EXPECT_THAT(Registered(), IsOk());
  // When the first goes, the second gets its place by itself.
  SocketGone();
  Run(5s);
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_EQ(Registration("/registry/second.sock").told.back(), "");
}

TEST_F(PluginAcceptance, Row8AnotherKindOfPlugin) {
  Registration().info->type = "CSIPlugin";
  SocketFound();
  EXPECT_THAT(Registration().told,
              ElementsAre("no handler registered for plugin type: CSIPlugin at socket " + kSocket));
  EXPECT_FALSE(Registered().ok());
}

TEST_F(PluginAcceptance, Row20RegistrationFirstAndTheServiceLater) {
  Registration();
  SocketFound();
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_THAT(Prepare(), StatusIs(StatusCode::kUnavailable, _));
  listening_.ready.clear();
  drivers_.Listen(kEndpoint);
  Run(0s);
  EXPECT_THAT(listening_.ready, ElementsAre(kDriver));
  EXPECT_THAT(Prepare(), IsOk());
}

TEST_F(PluginAcceptance, Row20BothOnOneSocket) {
  Registration().info->endpoint = "";
  drivers_.Listen(kSocket);
  SocketFound();
  EXPECT_THAT(Prepare(), IsOk());
  EXPECT_THAT(drivers_.endpoint(kSocket).calls, ElementsAre("prepare v1 u"));
}

TEST_F(PluginAcceptance, Row21TheServiceStopsAndComesBack) {
  StartDriver();
  EXPECT_THAT(Prepare(), IsOk());
  slices_.slices = {{"n1", kDriver}};
  drivers_.Listen(kEndpoint, false);
  Run(31s);
  EXPECT_THAT(slices_.slices, IsEmpty());
  EXPECT_FALSE(Unprepare().ok());
  drivers_.Listen(kEndpoint);
  Run(0s);
  EXPECT_EQ(listening_.ready.back(), kDriver);
  EXPECT_THAT(Unprepare(), IsOk());
}

TEST_F(PluginAcceptance, Row22OneConnectionForEverything) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  EXPECT_EQ(drivers_.endpoint(kEndpoint).connections, 1);
  for (const char* uid : {"a", "b"}) {
    EXPECT_THAT(Prepare(uid), IsOk());
    EXPECT_THAT(Unprepare(), IsOk());
  }
  Report(rpc::Health::kHealthy);
  EXPECT_EQ(drivers_.endpoint(kEndpoint).connections, 1);
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 1);
}

TEST_F(PluginAcceptance, Row27AnAgentThatStartsWipesTheSlicesOfItsNode) {
  slices_.slices = {{"n1", kDriver}, {"n1", "other"}, {"n2", kDriver}, {"", kDriver}};
  slices_.status = base::MakeStatus(StatusCode::kUnauthenticated, "401");
  slices_.wipes.clear();
  StartAgent();
  Run(8s);
  // At once, after 1.1, 2.2 and 4.4 s more.
  EXPECT_THAT(slices_.wipes, SizeIs(4));
  EXPECT_THAT(slices_.slices, SizeIs(4));
  slices_.status = Status();
  Run(60s);
  EXPECT_THAT(slices_.wipes, SizeIs(5));
  EXPECT_THAT(slices_.slices, ElementsAre(std::pair("n2", kDriver), std::pair("", kDriver)));
}

TEST_F(PluginAcceptance, Row28ADriverThatDeregisters) {
  StartDriver();
  slices_.slices = {{"n1", kDriver}, {"n1", "other"}};
  SocketGone();
  Run(29s);
  EXPECT_THAT(slices_.slices, SizeIs(2));
  Run(2s);
  EXPECT_THAT(slices_.slices, ElementsAre(std::pair("n1", "other")));
}

TEST_F(PluginAcceptance, Row29ADriverThatDiesOrNeverListened) {
  StartDriver();
  slices_.slices = {{"n1", kDriver}};
  drivers_.Listen(kEndpoint, false);
  Run(31s);
  EXPECT_THAT(slices_.slices, IsEmpty());
  EXPECT_THAT(Registered(), IsOk());

  Registration("/registry/lazy.sock").info->name = "lazy.example.com";
  Registration("/registry/lazy.sock").info->endpoint = "/plugins/lazy.sock";
  slices_.slices = {{"n1", "lazy.example.com"}};
  SocketFound("/registry/lazy.sock");
  Run(29s);
  EXPECT_THAT(slices_.slices, SizeIs(1));
  Run(2s);
  EXPECT_THAT(slices_.slices, IsEmpty());
}

TEST_F(PluginAcceptance, Row30ADriverThatIsAwayForAMoment) {
  StartDriver();
  slices_.slices = {{"n1", kDriver}};
  slices_.wipes.clear();
  drivers_.Listen(kEndpoint, false);
  Run(5s);
  drivers_.Listen(kEndpoint);
  Run(120s);
  EXPECT_THAT(slices_.wipes, IsEmpty());
  // Away twice: the time that it was there in between counts.
  drivers_.Listen(kEndpoint, false);
  Run(20s);
  drivers_.Listen(kEndpoint);
  Run(0s);
  drivers_.Listen(kEndpoint, false);
  Run(20s);
  EXPECT_THAT(slices_.wipes, IsEmpty());
  Run(11s);
  EXPECT_THAT(slices_.wipes, ElementsAre(kDriver));
}

TEST_F(PluginAcceptance, Row42RollingUpdate) {
  const std::string second = "/registry/second.sock";
  StartDriver();
  slices_.wipes.clear();
  Registration(second).info->endpoint = "/plugins/gpu/dra-2.sock";
  drivers_.Listen("/plugins/gpu/dra-2.sock");
  SocketFound(second);
  // The new one is called, as long as it lives.
  EXPECT_THAT(Prepare("a"), IsOk());
  EXPECT_THAT(drivers_.endpoint("/plugins/gpu/dra-2.sock").calls, ElementsAre("prepare v1 a"));
  drivers_.Listen("/plugins/gpu/dra-2.sock", false);
  Run(0s);
  EXPECT_THAT(Prepare("b"), IsOk());
  EXPECT_THAT(drivers_.endpoint(kEndpoint).calls, ElementsAre("prepare v1 b"));
  // It recovers, and the old one stops.
  drivers_.Listen("/plugins/gpu/dra-2.sock");
  drivers_.Listen(kEndpoint, false);
  SocketGone();
  EXPECT_THAT(Prepare("c"), IsOk());
  EXPECT_THAT(drivers_.endpoint("/plugins/gpu/dra-2.sock").calls, Contains("prepare v1 c"));
  Run(120s);
  EXPECT_THAT(slices_.wipes, IsEmpty());
}

TEST_F(PluginAcceptance, Row44OneAfterTheOtherWithin25Seconds) {
  StartDriver();
  slices_.wipes.clear();
  drivers_.Listen(kEndpoint, false);
  SocketGone();
  Run(25s);
  StartDriver();
  Run(120s);
  EXPECT_THAT(slices_.wipes, IsEmpty());
}

// ---- what has no row

TEST_F(PluginAcceptance, AHandshakeThatHangsEndsAndIsTriedAgain) {
  Registration().hangs = true;
  SocketFound();
  Run(900ms);
  EXPECT_EQ(Registration().asked, 1);
  Run(1s);
  EXPECT_EQ(Registration().asked, 2);
  // Made anew meanwhile: the next one begins when this one has ended.
  Registration().hangs = false;
  SocketFound();
  Run(1s);
  EXPECT_THAT(Registered(), IsOk());
  EXPECT_EQ(Registration().asked, 3);
}

TEST_F(PluginAcceptance, NamesAndEndpointsThatCannotBe) {
  Registration().info->name = "Not A Name";
  SocketFound();
  EXPECT_THAT(Registration().told.back(), HasSubstr("DNS subdomain"));
  Registration().info->name = std::string(64, 'a');
  SocketFound();
  EXPECT_THAT(Registration().told.back(), HasSubstr("at most 63"));
  Registration().info->name = kDriver;
  Registration().info->endpoint = "dra.sock";
  SocketFound();
  EXPECT_THAT(Registration().told.back(), HasSubstr("not an absolute path"));
  EXPECT_THAT(manager_->plugins().Registered(""),
              StatusIs(StatusCode::kInvalidArgument, "DRA driver name is empty"));
}

TEST_F(PluginAcceptance, CallsAndSocketsAreCounted) {
  StartDriver();
  EXPECT_THAT(Prepare(), IsOk());
  drivers_.Listen(kEndpoint, false);
  EXPECT_FALSE(Unprepare().ok());
  Registration("/registry/bad.sock").info = base::Internal("no");
  SocketFound("/registry/bad.sock");
  const std::string text = registry_.back().Text();
  const std::string path = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/";
  EXPECT_THAT(text, HasSubstr("dra_grpc_operations_duration_seconds_count{driver_name=\"" +
                              kDriver + "\",method_name=\"" + path +
                              "NodePrepareResources\",grpc_status_code=\"OK\"} 1"));
  EXPECT_THAT(text,
              HasSubstr(path + "NodeUnprepareResources\",grpc_status_code=\"Unavailable\"} 1"));
  EXPECT_THAT(text, HasSubstr("plugin_manager_total_plugins{socket_path=\"" + kSocket +
                              "\",state=\"actual_state_of_world\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("socket_path=\"/registry/bad.sock\",state=\"desired_state_of_world\""));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(
                        "socket_path=\"/registry/bad.sock\",state=\"actual_state_of_world\"")));
}

}  // namespace
}  // namespace dray::node
