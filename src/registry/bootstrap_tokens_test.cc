// SPDX-License-Identifier: Apache-2.0
#include "registry/bootstrap_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

const std::string kSecrets = "/api/v1/namespaces/kube-system/secrets";
constexpr std::string_view kToken = "abcdef.0123456789abcdef";

class BootstrapTokenTest : public ::testing::Test {
 protected:
  void Store(std::string_view more = {}, std::string_view type = "bootstrap.kubernetes.io/token",
             std::string_view usage = "true") {
    const Answer made = world_.Post(
        kSecrets,
        fmt::format(R"({{"metadata":{{"name":"bootstrap-token-abcdef"}},"type":"{}",)"
                    R"("stringData":{{"token-id":"abcdef","token-secret":"0123456789abcdef",)"
                    R"("usage-bootstrap-authentication":"{}"{}}}}})",
                    type, usage, more));
    ASSERT_EQ(made.status, 201) << made.text;
  }

  World world_;
  BootstrapTokens tokens_{world_.registry().objects(), world_.clock()};
};

TEST_F(BootstrapTokenTest, IsWhoeverItsSecretSays) {
  EXPECT_FALSE(tokens_.Read(kToken));
  Store(R"(,"auth-extra-groups":"system:bootstrappers:a,system:bootstrappers:b")");
  const auto user = tokens_.Read(kToken);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "system:bootstrap:abcdef");
  EXPECT_THAT(user->groups, ElementsAre("system:bootstrappers", "system:bootstrappers:a",
                                        "system:bootstrappers:b", "system:authenticated"));
  EXPECT_FALSE(tokens_.Read("abcdef.0123456789abcdeg"));
  EXPECT_FALSE(tokens_.Read("abcdef0123456789abcdef."));
  EXPECT_FALSE(tokens_.Read("ABCDEF.0123456789abcdef"));
  EXPECT_FALSE(tokens_.Read("abcdef"));
}

TEST_F(BootstrapTokenTest, EndsWhenItSaysSo) {
  Store(R"(,"expiration":"2027-01-15T09:00:00Z")");
  EXPECT_TRUE(tokens_.Read(kToken));
  world_.clock().Advance(59min);
  EXPECT_TRUE(tokens_.Read(kToken));
  world_.clock().Advance(1min);
  EXPECT_FALSE(tokens_.Read(kToken));
}

TEST_F(BootstrapTokenTest, AnOrdinarySecretIsNone) {
  Store("", "Opaque");
  EXPECT_FALSE(tokens_.Read(kToken));
}

TEST_F(BootstrapTokenTest, OneForOtherUsesIsNone) {
  Store("", "bootstrap.kubernetes.io/token", "false");
  EXPECT_FALSE(tokens_.Read(kToken));
}

TEST_F(BootstrapTokenTest, GivesNoGroupsOfOthers) {
  Store(R"(,"auth-extra-groups":"system:masters")");
  EXPECT_FALSE(tokens_.Read(kToken));
}

}  // namespace
}  // namespace dray::registry
