// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/recorded_cases.h"
#include "testing/status_matchers.h"

namespace dray::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const base::Time kNow = base::Time::FromUnix(1'800'000'000, 123'456'789);
const Moment kMoment = {kNow, 1000s};

rpc::DeviceHealth Healthy(const std::string& device) {
  return {.pool = "p", .device = device, .health = rpc::Health::kHealthy};
}

TEST(HealthBook, AMessageMayTellOfSomeDevices) {
  HealthBook book;
  EXPECT_THAT(book.Report("x", 1, {Healthy("a"), Healthy("b"), Healthy("a")}, kMoment).devices,
              ElementsAre(DeviceName{"x", "p", "a"}, DeviceName{"x", "p", "b"}));
  const Moment later = {kNow + 20s, 1020s};
  EXPECT_THAT(book.Report("x", 1, {Healthy("a")}, later).devices, IsEmpty());
  EXPECT_EQ(book.HealthOf({"x", "p", "b"}, 1029s).health, rpc::Health::kHealthy);
  EXPECT_EQ(book.HealthOf({"x", "p", "b"}, 1030s).health, rpc::Health::kUnknown);
  EXPECT_EQ(book.HealthOf({"x", "p", "a"}, 1030s).health, rpc::Health::kHealthy);
  EXPECT_EQ(book.NextEnd(), 1030s);
  EXPECT_THAT(book.Expire(1030s).devices, ElementsAre(DeviceName{"x", "p", "b"}));
  EXPECT_EQ(book.NextEnd(), 1050s);
}

// A clock that is set changes nothing.
TEST(HealthBook, LastsAsLongAsItShouldWhateverTheClockOnTheWallSays) {
  HealthBook book;
  book.Report("x", 1, {Healthy("a")}, kMoment);
  const Moment jumped = {kNow + std::chrono::hours(24), 1001s};
  EXPECT_THAT(book.Report("x", 1, {Healthy("b")}, jumped).devices, SizeIs(1));
  EXPECT_EQ(book.HealthOf({"x", "p", "a"}, 1029s).health, rpc::Health::kHealthy);
  // In the file it is a day ahead; after a restart it holds no longer than it was meant to.
  HealthBook next;
  next.Restore(*DecodeHealth(EncodeHealth(book.drivers())), {kNow, 5s});
  EXPECT_EQ(next.HealthOf({"x", "p", "b"}, 34s).health, rpc::Health::kHealthy);
  EXPECT_EQ(next.HealthOf({"x", "p", "b"}, 35s).health, rpc::Health::kUnknown);
}

TEST(HealthBook, WhatAnEarlierLifeKnewEndsWithTheFirstStream) {
  HealthBook book;
  book.Report("x", 1, {Healthy("a"), Healthy("b")}, kMoment);
  HealthBook next;
  next.Restore(*DecodeHealth(EncodeHealth(book.drivers())), {kNow + 1s, 7s});
  EXPECT_EQ(next.HealthOf({"x", "p", "a"}, 7s).health, rpc::Health::kHealthy);
  next.Report("x", 1, {Healthy("a")}, {kNow + 2s, 8s});
  EXPECT_THAT(next.Forget("x", 2).devices, ElementsAre(DeviceName{"x", "p", "b"}));
  EXPECT_THAT(next.Forget("x", 1).devices, ElementsAre(DeviceName{"x", "p", "a"}));
  EXPECT_THAT(next.drivers(), IsEmpty());
}

TEST(HealthBook, UnknownDevicesAreNoNews) {
  HealthBook book;
  EXPECT_THAT(book.Report("x", 1, {{.pool = "p", .device = "a"}}, kMoment).devices, IsEmpty());
  EXPECT_THAT(book.Forget("x", 1).devices, IsEmpty());
}

TEST(ShortenHealthMessage, CutsBetweenCharacters) {
  EXPECT_EQ(ShortenHealthMessage(std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(ShortenHealthMessage(std::string(1025, 'x')), std::string(1021, 'x') + "...");
  std::string umlauts;
  for (int i = 0; i < 600; ++i) umlauts += "ü";
  const std::string cut = ShortenHealthMessage(umlauts);
  EXPECT_EQ(cut, umlauts.substr(0, 1020) + "...");
}

TEST(HealthState, IsReadAsAKubeletWritesIt) {
  const auto folder = testing::SharedFolder("transcripts/node");
  if (!folder) GTEST_SKIP() << "no recorded state files here";
  const auto drivers = DecodeHealth(testing::ReadFile(*folder / "dra_health_state"));
  ASSERT_THAT(drivers, IsOk());
  ASSERT_TRUE(drivers->contains("py.example.com"));
  const auto& devices = drivers->at("py.example.com");
  EXPECT_THAT(devices, SizeIs(4));
  const KnownHealth& first = devices.at({"py", "d0"});
  EXPECT_EQ(first.health, rpc::Health::kHealthy);
  EXPECT_EQ(first.timeout, 30s);
  EXPECT_EQ(first.reported.nanos(), 743870426);
}

TEST(HealthState, IsWrittenAsAKubeletWritesIt) {
  HealthBook book;
  book.Report("x", 1,
              {{.pool = "p",
                .device = "d",
                .health = rpc::Health::kUnhealthy,
                .timeout = 7s,
                .message = "hot"}},
              {base::Time::FromUnix(1'800'000'000, 120'000'000), 0s});
  EXPECT_EQ(EncodeHealth(book.drivers()),
            R"({"x":{"Devices":{"p/d":{"PoolName":"p","DeviceName":"d","Health":"Unhealthy",)"
            R"("LastUpdated":"2027-01-15T08:00:00.12Z","HealthCheckTimeout":7000000000,)"
            R"("Message":"hot"}}}})");
  EXPECT_THAT(DecodeHealth(R"({"x":{"Devices":{"p/d":{"Health":"odd"}}},"y":{"Devices":null}})"),
              IsOkAndHolds(IsEmpty()));
  EXPECT_FALSE(DecodeHealth("[1]").ok());
}

}  // namespace
}  // namespace dray::node
