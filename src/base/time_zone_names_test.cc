// SPDX-License-Identifier: Apache-2.0
#include "base/time_zone_names.h"

#include <gtest/gtest.h>

#include <string>

namespace dray::base {
namespace {

TEST(TimeZoneNames, AreThoseOfIana) {
  for (const std::string name :
       {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "GMT0", "Etc/GMT+12", "EST5EDT",
        "Africa/Abidjan", "Zulu", "Asia/Kolkata"}) {
    EXPECT_TRUE(IsTimeZoneName(name)) << name;
  }
}

TEST(TimeZoneNames, FilesAreNone) {
  for (const std::string name :
       {"", " ", "Local", "local", "localtime", "europe/berlin", "Europe/Berlin ", "Europe",
        "Europe/", "/dev/stdin", "../../../dev/stdin", "file:/etc/passwd",
        "Europe/../Europe/Berlin", "/usr/share/zoneinfo/UTC", "UTC UTC", "tzdata.zi"}) {
    EXPECT_FALSE(IsTimeZoneName(name)) << name;
  }
}

}  // namespace
}  // namespace dray::base
