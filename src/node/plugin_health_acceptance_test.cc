// SPDX-License-Identifier: Apache-2.0
//
// The rows of docs/spec/node.md section 20 that are about the health of devices, by number. Time is the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/plugin_acceptance_for_test.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::dray::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(PluginAcceptance, Row52HealthFollowsTheDriver) {
  for (const std::vector<std::string>& services :
       {std::vector<std::string>{"v1.DRAPlugin", "v1.DRAResourceHealth"},
        {"v1.DRAPlugin", "v1alpha1.DRAResourceHealth"},
        {"v1.DRAPlugin", "v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth"}}) {
    StartDriver(services);
    for (const rpc::Health health :
         {rpc::Health::kHealthy, rpc::Health::kUnhealthy, rpc::Health::kHealthy}) {
      listening_.changed.clear();
      Report(health);
      EXPECT_EQ(Health().health, health);
      EXPECT_THAT(listening_.changed, ElementsAre(kDevice));
      listening_.changed.clear();
      Report(health);
      EXPECT_THAT(listening_.changed, IsEmpty());
    }
    SocketGone();
    EXPECT_EQ(Health(), HealthOfDevice());
  }
  EXPECT_EQ(ChooseServices({"v1.DRAPlugin", "v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth"})
                ->health,
            rpc::HealthService::kV1);
}

TEST_F(PluginAcceptance, Row53MessagesFollowTheDriver) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  for (const std::string message : {"too hot", "still too hot", ""}) {
    listening_.changed.clear();
    Report(rpc::Health::kUnhealthy, message);
    EXPECT_EQ(Health(), (HealthOfDevice{rpc::Health::kUnhealthy, message}));
    EXPECT_THAT(listening_.changed, ElementsAre(kDevice));
  }
}

TEST_F(PluginAcceptance, Row54ADriverThatStopsLeavesUnknownHealth) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  Report(rpc::Health::kHealthy);
  listening_.changed.clear();
  drivers_.Listen(kEndpoint, false);
  Run(0s);
  EXPECT_EQ(Health(), HealthOfDevice());
  EXPECT_THAT(listening_.changed, ElementsAre(kDevice));
  Run(20s);
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 1) << "nobody is asked who is not there";
  drivers_.Listen(kEndpoint);
  Run(0s);
  Report(rpc::Health::kHealthy);
  EXPECT_EQ(Health().health, rpc::Health::kHealthy);
  // A stream that ends while the driver lives is opened again.
  drivers_.EndStreams(kEndpoint, base::Internal("oops"));
  Run(4s);
  EXPECT_EQ(Health(), HealthOfDevice());
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 2);
  Run(2s);
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 3);
}

TEST_F(PluginAcceptance, Row54HealthThatIsNotRepeatedIsUnknown) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  Report(rpc::Health::kHealthy);  // a second passes
  Run(28s);
  EXPECT_EQ(Health().health, rpc::Health::kHealthy);
  listening_.changed.clear();
  Run(1s);
  EXPECT_EQ(Health(), HealthOfDevice());
  EXPECT_THAT(listening_.changed, ElementsAre(kDevice)) << "and those who care are told at once";
  Report(rpc::Health::kHealthy, "", 5s);
  Run(3s);
  EXPECT_EQ(Health().health, rpc::Health::kHealthy);
  Run(1s);
  EXPECT_EQ(Health(), HealthOfDevice());
}

TEST_F(PluginAcceptance, Row55ADriverThatDeclinesHealthIsNotAskedAgain) {
  drivers_.endpoint(kEndpoint).stream_answer =
      base::MakeStatus(StatusCode::kUnimplemented, "no health");
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  Run(600s);
  drivers_.Listen(kEndpoint, false);
  Run(1s);
  drivers_.Listen(kEndpoint);
  Run(600s);
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 1);
  SocketFound();
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 2);
}

TEST_F(PluginAcceptance, Row56WithoutTheGateNobodyIsAsked) {
  StartAgent(/*health=*/false);
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  Run(60s);
  EXPECT_EQ(drivers_.endpoint(kEndpoint).streams, 0);
  EXPECT_EQ(Health(), HealthOfDevice());
}

TEST_F(PluginAcceptance, Row57TooManyDevices) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  std::vector<rpc::DeviceHealth> devices;
  for (int i = 0; i < 16'385; ++i) {
    devices.push_back(
        {.pool = "p", .device = "d" + std::to_string(i), .health = rpc::Health::kHealthy});
  }
  drivers_.Report(kEndpoint, devices);
  Run(1s);
  EXPECT_THAT(listening_.changed, SizeIs(16'384));
  const Plugins& plugins = manager_->plugins();
  EXPECT_EQ(plugins.HealthOf({kDriver, "p", "d16383"}).health, rpc::Health::kHealthy);
  EXPECT_EQ(plugins.HealthOf({kDriver, "p", "d16384"}).health, rpc::Health::kUnknown);
  // Those that are known are heard as before.
  devices[3].health = rpc::Health::kUnhealthy;
  drivers_.Report(kEndpoint, devices);
  Run(1s);
  EXPECT_EQ(plugins.HealthOf({kDriver, "p", "d3"}).health, rpc::Health::kUnhealthy);
}

// ---- what has no row

TEST_F(PluginAcceptance, ADriverThatTalksAllTheTimeIsReadNowAndThen) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  for (int i = 0; i < 1000; ++i) {
    drivers_.Report(kEndpoint, {{.pool = "p",
                                 .device = "d",
                                 .health = rpc::Health::kHealthy,
                                 .message = std::to_string(i)}});
  }
  Run(1s);
  EXPECT_GT(drivers_.Unread(kEndpoint), 970);
  Run(60s);
  EXPECT_EQ(drivers_.Unread(kEndpoint), 0);
  EXPECT_EQ(Health().message, "999");
}

TEST_F(PluginAcceptance, HealthSurvivesTheAgent) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  Report(rpc::Health::kUnhealthy, "too hot", 60s);
  Run(2s);
  StartAgent();
  EXPECT_EQ(Health(), (HealthOfDevice{rpc::Health::kUnhealthy, "too hot"}));
  Run(60s);
  EXPECT_EQ(Health(), HealthOfDevice());
  ASSERT_THAT(files::WriteWhole(folder_ / "dra_health_state", "{\"a\": 7"), IsOk());
  StartAgent();
  EXPECT_EQ(Health(), HealthOfDevice());
}

TEST_F(PluginAcceptance, ASecondEndpointGoesOnReporting) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  const std::string second = "/registry/second.sock";
  Registration(second).info->endpoint = "/plugins/gpu/dra-2.sock";
  Registration(second).info->supported_versions = {"v1.DRAPlugin", "v1.DRAResourceHealth"};
  drivers_.Listen("/plugins/gpu/dra-2.sock");
  SocketFound(second);
  Report(rpc::Health::kHealthy);
  drivers_.Report("/plugins/gpu/dra-2.sock",
                  {{.pool = "p", .device = "d", .health = rpc::Health::kHealthy}});
  Run(1s);
  // The old one ends; a kubelet would say Unknown now.
  drivers_.Listen(kEndpoint, false);
  SocketGone();
  EXPECT_EQ(Health().health, rpc::Health::kHealthy);
}

}  // namespace
}  // namespace dray::node
