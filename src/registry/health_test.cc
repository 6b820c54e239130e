// SPDX-License-Identifier: Apache-2.0
#include "registry/health.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "logs/log.h"
#include "logs/output_for_test.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

Health Failing(bool& broken) {
  return Health(
      {{"ping", [] { return Status(); }},
       {"store", [&broken] { return broken ? base::Unavailable("disk gone") : Status(); }},
       {"scheduler", [] { return Status(); }, /*only_ready=*/true}});
}

TEST(HealthTest, SaysOkOrWhatIsFine) {
  bool broken = false;
  const Health health = Failing(broken);
  EXPECT_EQ(health.Answer("/readyz", Query())->text, "ok");
  EXPECT_EQ(health.Answer("/readyz", Query("verbose"))->text,
            "[+]ping ok\n[+]store ok\n[+]scheduler ok\nreadyz check passed\n");
  EXPECT_EQ(health.Answer("/livez", Query("verbose=true"))->text,
            "[+]ping ok\n[+]store ok\nlivez check passed\n");
}

TEST(HealthTest, AFailureIsToldWithoutItsReason) {
  bool broken = true;
  const Health health = Failing(broken);
  const auto answer = health.Answer("/livez", Query());
  EXPECT_EQ(answer->code, 500);
  EXPECT_EQ(answer->text, "[+]ping ok\n[-]store failed: reason withheld\nlivez check failed\n");
}

TEST(HealthTest, ChecksCanBeLeftOut) {
  bool broken = true;
  const Health health = Failing(broken);
  const auto answer = health.Answer("/healthz", Query("verbose&exclude=store&exclude=nothing"));
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->text,
            "[+]ping ok\n[+]store excluded: ok\n"
            "warn: some health checks cannot be excluded: no matches for \"nothing\"\n"
            "healthz check passed\n");
}

TEST(HealthTest, WhatARestartDoesNotCureIsForHealthzAlone) {
  const Health health({{"ping", [] { return Status(); }},
                       {.name = "stored-objects",
                        .check = [] { return base::Unavailable("one cannot be read"); },
                        .only_health = true}});
  EXPECT_EQ(health.Answer("/healthz", Query())->code, 500);
  EXPECT_EQ(health.Answer("/healthz/stored-objects", Query())->text,
            "internal server error: one cannot be read\n");
  EXPECT_EQ(health.Answer("/readyz", Query())->code, 200);
  EXPECT_EQ(health.Answer("/livez", Query())->code, 200);
}

TEST(HealthTest, WhoDoesNotAnswerIsNotReadyButAlive) {
  const Health health({{.name = "request-queues",
                        .check = [] { return base::Unavailable("stuck"); },
                        .only_ready = true,
                        .only_health = true}});
  EXPECT_EQ(health.Answer("/healthz", Query())->code, 500);
  EXPECT_EQ(health.Answer("/readyz", Query())->code, 500);
  EXPECT_EQ(health.Answer("/livez", Query())->code, 200);
}

// Whoever asks is not told; whoever reads the log is.
TEST(HealthTest, TheReasonOfAFailureIsInTheLog) {
  std::string text;
  const base::ManualClock clock(base::Time::FromUnix(1'800'000'000));
  {
    logs::Log log({}, clock, std::make_unique<logs::StringOutput>(text));
    const Health health({{"store", [] { return base::Unavailable("disk gone"); }}},
                        log.For("apiserver"));
    EXPECT_EQ(health.Answer("/readyz", Query())->code, 500);
  }
  EXPECT_EQ(text,
            "W0115 08:00:00.000000       0 apiserver] \"Health check failed\" "
            "endpoint=\"readyz\" check=\"store\" reason=\"disk gone\"\n");
}

TEST(HealthTest, EachCheckHasAPath) {
  bool broken = true;
  const Health health = Failing(broken);
  EXPECT_EQ(health.Answer("/livez/ping", Query())->text, "ok");
  EXPECT_EQ(health.Answer("/readyz/store", Query())->code, 500);
  EXPECT_EQ(health.Answer("/readyz/store", Query())->text, "internal server error: disk gone\n");
  EXPECT_EQ(health.Answer("/readyz/scheduler", Query())->code, 200);
  EXPECT_FALSE(health.Answer("/livez/scheduler", Query()));
  EXPECT_FALSE(health.Answer("/livez/other", Query()));
  EXPECT_FALSE(health.Answer("/livezzz", Query()));
  EXPECT_FALSE(health.Answer("/", Query()));
}

TEST(HealthTest, IsServedToAnybody) {
  World world;
  const Asking asking{.path = "/readyz?verbose", .user = apiserver::User()};
  const Answer answer = world.Ask(asking);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.text, "[+]ping ok\n[+]store ok\n[+]store-reachable ok\nreadyz check passed\n");
  EXPECT_EQ(world.Ask({.path = "/livez/ping", .user = apiserver::User()}).text, "ok");
  EXPECT_EQ(world.Ask({.path = "/livez/none", .user = apiserver::User()}).status, 404);
}

}  // namespace
}  // namespace dray::registry
