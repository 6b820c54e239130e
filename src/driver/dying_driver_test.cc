// SPDX-License-Identifier: Apache-2.0
//
// A driver that dies at every step of its disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "driver/kit_for_test.h"
#include "driver/plugin_service.h"
#include "files/disk_for_test.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using ::testing::IsEmpty;

// What a handler has done to the world, whoever remembers it.
class World final : public DeviceHandler {
 public:
  StatusOr<std::vector<DeviceSetup>> Prepare(const ClaimView& claim) override {
    done.insert(claim.name.uid);
    return std::vector<DeviceSetup>(claim.devices.size());
  }
  Status Unprepare(const rpc::ClaimName& claim, const std::vector<PreparedDeviceRecord>&) override {
    done.erase(claim.uid);
    return {};
  }
  std::set<std::string> done;
};

struct Death {
  files::DiskForTest::Fault fault;
  bool power;
  friend void PrintTo(const Death& death, std::ostream* os) {
    *os << static_cast<int>(death.fault) << (death.power ? " power" : " kill");
  }
};
class DyingDriver : public ::testing::TestWithParam<Death> {};

// The driver, or the machine, dies before, in the middle of and after each step of the disk.
TEST_P(DyingDriver, KnowsAfterwardsWhatItHasDone) {
  int deaths = 0;
  for (int step = 0; step < 24; ++step) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(fmt::format("step {} seed {}", step, seed));
      Workshop shop;
      World world;
      files::DiskForTest disk;
      HealthBoard health{shop.clock};
      std::string boot = "1";
      const auto open = [&] {
        ServiceOptions options;
        options.driver = std::string(dray::testing::kDriver);
        options.folder = shop.folder / "plugin";
        options.cdi_folder = shop.folder / "cdi";
        options.boot_id = boot;
        options.disk = &disk;
        return PluginService::Open(options, world, shop.cluster, health);
      };
      auto service = open();
      ASSERT_THAT(service, IsOk());
      disk.FailAt(step, GetParam().fault, true, seed);
      std::vector<rpc::ClaimName> claims;
      for (int i = 0; i < 8; ++i) {
        claims.push_back(shop.Claim(fmt::format("c{}", i), {{.device = fmt::format("d{}", i)}}));
      }
      for (int i = 0; i < 8; i += 2) {
        (void)(*service)->Prepare(
            {claims[static_cast<std::size_t>(i)], claims[static_cast<std::size_t>(i) + 1]});
        if (i > 2) (void)(*service)->Unprepare({claims[static_cast<std::size_t>(i) - 3]});
      }
      deaths += disk.dead() ? 1 : 0;
      if (GetParam().power) {
        disk.CutPower(seed);
        boot = "2";
      } else {
        disk.Kill();
      }
      service = open();
      ASSERT_THAT(service, IsOk());
      for (const std::string& uid : world.done) {
        EXPECT_TRUE((*service)->PreparedUids().contains(uid)) << uid;
      }
      ASSERT_THAT((*service)->Unprepare(claims), IsOk());
      EXPECT_THAT(world.done, IsEmpty());
      EXPECT_THAT((*service)->PreparedUids(), IsEmpty());
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(deaths, 40);
}
INSTANTIATE_TEST_SUITE_P(Faults, DyingDriver,
                         ::testing::ValuesIn(std::vector<Death>{
                             {files::DiskForTest::Fault::kBefore, false},
                             {files::DiskForTest::Fault::kAfter, false},
                             {files::DiskForTest::Fault::kTorn, false},
                             {files::DiskForTest::Fault::kBefore, true},
                             {files::DiskForTest::Fault::kAfter, true},
                             {files::DiskForTest::Fault::kTorn, true}}));

}  // namespace
}  // namespace dray::driver
