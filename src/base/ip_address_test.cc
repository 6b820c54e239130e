// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace dray::base {
namespace {

struct IpCase {
  std::string text;
  IpFault strict = IpFault::kNone;
  std::string at = {};
  std::string lenient = {};  // canonical, or empty when that refuses it too
  friend void PrintTo(const IpCase& c, std::ostream* os) { *os << '"' << c.text << '"'; }
};
class IpReadingTest : public ::testing::TestWithParam<IpCase> {};

TEST_P(IpReadingTest, SaysWhatIsWrongAndWhere) {
  const IpReading reading = ReadIp(GetParam().text, {.zones = true});
  EXPECT_EQ(reading.fault, GetParam().strict);
  EXPECT_EQ(reading.at, GetParam().at);
  const auto lenient = ParseIp(GetParam().text);
  EXPECT_EQ(lenient ? lenient->ToString() : "", GetParam().lenient);
}

using enum IpFault;

INSTANTIATE_TEST_SUITE_P(Addresses, IpReadingTest,
                         ::testing::ValuesIn(std::vector<IpCase>{
                             {"1.2.3.4", kNone, "", "1.2.3.4"},
                             {"255.255.255.255", kNone, "", "255.255.255.255"},
                             {"::", kNone, "", "::"},
                             {"1::", kNone, "", "1::"},
                             {"2001:DB8::ffff", kNone, "", "2001:db8::ffff"},
                             {"1:2:3:4:5:6:7:8", kNone, "", "1:2:3:4:5:6:7:8"},
                             {"0:0::1", kNone, "", "::1"},
                             {"::ffff:1.2.3.4", kNone, "", "1.2.3.4"},
                             {"::1.2.3.4", kNone, "", "::102:304"},
                             // A zone is not part of an address where it cannot be used.
                             {"fe80::1%eth0", kNone},
                             {"fe80::1%", kEmptyZone},
                             {"%eth0", kOnlyZone},
                             {"", kNotAnAddress},
                             {"1", kNotAnAddress},
                             {"1.2.3", kTooFewOctets},
                             {"1.2.3.4.5", kTooManyOctets},
                             {"1.2.3.256", kOctetTooLarge},
                             {"1..3.4", kEmptyOctet, ".3.4"},
                             {"1.2.3.", kEmptyOctet, "."},
                             {"1.2.3.x", kCharacter, "x"},
                             {"1.2.3.4/8", kCharacter, "/8"},
                             // Zeros in front are decimal to Kubernetes's older validation.
                             {"01.2.3.4", kLeadingZero, "", "1.2.3.4"},
                             {"1.2.3.00", kLeadingZero, "", "1.2.3.0"},
                             {"::00001", kGroupTooLong, "00001", "::1"},
                             {"::12345", kGroupTooLong, "12345"},
                             {":1", kEmptyGroup, ":1"},
                             {":::", kEmptyGroup, ":"},
                             {"1:", kEndsWithColon, ":"},
                             {"1:2:3:4:5:6:7", kTooShort},
                             {"1:2:3:4:5:6:7:8:9", kTrailing, "9"},
                             {"1::2::3", kSecondGap, ":3"},
                             {"1:2:3:4::5:6:7:8", kGapOfNothing},
                             {"1::2 ", kNoColon, " "},
                             {"1:2:1.2.3.4", kV4TooEarly, "1.2.3.4"},
                             {"1::2:3:4:5:6:7:1.2.3.4", kV4TooLate, "1.2.3.4"},
                         }));

}  // namespace
}  // namespace dray::base
