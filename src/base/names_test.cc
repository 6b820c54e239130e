// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace dray::base {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Times(std::size_t n, char c) { return std::string(n, c); }

struct FormCase {
  std::string name;
  bool (*is)(std::string_view);
  Reasons (*check)(std::string_view);
  std::vector<std::string> good;
  std::vector<std::string> bad;
  friend void PrintTo(const FormCase& c, std::ostream* os) { *os << c.name; }
};

class NameFormTest : public ::testing::TestWithParam<FormCase> {};

TEST_P(NameFormTest, AcceptsGoodOnes) {
  for (const std::string& s : GetParam().good) {
    EXPECT_TRUE(GetParam().is(s)) << s;
    EXPECT_THAT(GetParam().check(s), IsEmpty()) << s;
  }
}

TEST_P(NameFormTest, RefusesBadOnesWithAReason) {
  for (const std::string& s : GetParam().bad) {
    EXPECT_FALSE(GetParam().is(s)) << s;
    EXPECT_FALSE(GetParam().check(s).empty()) << s;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Api, NameFormTest,
    ::testing::ValuesIn(std::vector<FormCase>{
        {"dns_label",
         IsDnsLabel,
         CheckDnsLabel,
         {"a", "0", "a-b", "a--b", "1-2", Times(63, 'a')},
         {"", "-", "-a", "a-", "A", "a.b", "a_b", "a b", "ä", Times(64, 'a'),
          std::string("a\0b", 3), "a\n"}},
        // The parts have no limit of their own.
        {"dns_subdomain",
         IsDnsSubdomain,
         CheckDnsSubdomain,
         {"a", "a.b", "0.1", "a-b.c-d", Times(253, 'a'), Times(100, 'a') + "." + Times(100, 'b')},
         {"", ".", "a.", ".a", "a..b", "a.-b", "a-.b", "A.b", "a/b", Times(254, 'a')}},
        {"dns_subdomain_caseless",
         IsDnsSubdomainCaseless,
         CheckDnsSubdomainCaseless,
         {"a", "Gpu.Example.COM", "X"},
         {"", "A.", "a_B", Times(254, 'A')}},
        {"dns_1035_label",
         IsDns1035Label,
         CheckDns1035Label,
         {"a", "a1", "a-1", Times(63, 'a')},
         {"", "1a", "-a", "a-", "A", "a.b", Times(64, 'a')}},
        {"c_identifier",
         IsCIdentifier,
         CheckCIdentifier,
         {"a", "_", "_1", "aB_9", Times(1000, 'x')},
         {"", "1a", "a-b", "a.b", "é"}},
        {"qualified_name",
         IsQualifiedName,
         CheckQualifiedName,
         {"a", "A", "1-num.2-num", "a_b.C-d", "example.com/Name", "0/0", Times(63, 'a'),
          Times(253, 'a') + "/" + Times(63, 'b')},
         {"", "/", "a/", "/a", "a/b/c", "-a", "a-", "_a", "a.", "A.com/b", Times(64, 'a'),
          Times(254, 'a') + "/b"}},
        {"label_key", IsLabelKey, CheckLabelKey, {"app", "k8s.io/app"}, {"", "a b"}},
        {"label_value",
         IsLabelValue,
         CheckLabelValue,
         {"", "a", "A_b-c.9", Times(63, '9')},
         {"-", "a-", ".a", "a/b", " ", Times(64, '9')}},
        {"path_segment",
         IsPathSegmentName,
         CheckPathSegmentName,
         {"", "a", "...", "a..", "system:node", "a b"},
         {".", "..", "a/b", "a%b", "/%"}},
        {"interface_address",
         IsInterfaceAddress,
         CheckInterfaceAddress,
         {"10.9.8.7/24", "10.9.8.0/24", "2001:db8::1/64", "::1/128", "1.2.3.4/0"},
         {"", "10.9.8.7", "10.9.8.7/33", "010.9.8.7/24", "10.9.8.7/024", "2001:db8:0::1/64",
          "::ffff:1.2.3.4/120", "::ffff:1.2.3.4/64", "FE80::1/64"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(NameReasons, ALabelWithDotsIsToldSo) {
  EXPECT_THAT(CheckDnsLabel("a.b"), ElementsAre("must not contain dots"));
}

TEST(NameReasons, EveryFaultHasItsReason) {
  EXPECT_THAT(CheckDnsLabel(Times(64, 'A')),
              ElementsAre("must be no more than 63 bytes", HasSubstr("lower case")));
  EXPECT_THAT(CheckQualifiedName("/"),
              ElementsAre("prefix part must not be empty", "name part must not be empty",
                          HasSubstr("name part must be letters")));
  EXPECT_THAT(CheckPathSegmentName("/%"),
              ElementsAre("must not contain '/'", "must not contain '%'"));
}

TEST(NameReasons, FaultsAreCodesForThoseWithWordsOfTheirOwn) {
  const NameFaults faults = FaultsOfQualifiedName("-/" + Times(64, 'a'));
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].what, NameFault::What::kSubdomainForm);
  EXPECT_EQ(faults[0].part, NameFault::Part::kPrefix);
  EXPECT_EQ(faults[1].what, NameFault::What::kTooLong);
  EXPECT_EQ(faults[1].part, NameFault::Part::kName);
  EXPECT_EQ(faults[1].limit, 63u);
}

TEST(NameReasons, AddressesAreToldTheirCanonicalForm) {
  EXPECT_THAT(CheckInterfaceAddress("::ffff:192.168.0.1/120"),
              ElementsAre("must be in canonical form (\"192.168.0.1/24\")"));
}

}  // namespace
}  // namespace dray::base
