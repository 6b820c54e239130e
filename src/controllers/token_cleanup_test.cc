// SPDX-License-Identifier: Apache-2.0
#include "controllers/token_cleanup.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/config_map.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using namespace std::chrono_literals;

class TokenCleanupTest : public ::testing::Test {
 protected:
  api::Secret Token(std::string_view name, std::string_view end) {
    api::Secret secret;
    secret.metadata.namespace_ = "kube-system";
    secret.metadata.name = name;
    secret.type = "bootstrap.kubernetes.io/token";
    secret.data["token-id"].data = "abcdef";
    if (!end.empty()) secret.data["expiration"].data = end;
    return secret;
  }
  std::string In(std::chrono::seconds time) { return (scene_.clock().Now() + time).ToRfc3339(); }
  bool Has(std::string_view name, std::string_view space = "kube-system") {
    return scene_.Has<api::Secret>(name, space);
  }

  Scene scene_;
  TokenCleanup controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(TokenCleanupTest, ATokenGoesWhenItsTimeIsOver) {
  scene_.Add(Token("soon", In(10min)));
  scene_.Add(Token("over", In(-1s)));
  scene_.Add(Token("for-ever", ""));
  scene_.Add(Token("unreadable", "tomorrow"));
  controller_.Sync();
  EXPECT_FALSE(Has("over"));
  EXPECT_TRUE(Has("soon"));
  scene_.clock().Advance(599s);
  EXPECT_EQ(controller_.Sync(), 0u);
  scene_.clock().Advance(1s);
  controller_.Sync();
  EXPECT_FALSE(Has("soon"));
  EXPECT_TRUE(Has("for-ever"));
  EXPECT_TRUE(Has("unreadable"));
}

// An end that means none is looked at once, not over and over.
TEST_F(TokenCleanupTest, OneThatEndsInThousandsOfYearsIsLeftAlone) {
  scene_.clock().Advance(1h);
  scene_.Add(Token("far", "9999-12-31T23:59:59Z"));
  EXPECT_EQ(controller_.Sync(), 0u);
  EXPECT_TRUE(Has("far"));
  ASSERT_TRUE(controller_.NextDue().has_value());
  EXPECT_GT(*controller_.NextDue() - scene_.clock().Monotonic(), 24h * 365);
}

TEST_F(TokenCleanupTest, OneThatIsGivenMoreTimeStays) {
  scene_.Add(Token("longer", In(1min)));
  controller_.Sync();
  auto longer = scene_.Get<api::Secret>("longer", "kube-system");
  longer.data["expiration"].data = In(1h);
  scene_.Put(longer);
  scene_.clock().Advance(2min);
  controller_.Sync();
  EXPECT_TRUE(Has("longer"));
  // And one that is given less goes sooner.
  longer = scene_.Get<api::Secret>("longer", "kube-system");
  longer.data["expiration"].data = In(1s);
  scene_.Put(longer);
  controller_.Sync();
  scene_.clock().Advance(2s);
  controller_.Sync();
  EXPECT_FALSE(Has("longer"));
}

TEST_F(TokenCleanupTest, OtherSecretsAreNobodysTokens) {
  api::Secret elsewhere = Token("elsewhere", In(-1s));
  elsewhere.metadata.namespace_ = "ns";
  scene_.Add(elsewhere);
  api::Secret plain = Token("plain", In(-1s));
  plain.type = "Opaque";
  scene_.Add(plain);
  controller_.Sync();
  EXPECT_TRUE(Has("elsewhere", "ns"));
  EXPECT_TRUE(Has("plain"));
}

// What could not be deleted is tried again.
TEST_F(TokenCleanupTest, AServerThatIsAwayChangesNothingInTheEnd) {
  scene_.Add(Token("over", In(-1s)));
  int refused = 3;
  scene_.cluster().SetWriteHook([&](api::Verb, const api::Object&) {
    return refused-- > 0 ? base::MakeStatus(StatusCode::kUnavailable, "away") : Status();
  });
  for (int i = 0; i < 10; ++i) {
    controller_.Sync();
    scene_.clock().Advance(1min);
  }
  EXPECT_FALSE(Has("over"));
}

}  // namespace
}  // namespace dray::controllers
