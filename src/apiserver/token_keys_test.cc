// SPDX-License-Identifier: Apache-2.0
//
// Tokens that somebody has tampered with.
#include "apiserver/token_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apiserver/certificates.h"
#include "testing/status_matchers.h"

namespace dray::apiserver {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::Not;

const std::string kClaims = R"({"sub":"system:serviceaccount:a:b"})";

TokenKeys NewKeys() {
  const auto pair = MakeAuthority("x", base::Time::FromUnix(1'800'000'000), std::chrono::hours(1));
  return *TokenKeys::FromPem({pair->key});
}

std::vector<std::string> Parts(const std::string& token) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  return {token.substr(0, first), token.substr(first + 1, second - first - 1),
          token.substr(second + 1)};
}
std::string Joined(const std::vector<std::string>& parts) {
  return parts[0] + "." + parts[1] + "." + parts[2];
}

TEST(TokenKeys, WhatWasSignedIsBelieved) {
  const TokenKeys keys = NewKeys();
  const auto token = keys.Sign(kClaims);
  ASSERT_THAT(token, IsOk());
  EXPECT_THAT(keys.Verify(*token), IsOkAndHolds(kClaims));
  EXPECT_THAT(keys.Jwks(), HasSubstr(R"("kty":"EC")"));
}

TEST(TokenKeys, AnotherKeysTokenIsNot) {
  const auto token = NewKeys().Sign(kClaims);
  EXPECT_THAT(NewKeys().Verify(*token), Not(IsOk()));
}

TEST(TokenKeys, NoByteCanBeChanged) {
  const TokenKeys keys = NewKeys();
  const std::string token = *keys.Sign(kClaims);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_THAT(keys.Verify(other), Not(IsOk())) << i;
  }
}

TEST(TokenKeys, TheAlgorithmIsOurs) {
  const TokenKeys keys = NewKeys();
  const std::vector<std::string> parts = Parts(*keys.Sign(kClaims));
  for (const std::string header :
       {R"({"alg":"none"})", R"({"alg":"None"})", R"({"alg":"HS256"})", R"({"alg":"RS256"})",
        R"({"alg":""})", R"({"typ":"JWT"})", R"({"alg":["ES256"]})",
        R"({"alg":"none","alg":"ES256"})", R"({"alg":"ES256","crit":["exp"]})", R"(["ES256"])",
        R"("ES256")", "", "{"}) {
    EXPECT_THAT(keys.Verify(Joined({Base64Url(header), parts[1], parts[2]})), Not(IsOk()))
        << header;
    EXPECT_THAT(keys.Verify(Joined({Base64Url(header), parts[1], ""})), Not(IsOk())) << header;
  }
}

TEST(TokenKeys, SignaturesThatAreNone) {
  const TokenKeys keys = NewKeys();
  const std::vector<std::string> parts = Parts(*keys.Sign(kClaims));
  std::string signature;
  ASSERT_TRUE(ReadBase64Url(parts[2], signature));
  for (const std::string& bad :
       {std::string(), std::string(64, '\0'), std::string(64, '\xff'), signature.substr(0, 63),
        signature + "x", signature.substr(32) + signature.substr(0, 32),
        std::string(32, '\0') + signature.substr(32)}) {
    EXPECT_THAT(keys.Verify(Joined({parts[0], parts[1], Base64Url(bad)})), Not(IsOk()));
  }
}

TEST(TokenKeys, ATokenHasOneText) {
  const TokenKeys keys = NewKeys();
  const std::string token = *keys.Sign(kClaims);
  for (const std::string& other :
       {token + "=", token + ".", "." + token, token + ".x", " " + token, token + " ", token + "\n",
        std::string("a.b"), std::string("..."), std::string(".."), std::string()}) {
    EXPECT_THAT(keys.Verify(other), Not(IsOk())) << other;
  }
  std::string bytes;
  EXPECT_TRUE(ReadBase64Url("QQ", bytes));
  EXPECT_FALSE(ReadBase64Url("QR", bytes)) << "bits that nobody reads";
  EXPECT_FALSE(ReadBase64Url("Q", bytes));
  EXPECT_FALSE(ReadBase64Url("Q+", bytes));
}

TEST(TokenKeys, WhatIsTooLongIsNotLookedAt) {
  const TokenKeys keys = NewKeys();
  const auto token = keys.Sign(R"({"x":")" + std::string(kMaxTokenBytes, 'a') + R"("})");
  ASSERT_THAT(token, IsOk());
  EXPECT_THAT(keys.Verify(*token), Not(IsOk()));
}

TEST(TokenKeys, TheKeyOfAFolderStaysAndIsItsOwnersAlone) {
  const std::string folder = ::testing::TempDir() + "/token_keys_test";
  std::filesystem::remove_all(folder);
  const auto first = TokenKeys::Ensure(folder);
  ASSERT_THAT(first, IsOk());
  const std::string token = *first->Sign(kClaims);
  EXPECT_THAT(TokenKeys::Ensure(folder)->Verify(token), IsOk());
  struct stat info = {};
  ASSERT_EQ(::stat((folder + "/pki/sa.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::chmod((folder + "/pki/sa.key").c_str(), 0644), 0);
  EXPECT_THAT(TokenKeys::Ensure(folder), Not(IsOk())) << "others can read it";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dray::apiserver
