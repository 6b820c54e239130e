// SPDX-License-Identifier: Apache-2.0
//
// The rows of docs/spec/node.md section 20 that are about plugins, by number. Time is the test's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/temporary_folder.h"
#include "node/drivers_for_test.h"
#include "node/plugin_manager.h"
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

const std::string kDriver = "gpu.example.com";
const std::string kSocket = "/registry/gpu-reg.sock";
const std::string kEndpoint = "/plugins/gpu/dra.sock";
const DeviceName kDevice = {.driver = kDriver, .pool = "p", .device = "d"};

// Done at once, on the loop's thread.
class OffloadNowhere final : public Offload {
 public:
  void Do(std::function<void()> work) override { work(); }
};

// The slices of a cluster, by node and driver.
class FakeSlices final : public SliceWiper {
 public:
  explicit FakeSlices(Loop& loop) : loop_(loop) {}
  void Wipe(const std::string& driver, std::function<void(Status)> done) override {
    wipes.push_back(driver.empty() ? "<all>" : driver);
    if (status.ok()) {
      std::erase_if(slices, [&](const auto& slice) {
        return slice.first == "n1" && (driver.empty() || slice.second == driver);
      });
    }
    loop_.Post([done = std::move(done), status = status] { done(status); });
  }
  std::vector<std::pair<std::string, std::string>> slices;
  std::vector<std::string> wipes;
  Status status;

 private:
  Loop& loop_;
};

class Listening final : public PluginsListener {
 public:
  void OnDriverReady(const std::string& driver) override { ready.push_back(driver); }
  void OnHealthChanged(const std::vector<DeviceName>& devices) override {
    for (const DeviceName& device : devices) changed.push_back(device);
  }
  std::vector<std::string> ready;
  std::vector<DeviceName> changed;
};

class PluginAcceptance : public ::testing::Test {
 protected:
  PluginAcceptance() { StartAgent(); }

  void StartAgent(bool health = true) {
    manager_ = nullptr;
    manager_ = std::make_unique<PluginManager>(
        PluginManagerParts{.loop = loop_,
                           .offload = offload_,
                           .connector = drivers_,
                           .wiper = slices_,
                           .metrics = &registry_.emplace_back()},
        PluginManagerOptions{.root = folder_.path(), .health = health});
    manager_->ReadHealth();
    manager_->Start(listening_);
    Run(0s);
  }
  void Run(std::chrono::nanoseconds time) { RunFor(loop_, clock_, time); }

  FakeRegistration& Registration(const std::string& socket = kSocket) {
    return drivers_.registrations[socket];
  }
  // The driver's process starts, listens, and makes its socket.
  void StartDriver(const std::vector<std::string>& services = {"v1.DRAPlugin"}) {
    Registration().info->supported_versions = services;
    drivers_.Listen(kEndpoint);
    SocketFound();
  }
  void SocketFound(const std::string& socket = kSocket) {
    manager_->registrar().SocketFound(socket);
    Run(0s);
  }
  void SocketGone(const std::string& socket = kSocket) {
    manager_->registrar().SocketGone(socket);
    Run(0s);
  }
  Status Registered() { return manager_->plugins().Registered(kDriver); }
  StatusOr<rpc::PrepareAnswer> Prepare(const std::string& uid = "u") {
    StatusOr<rpc::PrepareAnswer> out = base::Internal("no answer");
    manager_->plugins().Prepare(kDriver, {{.namespace_ = "n", .uid = uid, .name = "c"}},
                                [&](StatusOr<rpc::PrepareAnswer> answer) { out = answer; });
    Run(0s);
    return out;
  }
  Status Unprepare() {
    Status out = base::Internal("no answer");
    manager_->plugins().Unprepare(
        kDriver, {{.namespace_ = "n", .uid = "u", .name = "c"}},
        [&](const StatusOr<rpc::UnprepareAnswer>& answer) { out = answer.status(); });
    Run(0s);
    return out;
  }
  HealthOfDevice Health() { return manager_->plugins().HealthOf(kDevice); }
  void Report(rpc::Health health, const std::string& message = "",
              std::chrono::seconds timeout = 0s) {
    drivers_.Report(
        kEndpoint,
        {{.pool = "p", .device = "d", .health = health, .timeout = timeout, .message = message}});
    Run(1s);
  }

  const files::TemporaryFolder folder_;
  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  Loop loop_{clock_};
  OffloadNowhere offload_;
  FakeDrivers drivers_{loop_};
  FakeSlices slices_{loop_};
  Listening listening_;
  std::list<metrics::Registry> registry_;  // one for each life of the agent
  std::unique_ptr<PluginManager> manager_;
};

TEST_F(PluginAcceptance, Row1AgentRestartsAndRegistersTheDriverAgain) {
  StartDriver();
  EXPECT_THAT(Registration().told, ElementsAre(""));
  StartAgent();
  EXPECT_THAT(Registered(), StatusIs(_, "DRA driver gpu.example.com is not registered"));
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
  EXPECT_THAT(manager_->plugins().Registered(""), StatusIs(_, "DRA driver name is empty"));
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
