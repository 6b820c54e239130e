// SPDX-License-Identifier: Apache-2.0
#include "base/semver.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dray::base {
namespace {

SemVer V(std::string_view text) {
  StatusOr<SemVer> version = SemVer::Parse(text);
  EXPECT_TRUE(version.ok()) << text << ": " << version.status();
  return version.value_or(SemVer());
}

TEST(SemVer, TakesAVersionApartAndPutsItTogether) {
  const SemVer version = V("1.2.3-rc.1+build.007");
  EXPECT_EQ(version.major(), 1u);
  EXPECT_EQ(version.minor(), 2u);
  EXPECT_EQ(version.patch(), 3u);
  EXPECT_EQ(version.prerelease(), "rc.1");
  EXPECT_EQ(version.build(), "build.007");
  EXPECT_EQ(version.ToString(), "1.2.3-rc.1+build.007");
  EXPECT_EQ(SemVer(4, 5, 6).ToString(), "4.5.6");
}

TEST(SemVer, AcceptsWhatTheSpecificationAccepts) {
  for (const char* text :
       {"0.0.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0-x.7.z.92", "1.0.0--",
        "1.0.0-x-y-z.-", "1.0.0-0a", "1.0.0-00a", "1.0.0+001", "1.0.0+-", "1.0.0-a+b-c",
        "1.0.0+a-b", "1.0.0--1", "18446744073709551615.0.0"}) {
    EXPECT_TRUE(SemVer::Parse(text).ok()) << text;
    EXPECT_TRUE(IsSemVer(text)) << text;
    EXPECT_EQ(V(text).ToString(), text);
  }
}

TEST(SemVer, RefusesWhatTheSpecificationRefuses) {
  for (const char* text :
       {"",         "1",          "1.2",      "1.2.3.4",    "v1.2.3",  "01.2.3",    "1.02.3",
        "1.2.03",   "1..3",       ".1.2",     "1.2.",       "1.2.3-",  "1.2.3+",    "1.2.3-+",
        "1.2.3-01", "1.2.3-a..b", "1.2.3-a.", "1.2.3+a..b", "1.2.3-ä", "1.2.3-a_b", "1.2.3+a+b",
        " 1.2.3",   "1.2.3 ",     "-1.2.3",   "1.2-a.3",    "1.2.x",   "1.2.3\n"}) {
    EXPECT_FALSE(SemVer::Parse(text).ok()) << text;
    EXPECT_FALSE(IsSemVer(text)) << text;
  }
}

TEST(SemVer, NumbersAboveSixtyFourBitsHaveTheFormButAreOutOfRange) {
  for (const char* text : {"18446744073709551616.0.0", "0.18446744073709551616.0",
                           "0.0.99999999999999999999", "1.0.0-18446744073709551616"}) {
    EXPECT_TRUE(IsSemVer(text)) << text;
    const StatusOr<SemVer> version = SemVer::Parse(text);
    EXPECT_EQ(version.status().code(), StatusCode::kOutOfRange) << text;
    EXPECT_NE(Message(version.status()).find("18446744073709551615"), std::string_view::npos);
  }
  for (const char* text :
       {"18446744073709551616.0.x", "18446744073709551616.0.0-", "1.0.0-18446744073709551616+ä"}) {
    EXPECT_EQ(SemVer::Parse(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(SemVer, IsOrderedByPrecedence) {
  // semver.org, item 11, with a few neighbours added.
  const std::vector<std::string> rising = {
      "0.9.9",      "1.0.0-0",      "1.0.0-2",       "1.0.0-11",        "1.0.0--",
      "1.0.0-A",    "1.0.0-alpha",  "1.0.0-alpha.1", "1.0.0-alpha.1.0", "1.0.0-alpha.beta",
      "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",      "1.0.0",
      "1.0.1-a",    "1.0.1",        "1.9.0",         "1.10.0",          "2.0.0"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(V(rising[i]) <=> V(rising[j]), i <=> j) << rising[i] << " and " << rising[j];
    }
  }
}

TEST(SemVer, BuildMetadataCountsOnlyForIdentity) {
  EXPECT_EQ(V("1.0.0+a"), V("1.0.0+b"));
  EXPECT_FALSE(V("1.0.0+a").IdenticalTo(V("1.0.0+b")));
  EXPECT_TRUE(V("1.0.0+a").IdenticalTo(V("1.0.0+a")));
  EXPECT_NE(V("1.0.0-a"), V("1.0.0"));
}

TEST(SemVerTolerant, NormalisesAsKubernetesDoes) {
  const std::vector<std::pair<std::string, std::string>> cases = {{"1.2.3", "1.2.3"},
                                                                  {"v1.2.3", "1.2.3"},
                                                                  {"1", "1.0.0"},
                                                                  {"v1.2", "1.2.0"},
                                                                  {"01.002.0003", "1.2.3"},
                                                                  {"00.0.000", "0.0.0"},
                                                                  {"1.2.03-rc.1+b", "1.2.3-rc.1+b"},
                                                                  {"1.2.0-rc", "1.2.0-rc"},
                                                                  {"1.2.00-rc", "1.2.0-rc"}};
  for (const auto& [text, want] : cases) {
    const StatusOr<SemVer> version = SemVer::ParseTolerant(text);
    ASSERT_TRUE(version.ok()) << text << ": " << version.status();
    EXPECT_EQ(version->ToString(), want);
  }
  for (const char* text : {"", "v", "vv1", "1.2-rc", "1+b", "1-2", " 1.2.3", "V1.2.3", "1.2.3-01",
                           "a", "1.2.3.4", "."}) {
    EXPECT_FALSE(SemVer::ParseTolerant(text).ok()) << text;
  }
}

}  // namespace
}  // namespace dray::base
