// SPDX-License-Identifier: Apache-2.0
#include "rest/paging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rest/api_error.h"

namespace dray::rest {
namespace {

using ::testing::StartsWith;

TEST(ContinueToken, IsReadAsItWasWritten) {
  const ContinueToken token{278, std::string("/c1\0", 4)};
  const auto read = ContinueToken::Parse(token.Encode());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, token);
  EXPECT_EQ(token.Encode(), "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mjc4LCJzdGFydCI6Ii9jMVx1MDAwMCJ9");
}

TEST(ContinueToken, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string("xyz"), std::string("!"), Base64Url("[]"), Base64Url(R"({"v":"x"})"),
        Base64Url(R"({"v":"meta.k8s.io/v1","rv":0,"start":"/a"})"),
        Base64Url(R"({"v":"meta.k8s.io/v1","rv":"a","start":"/a"})"),
        Base64Url(R"({"v":"meta.k8s.io/v1","rv":1})")}) {
    const auto token = ContinueToken::Parse(text);
    ASSERT_FALSE(token.ok()) << text;
    EXPECT_EQ(FromStatus(token.status()).code, 400);
    EXPECT_THAT(FromStatus(token.status()).message,
                StartsWith("invalid continue token: continue key is not valid: "));
  }
}

}  // namespace
}  // namespace dray::rest
