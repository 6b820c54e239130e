// SPDX-License-Identifier: Apache-2.0
//
// Drivers that do not mean well, or do not know better: what they cost is counted. Those that lie about
// claims are in claim_manager_test.cc (LiarTest), sockets that are no gRPC in rpc/bad_peers_test.cc,
// and a driver in Python that does all of it to a real agent in test/e2e/bad_drivers.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "node/plugin_acceptance_for_test.h"
#include "node/plugin_table.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using namespace std::chrono_literals;
using dray::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BadDrivers : public PluginAcceptance {
 protected:
  std::string Flood(int i) { return fmt::format("/registry/flood-{:05}.sock", i); }
  FakeRegistration& Named(const std::string& socket, const std::string& driver) {
    FakeRegistration& there = Registration(socket);
    there.info = rpc::PluginInfo{.type = "DRAPlugin",
                                 .name = driver,
                                 .endpoint = "/plugins/" + driver + "/dra.sock",
                                 .supported_versions = {"v1.DRAPlugin"}};
    return there;
  }
  int Asked(int from, int to) {
    int asked = 0;
    for (int i = from; i < to; ++i) asked += Registration(Flood(i)).asked;
    return asked;
  }
};

// 4,000 sockets that never answer. 16 are asked at a time; one that is well and came last has its turn
// when each of them has had one, and none of them gets another before.
TEST_F(BadDrivers, AFloodOfSocketsThatHangKeepsAGoodOneWaitingForAWhile) {
  constexpr int kSockets = 4000;
  for (int i = 0; i < kSockets; ++i) {
    Registration(Flood(i)).hangs = true;
    manager_->registrar().SocketFound(Flood(i));
  }
  Run({});
  EXPECT_EQ(Asked(0, kSockets), static_cast<int>(PluginRegistrar::kMostHandshakes));
  StartDriver();
  Run(kSockets / static_cast<int>(PluginRegistrar::kMostHandshakes) * 1s);
  // Each had its turn, and hardly any a second one.
  EXPECT_GE(Asked(0, kSockets), kSockets);
  EXPECT_LE(Asked(0, kSockets), kSockets + 32);
  Run(2s);
  EXPECT_THAT(Registered(), IsOk());
  // They are asked ever more rarely.
  const int before = Asked(0, kSockets);
  Run(600s);
  EXPECT_LT(Asked(0, kSockets) - before, 3 * kSockets);
}

// Sockets that refuse are not waited for at all.
TEST_F(BadDrivers, AFloodOfSocketsThatRefuseCostsNoTime) {
  for (int i = 0; i < 4000; ++i) manager_->registrar().SocketFound(Flood(i));
  StartDriver();
  EXPECT_THAT(Registered(), IsOk());
}

TEST_F(BadDrivers, DriversThatRegisterWithoutEndAreRefusedAtSomePoint) {
  for (int i = 0; i < 300; ++i) {
    Named(Flood(i), fmt::format("d{}.example.com", i));
    manager_->registrar().SocketFound(Flood(i));
  }
  Run({});
  int accepted = 0;
  for (int i = 0; i < 300; ++i) {
    const auto& told = Registration(Flood(i)).told;
    ASSERT_THAT(told, SizeIs(1));
    accepted += told[0].empty() ? 1 : 0;
    if (!told[0].empty()) {
      EXPECT_EQ(told[0], "this node has 256 endpoints of DRA drivers already, and takes no more");
    }
  }
  EXPECT_EQ(accepted, static_cast<int>(PluginTable::kMostPlugins));
  // When one goes there is room for the next.
  SocketGone(Flood(0));
  Run(5s);
  EXPECT_THAT(manager_->plugins().Registered("d256.example.com"), IsOk());
}

// Who says too much about himself is answered in few words.
TEST_F(BadDrivers, EndlessNamesAreCutInWhatIsSaidAboutThem) {
  const std::string endless(1 << 20, 'n');
  struct Case {
    std::string socket;
    void (*change)(rpc::PluginInfo&, const std::string&);
  };
  const std::vector<Case> cases = {
      {"/registry/name", [](auto& info, const auto& text) { info.name = text; }},
      {"/registry/type", [](auto& info, const auto& text) { info.type = text; }},
      {"/registry/endpoint", [](auto& info, const auto& text) { info.endpoint = text; }},
      {"/registry/path", [](auto& info, const auto& text) { info.endpoint = "/" + text; }},
      {"/registry/services",
       [](auto& info, const auto& text) {
         info.supported_versions.assign(100, text.substr(0, 10'000));
       }},
  };
  for (const Case& bad : cases) {
    FakeRegistration& there = Named(bad.socket, "x.example.com");
    bad.change(*there.info, endless);
    SocketFound(bad.socket);
    ASSERT_THAT(there.told, SizeIs(1)) << bad.socket;
    EXPECT_LT(there.told[0].size(), 600u);
    EXPECT_THAT(there.told[0], HasSubstr("nnn...")) << bad.socket;
  }
}

// 100,000 devices in a message, and messages as fast as they are read.
TEST_F(BadDrivers, AFloodOfHealthIsReadNowAndThenAndTheBeginningIsKnown) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  std::vector<rpc::DeviceHealth> devices;
  for (int i = 0; i < 100'000; ++i) {
    devices.push_back({.pool = "p", .device = fmt::format("d{:06}", i)});
  }
  constexpr int kMessages = 14;
  for (int i = 0; i < kMessages; ++i) {
    // All of them change all the time.
    for (rpc::DeviceHealth& device : devices) {
      device.health = i % 2 == 0 ? rpc::Health::kHealthy : rpc::Health::kUnhealthy;
    }
    drivers_.Report(kEndpoint, devices);
  }
  Run(10s);
  // About one a second.
  EXPECT_GE(drivers_.Unread(kEndpoint), kMessages - 11u);
  EXPECT_LE(listening_.changed.size(), 11u * 16'384u);
  EXPECT_EQ(manager_->plugins().HealthOf({kDriver, "p", "d016384"}).health, rpc::Health::kUnknown);
  EXPECT_NE(manager_->plugins().HealthOf({kDriver, "p", "d016383"}).health, rpc::Health::kUnknown);
}

TEST_F(BadDrivers, HealthOfDevicesWithEndlessNamesIsNotKept) {
  StartDriver({"v1.DRAPlugin", "v1.DRAResourceHealth"});
  const std::string endless(1 << 20, 'x');
  drivers_.Report(
      kEndpoint,
      {{.pool = endless, .device = "d", .health = rpc::Health::kHealthy},
       {.pool = "p", .device = endless, .health = rpc::Health::kHealthy},
       {.pool = "p", .device = "d", .health = rpc::Health::kUnhealthy, .message = endless}});
  Run(1s);
  EXPECT_THAT(listening_.changed, SizeIs(1));
  EXPECT_EQ(Health().health, rpc::Health::kUnhealthy);
  EXPECT_EQ(Health().message.size(), 1024u);
}

}  // namespace
}  // namespace dray::node
