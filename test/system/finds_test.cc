// SPDX-License-Identifier: Apache-2.0
//
// Would the simulation find anything? Six faults, each put in where a rule of the house is broken.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "system/system.h"

namespace dray::system {
namespace {

// The first finding that says this, of so many seeds.
std::string FirstFinding(std::string_view profile, const Planted& planted, std::string_view says,
                         std::uint64_t seeds) {
  const Profile* const kind = FindProfile(profile);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunReport report = Simulate({.seed = seed, .profile = kind, .planted = planted});
    for (const std::string& finding : report.findings) {
      if (finding.find(says) != std::string::npos) return fmt::format("seed {}: {}", seed, finding);
    }
  }
  return "";
}

TEST(SystemFinds, DoubleAllocation) {
  const char* const says = "is given twice";
  EXPECT_NE(FirstFinding("lost answers", {.unknown_is_failure = true}, says, 30), "");
  EXPECT_EQ(FirstFinding("lost answers", {}, says, 10), "");
}

TEST(SystemFinds, TwoLeaders) {
  const char* const says = "while the leader was";
  EXPECT_NE(FirstFinding("leases", {.leads_while_waiting = true}, says, 20), "");
  EXPECT_EQ(FirstFinding("leases", {}, says, 10), "");
}

TEST(SystemFinds, AbsentMeansDelete) {
  const char* const says = "though it cannot be read";
  EXPECT_NE(FirstFinding("versions", {.unreadable_is_absent = true}, says, 30), "");
  EXPECT_EQ(FirstFinding("versions", {}, says, 10), "");
}

// Here and at the other end of a wire.
TEST(SystemFinds, ToldWhatIsNotTrue) {
  const char* const says = "it is told";
  for (const char* const profile : {"calm", "remote"}) {
    EXPECT_NE(FirstFinding(profile, {.misses_news = true}, says, 30), "") << profile;
    EXPECT_EQ(FirstFinding(profile, {}, says, 5), "") << profile;
  }
}

// Deleted between its reservation and the end of its attempt, and what would have noticed is killed.
TEST(SystemFinds, DevicesOfNobody) {
  const char* const says = "has devices for nobody";
  EXPECT_NE(FirstFinding("crashes", {.keeps_devices = true}, says, 60), "");
  EXPECT_EQ(FirstFinding("crashes", {}, says, 10), "");
}

TEST(SystemFinds, QuotaRace) {
  const char* const says = "quota allows";
  EXPECT_NE(FirstFinding("calm", {.quota_unchecked = true}, says, 30), "");
  EXPECT_EQ(FirstFinding("calm", {}, says, 10), "");
}

}  // namespace
}  // namespace dray::system
