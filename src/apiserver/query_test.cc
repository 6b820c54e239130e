// SPDX-License-Identifier: Apache-2.0
#include "apiserver/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dray::apiserver {
namespace {

TEST(Query, IsDecoded) {
  const Query query("labelSelector=a%3Db+c&watch=1&limit=5&empty=&watch=0");
  EXPECT_EQ(query.Get("labelSelector"), "a=b c");
  EXPECT_EQ(query.Get("watch"), "1");
  EXPECT_THAT(query.All("watch"), ::testing::ElementsAre("1", "0"));
  EXPECT_THAT(query.Names(),
              ::testing::ElementsAre("labelSelector", "watch", "limit", "empty", "watch"));
  EXPECT_FALSE(query.Has("missing"));
  EXPECT_TRUE(query.Has("empty"));
}

}  // namespace
}  // namespace dray::apiserver
