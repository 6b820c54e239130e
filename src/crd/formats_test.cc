// SPDX-License-Identifier: Apache-2.0
#include "crd/formats.h"

#include <gtest/gtest.h>

namespace dray::crd {
namespace {

struct FormatCase {
  std::string_view format;
  std::string_view yes;
  std::string_view no;
};

TEST(Formats, SayWhatHasThem) {
  const FormatCase cases[] = {
      {"date-time", "2026-11-16T13:00:00Z", "2026-11-16 13:00"},
      {"date-time", "2026-11-16T13:00:00.5+01:00", "2026-13-16T13:00:00Z"},
      {"date", "2024-02-29", "2023-02-29"},
      {"duration", "1h30m", "soon"},
      {"duration", "2 days", "2"},
      {"ipv4", "10.0.0.1", "10.0.0.256"},
      {"ipv6", "fe80::1", "10.0.0.1"},
      {"ipv6", "::ffff:10.0.0.1", "fe80::1::2"},
      {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
      {"cidr", "fd00::/64", "fd00::"},
      {"mac", "00:00:5e:00:53:01", "00:00:5e:00:53"},
      {"uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"},
      {"uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"},
      {"hostname", "node-1.example.com", "-a"},
      {"email", "a@example.com", "a.example.com"},
      {"email", "Somebody <a@example.com>", "a@"},
      {"uri", "https://example.com/a", "example.com/a"},
      {"uri", "/a/b", "http://a b.com/"},
      {"byte", "YWI=", "YWI"},
      {"hexcolor", "#fff", "#ff"},
      {"rgbcolor", "rgb(1,2,255)", "rgb(1,2,256)"},
      {"isbn10", "0321751043", "0321751044"},
      {"isbn13", "978-0321751041", "978-0321751042"},
      {"creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"},
      {"ssn", "111-22-3333", "111-2-3333"},
      {"bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77"},
      {"k8s-short-name", "a-b", "a.b"},
      {"k8s-long-name", "a.b", "A.b"},
  };
  for (const FormatCase& each : cases) {
    const std::string format = CheckedFormat(each.format);
    ASSERT_NE(format, "") << each.format;
    EXPECT_TRUE(HasFormat(format, each.yes)) << each.format << " " << each.yes;
    EXPECT_FALSE(HasFormat(format, each.no)) << each.format << " " << each.no;
  }
}

TEST(Formats, OthersAreWordsForReaders) {
  EXPECT_EQ(CheckedFormat("something-else"), "");
  EXPECT_TRUE(HasFormat("something-else", "x"));
}

}  // namespace
}  // namespace dray::crd
