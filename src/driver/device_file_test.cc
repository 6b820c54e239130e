// SPDX-License-Identifier: Apache-2.0
#include "driver/device_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seconds.h"
#include "driver/described_driver.h"
#include "files/temporary_folder.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kFile = R"(
driver: cam.example.com
pools:
- devices:
  - name: front
    attributes: {resolution: {string: 4k}}
    cdi:
      env: ["CAMERA=${device}"]
      deviceNodes: [{path: /dev/null}]
    health: {status: Unhealthy, message: lens is dirty, timeoutSeconds: 20}
  - name: rear
- name: parts
  slices:
  - sharedCounters:
    - name: memory
      counters: {gb: {value: "8"}}
  - devices:
    - name: half
      consumesCounters: [{counterSet: memory, counters: {gb: {value: "4"}}}]
)";

TEST(DeviceFile, HasSlicesAsTheApiHasThemAndMore) {
  const auto file = ReadDeviceFile(kFile);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->driver, "cam.example.com");
  const WantedPools pools = PoolsOf(*file, "n1");
  ASSERT_THAT(pools, SizeIs(2));
  const WantedPool& own = pools.at("n1");
  ASSERT_THAT(own.slices, SizeIs(1));
  EXPECT_EQ(*own.slices[0].devices[0].attributes.Find("resolution")->string_value, "4k");
  ASSERT_THAT(pools.at("parts").slices, SizeIs(2));
  const DescribedDevice* front = FindDevice(*file, "n1", "n1", "front");
  ASSERT_NE(front, nullptr);
  EXPECT_THAT(front->cdi->env, ElementsAre("CAMERA=${device}"));
  EXPECT_EQ(FindDevice(*file, "n1", "parts", "front"), nullptr);
  const auto health = HealthOf(*file, "n1");
  ASSERT_THAT(health, SizeIs(3));
  EXPECT_EQ(health[0], (rpc::DeviceHealth{.pool = "n1",
                                          .device = "front",
                                          .health = rpc::Health::kUnhealthy,
                                          .timeout = std::chrono::seconds(20),
                                          .message = "lens is dirty"}));
  EXPECT_EQ(health[1].health, rpc::Health::kHealthy);
  // What is printed reads back.
  const auto again = ReadDeviceFile(ToYaml(*file));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(*again, *file);
}

// Seconds of 64 bits are more nanoseconds than 64 bits count.
TEST(DeviceFile, HealthCanBeBelievedForLongerThanAnybodyWaits) {
  const auto file = ReadDeviceFile(
      "driver: d.example.com\n"
      "pools: [{devices: [{name: a, health: {status: Healthy, timeoutSeconds: 13000000000}}]}]\n");
  ASSERT_THAT(file, IsOk());
  const auto health = HealthOf(*file, "n1");
  ASSERT_THAT(health, SizeIs(1));
  EXPECT_EQ(health[0].timeout, base::kLongestTime);
}

TEST(DeviceFile, EveryFaultIsToldWithItsPlace) {
  const auto fault = [](std::string_view text) {
    const auto file = ReadDeviceFile(text);
    return std::string(base::Message(file.status()));
  };
  EXPECT_THAT(fault("pools:\n- devices:\n  - name: a\n    color: red\n"),
              AllOf(HasSubstr("4:5"), HasSubstr("color")));
  EXPECT_THAT(fault("pools:\n- devices:\n  - name: a\n    cdi: {env: [X]}\n"),
              AllOf(HasSubstr("line 4"), HasSubstr("cdi.env")));
  EXPECT_THAT(fault("pools:\n- devices:\n  - name: a\n    cdi: {env: [\"X=${y}\"]}\n"),
              HasSubstr("${y} is unknown"));
  EXPECT_THAT(fault("pools:\n- devices:\n  - name: a\n    health: {status: Fine}\n"),
              HasSubstr("not \"Fine\""));
  EXPECT_THAT(fault("pools:\n- devices:\n  - name: a\n  - name: a\n"),
              HasSubstr("device \"a\" appears twice"));
  EXPECT_THAT(fault("pools:\n- devices:\n  - name: Not_A_Label\n"), HasSubstr("Not_A_Label"));
  EXPECT_THAT(fault("pools:\n- name: p\n- name: p\n"), HasSubstr("pool \"p\" appears twice"));
  EXPECT_THAT(fault("pools: 3\n"), HasSubstr("pools"));
  EXPECT_THAT(fault("a: [\n"), ::testing::Not(""));
  EXPECT_EQ(fault(""), "");
}

TEST(DescriptionSource, IsReadAgainWhenItChangesAndKeepsWhatIsGood) {
  const files::TemporaryFolder folder;
  const std::string path = folder / "devices.yaml";
  ASSERT_THAT(files::WriteWhole(path, "pools: [{devices: [{name: a}]}]\n"), IsOk());
  DescriptionSource source(FileReader(path));
  ASSERT_THAT(source.Read(), IsOk());
  auto next = source.ReadIfChanged();
  ASSERT_THAT(next, IsOk());
  EXPECT_FALSE(next->has_value());
  ASSERT_THAT(files::WriteWhole(path, "pools: [{devices: [{name: b}]}]\n"), IsOk());
  next = source.ReadIfChanged();
  ASSERT_THAT(next, IsOk());
  ASSERT_TRUE(next->has_value());
  EXPECT_EQ((*next)->pools[0].devices[0].device.name, "b");
  ASSERT_THAT(files::WriteWhole(path, "pools: ["), IsOk());
  EXPECT_THAT(source.ReadIfChanged(), StatusIs(StatusCode::kInvalidArgument, HasSubstr(path)));
  next = source.ReadIfChanged();  // said once
  ASSERT_THAT(next, IsOk());
  EXPECT_FALSE(next->has_value());
}

}  // namespace
}  // namespace dray::driver
