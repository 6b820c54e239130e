// SPDX-License-Identifier: Apache-2.0
#include "base/percent.h"

#include <gtest/gtest.h>

namespace dray::base {
namespace {

TEST(PercentDecoded, LeavesBadEscapesAlone) {
  EXPECT_EQ(PercentDecoded("%41%4", false), "A%4");
  EXPECT_EQ(PercentDecoded("%zz%", false), "%zz%");
  EXPECT_EQ(PercentDecoded("%61%62", false), "ab");
}

TEST(PercentDecoded, APlusIsASpaceInQueriesOnly) {
  EXPECT_EQ(PercentDecoded("a+b%2B", false), "a+b+");
  EXPECT_EQ(PercentDecoded("a+b%2B", true), "a b+");
}

TEST(PercentEncoded, EveryByteComesBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecoded(PercentEncoded(all)), all);
  EXPECT_EQ(PercentEncoded("aZ9-._~/ %\xff"), "aZ9-._~%2F%20%25%FF");
  EXPECT_EQ(PercentEncoded("/a b", "/"), "/a%20b");
}

}  // namespace
}  // namespace dray::base
