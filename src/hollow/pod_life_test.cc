// SPDX-License-Identifier: Apache-2.0
#include "hollow/pod_life.h"

#include <gtest/gtest.h>

#include <string>

namespace dray::hollow {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNow = 1'800'000'000;

api::Pod PodWith(std::string_view policy) {
  api::Pod pod;
  pod.metadata.uid = "2d2f7e5c-3b7e-4d0c-9a57-0d2f3c1b5a11";
  pod.spec.restart_policy = policy;
  pod.spec.node_name = "node-1";
  pod.spec.containers = {{.name = "a", .image = "example.com/a"}, {.name = "b"}};
  return pod;
}

struct RunTimeCase {
  std::string name;
  std::string_view policy;
  std::string annotation;
  std::optional<std::chrono::nanoseconds> want;
  friend void PrintTo(const RunTimeCase& c, std::ostream* os) { *os << c.name; }
};
class RunTimeTest : public ::testing::TestWithParam<RunTimeCase> {};

TEST_P(RunTimeTest, FollowsAnnotationAndRestartPolicy) {
  api::Pod pod = PodWith(GetParam().policy);
  if (!GetParam().annotation.empty()) {
    pod.metadata.annotations[kRunsForAnnotation] = GetParam().annotation;
  }
  EXPECT_EQ(RunTimeOf(pod), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Hollow, RunTimeTest,
    ::testing::ValuesIn(std::vector<RunTimeCase>{
        {.name = "always_runs_until_told", .policy = "Always"},
        {.name = "never_ends_after_a_moment", .policy = "Never", .want = kDefaultRunTime},
        {.name = "on_failure_ends_after_a_moment", .policy = "OnFailure", .want = kDefaultRunTime},
        {.name = "says_how_long", .policy = "Always", .annotation = "1m30s", .want = 90s},
        {.name = "nonsense_counts_as_absent", .policy = "Always", .annotation = "soon"},
        {.name = "negative_counts_as_absent", .policy = "Always", .annotation = "-1s"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(PodLife, AStartedPodIsReady) {
  api::Pod pod = PodWith("Always");
  Start(pod, base::Time::FromUnix(kNow, 5));
  EXPECT_TRUE(IsRunning(pod));
  EXPECT_EQ(pod.status.start_time, base::Time::FromUnix(kNow));
  EXPECT_TRUE(pod.status.pod_ip.starts_with("10."));
  ASSERT_EQ(pod.status.container_statuses.size(), 2u);
  EXPECT_TRUE(pod.status.container_statuses[0].ready);
  EXPECT_EQ(pod.status.container_statuses[0].image, "example.com/a");
  for (const api::PodCondition& condition : pod.status.conditions) {
    EXPECT_EQ(condition.status, "True") << condition.type;
  }
  EXPECT_EQ(EndOf(pod), std::nullopt);
}

TEST(PodLife, TheExitCodeDecidesHowItEnds) {
  api::Pod pod = PodWith("Never");
  Start(pod, base::Time::FromUnix(kNow));
  EXPECT_EQ(EndOf(pod), base::Time::FromUnix(kNow + 1));
  pod.metadata.annotations[kExitCodeAnnotation] = "3";
  EndOrRestart(pod, base::Time::FromUnix(kNow + 1));
  EXPECT_EQ(pod.status.phase, api::kPodFailed);
  const api::ContainerState& state = pod.status.container_statuses[1].state;
  ASSERT_TRUE(state.terminated);
  EXPECT_EQ(state.terminated->exit_code, 3);
  EXPECT_EQ(state.terminated->started_at, base::Time::FromUnix(kNow));
}

TEST(PodLife, ContainersThatAreToRunAlwaysStartAgain) {
  api::Pod pod = PodWith("Always");
  pod.metadata.annotations[kRunsForAnnotation] = "10s";
  Start(pod, base::Time::FromUnix(kNow));
  EndOrRestart(pod, base::Time::FromUnix(kNow + 10));
  EXPECT_TRUE(IsRunning(pod));
  EXPECT_EQ(pod.status.container_statuses[0].restart_count, 1);
  EXPECT_TRUE(pod.status.container_statuses[0].last_state.terminated);
  EXPECT_EQ(EndOf(pod), base::Time::FromUnix(kNow + 20));
}

}  // namespace
}  // namespace dray::hollow
