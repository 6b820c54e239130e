// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

StatusOr<LoadedConfig> Read(std::string_view body) {
  return ReadConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" +
      std::string(body));
}
LoadedConfig MustRead(std::string_view body) {
  auto loaded = Read(body);
  EXPECT_THAT(loaded, IsOk());
  return loaded.ok() ? *loaded : LoadedConfig();
}
Profile OnlyProfile(std::string_view body) { return MustRead(body).config.profiles.at(0); }

std::vector<std::pair<std::string, std::int64_t>> WeightsOf(const Profile& profile) {
  std::vector<std::pair<std::string, std::int64_t>> weights;
  for (const PluginWeight& weight : profile.score_weights) {
    weights.emplace_back(weight.name, weight.weight);
  }
  return weights;
}
MATCHER_P2(Weighs, name, weight, "") { return arg.first == name && arg.second == weight; }

TEST(Config, ParallelismIsRead) {
  EXPECT_EQ(MustRead("").config.parallelism, 0);
  EXPECT_EQ(MustRead("parallelism: 0").config.parallelism, 0);
  EXPECT_EQ(MustRead("parallelism: 4").config.parallelism, 4);
  EXPECT_THAT(MustRead("parallelism: 4").notes, IsEmpty());
  EXPECT_THAT(Read("parallelism: -1"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("parallelism: -1: must be 1 or more, or 0")));
}

TEST(Config, AnEmptyConfigurationHasTheDefaults) {
  const LoadedConfig loaded = MustRead("");
  EXPECT_THAT(loaded.notes, IsEmpty());
  EXPECT_EQ(loaded.config.initial_backoff, seconds(1));
  EXPECT_EQ(loaded.config.max_backoff, seconds(10));
  ASSERT_EQ(loaded.config.profiles.size(), 1U);
  const Profile& profile = loaded.config.profiles[0];
  EXPECT_EQ(profile.scheduler_name, "default-scheduler");
  EXPECT_THAT(profile.disabled, IsEmpty());
  EXPECT_THAT(profile.score_weights, IsEmpty());
  EXPECT_EQ(profile.dynamic_resources.filter_timeout, seconds(10));
  EXPECT_EQ(profile.dynamic_resources.binding_timeout, seconds(600));
}

TEST(Config, JsonIsReadToo) {
  const auto loaded = ReadConfig(
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
          "podMaxBackoffSeconds":30})");
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.max_backoff, seconds(30));
}

TEST(Config, EachProfileHasItsName) {
  const Config config = MustRead(R"(
profiles:
- schedulerName: a
- schedulerName: b
)")
                            .config;
  ASSERT_EQ(config.profiles.size(), 2U);
  EXPECT_EQ(config.profiles[0].scheduler_name, "a");
  EXPECT_EQ(config.profiles[1].scheduler_name, "b");
}

TEST(Config, LeaderElectionIsRead) {
  EXPECT_FALSE(MustRead("").leader_election);
  const LoadedConfig loaded = MustRead(R"(
leaderElection:
  leaderElect: false
  leaseDuration: 30s
  renewDeadline: 20s
  retryPeriod: 1500ms
  resourceLock: leases
  resourceName: dray-gpu
  resourceNamespace: gpu-system
)");
  EXPECT_THAT(loaded.notes, IsEmpty());
  ASSERT_TRUE(loaded.leader_election);
  const LeaderElectionConfig& election = *loaded.leader_election;
  EXPECT_EQ(election.leader_elect, false);
  EXPECT_EQ(election.lease_duration, seconds(30));
  EXPECT_EQ(election.renew_deadline, seconds(20));
  EXPECT_EQ(election.retry_period, std::chrono::milliseconds(1500));
  EXPECT_EQ(election.resource_name, "dray-gpu");
  EXPECT_EQ(election.resource_namespace, "gpu-system");
  EXPECT_THAT(
      Read("leaderElection: {leaseDuration: 0s, resourceLock: endpoints, "
           "resourceName: A b, resourceNamespace: a.b}"),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("leaderElection.leaseDuration: \"0s\": must be a duration"),
                     HasSubstr("leaderElection.resourceLock: \"endpoints\": must be leases"),
                     HasSubstr("leaderElection.resourceName: \"A b\""),
                     HasSubstr("leaderElection.resourceNamespace: \"a.b\""))));
}

TEST(Config, TheClientsConnectionIsRead) {
  EXPECT_FALSE(MustRead("").client_connection);
  const LoadedConfig loaded = MustRead(
      "clientConnection: {kubeconfig: /etc/k, qps: 12.5, burst: 40, contentType: "
      "application/vnd.kubernetes.protobuf}");
  ASSERT_TRUE(loaded.client_connection);
  EXPECT_EQ(loaded.client_connection->kubeconfig, "/etc/k");
  EXPECT_EQ(loaded.client_connection->qps, 12.5);
  EXPECT_EQ(loaded.client_connection->burst, 40);
  EXPECT_THAT(loaded.notes, ElementsAre(HasSubstr("clientConnection.contentType: does not apply")));
  EXPECT_THAT(Read("clientConnection: {burst: -1}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("clientConnection.burst: -1")));
}

TEST(Config, WhatIsShownIsReadAsTheSame) {
  constexpr std::string_view kText = R"(
parallelism: 3
podMaxBackoffSeconds: 20
leaderElection: {leaderElect: true, leaseDuration: 20s, resourceName: gpus}
clientConnection: {qps: 12.5, burst: 40}
profiles:
- schedulerName: a
  plugins:
    multiPoint: {disabled: [{name: NodePorts}]}
    score: {disabled: [{name: TaintToleration}], enabled: [{name: NodeAffinity, weight: 7}]}
  pluginConfig:
  - {name: DynamicResources, args: {bindingTimeout: 90s}}
  - name: NodeResourcesFit
    args:
      ignoredResources: [example.com/x]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}]}
- schedulerName: b
)";
  const std::string shown = ShowConfig(MustRead(kText));
  EXPECT_THAT(shown, AllOf(HasSubstr(R"("schedulerName":"a")"), HasSubstr(R"("qps":12.5)"),
                           HasSubstr(R"("bindingTimeout":"1m30s")")));
  const auto again = ReadConfig(shown);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(again->notes, IsEmpty());
  EXPECT_EQ(ShowConfig(*again), shown);
  EXPECT_EQ(again->config.profiles[0].dynamic_resources.binding_timeout, seconds(90));
  EXPECT_THAT(again->config.profiles[0].disabled, ElementsAre("NodePorts"));
  EXPECT_THAT(WeightsOf(again->config.profiles[0]),
              ElementsAre(Weighs("TaintToleration", 0), Weighs("NodeAffinity", 7)));
}

TEST(Config, AProfileCanHaveAPolicy) {
  const Profile profile = OnlyProfile(R"(
profiles:
- pluginConfig:
  - name: DynamicResources
    args: {policy: fragmentation}
  - name: DeviceFragmentation
    args: {sequences: 32, seed: 7, halfLife: 1000}
)");
  EXPECT_EQ(profile.policy, allocator::Policy::kFragmentation);
  EXPECT_EQ(profile.fragmentation.sequences, 32);
  EXPECT_EQ(profile.fragmentation.seed, 7);
  EXPECT_EQ(profile.fragmentation.half_life, 1000);
  EXPECT_THAT(
      Read("profiles: [{pluginConfig: [{name: DynamicResources, args: {policy: worst-fit}}]}]"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("args.policy: \"worst-fit\": must be first-fit or best-fit or "
                         "fragmentation")));
  EXPECT_THAT(
      Read("profiles: [{pluginConfig: [{name: DeviceFragmentation, args: {sequences: 0}}]}]"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("args.sequences: 0: must be from 1 to")));
}

TEST(Config, TypicalRequestsCanBeSaid) {
  constexpr std::string_view kText = R"(
profiles:
- pluginConfig:
  - name: DynamicResources
    args: {policy: fragmentation}
  - name: DeviceFragmentation
    args:
      requests:
      - weight: 3
        resources: {cpu: "4", memory: 8Gi}
        devices:
          requests:
          - name: gpu
            exactly: {deviceClassName: gpu}
      - resources: {cpu: 500m}
)";
  const Profile profile = OnlyProfile(kText);
  ASSERT_EQ(profile.fragmentation.requests.size(), 2u);
  EXPECT_EQ(profile.fragmentation.requests[0].weight, 3);
  const api::DeviceRequest& asked = profile.fragmentation.requests[0].devices.requests[0];
  EXPECT_EQ(asked.exactly->count, 1) << "defaults are those of claims";
  EXPECT_EQ(profile.fragmentation.requests[1].weight, 1);
  const std::string shown = ShowConfig(*Read(kText));
  EXPECT_THAT(shown, HasSubstr(R"("requests":[{"weight":3)"));
  EXPECT_EQ(ShowConfig(*ReadConfig(shown)), shown);
  const auto faulty = [](std::string_view request) {
    return Read("profiles: [{pluginConfig: [{name: DeviceFragmentation, args: {requests: [" +
                std::string(request) + "]}}]}]");
  };
  EXPECT_THAT(faulty("{weight: 0}"), StatusIs(StatusCode::kInvalidArgument,
                                              HasSubstr("requests[0].weight: 0: must be from 1")));
  EXPECT_THAT(faulty("{resources: {gpu: 1}}"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("requests[0].resources: \"gpu\": must be cpu or memory")));
  EXPECT_THAT(faulty("{devices: {requests: [{name: a, exactly: {deviceClassName: A_B}}]}}"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("devices.requests[0].exactly.deviceClassName: Invalid value")));
}

TEST(Config, DeviceFragmentationScoresWhereItIsEnabled) {
  const Profile profile = OnlyProfile(R"(
profiles:
- plugins:
    score:
      enabled: [{name: DeviceFragmentation, weight: 3}]
)");
  EXPECT_EQ(WithPolicy(profile, allocator::Policy::kFirstFit).policy,
            allocator::Policy::kFragmentation);
  EXPECT_EQ(OnlyProfile("").policy, std::nullopt);
}

TEST(Config, AProfileCanBeLimited) {
  const Profile profile = OnlyProfile(R"(
profiles:
- schedulerName: gpus
  pluginConfig:
  - name: DynamicResources
    args: {drivers: [gpu.example.com], deviceClasses: [gpu, gpu-slice]}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: pool, operator: In, values: [gpu]}]
)");
  EXPECT_THAT(profile.dynamic_resources.drivers, ElementsAre("gpu.example.com"));
  EXPECT_THAT(profile.dynamic_resources.device_classes, ElementsAre("gpu", "gpu-slice"));
  ASSERT_TRUE(profile.node_affinity.added_affinity);
  ASSERT_TRUE(profile.node_affinity.added_affinity->required);
  EXPECT_EQ(profile.node_affinity.added_affinity->required->node_selector_terms.size(), 1u);
  EXPECT_THAT(
      Read("profiles: [{pluginConfig: [{name: DynamicResources, args: {drivers: [A B]}}]}]"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("args.drivers[0]: \"A B\": must be the name of a driver")));
}

TEST(Config, BackoffIsInSeconds) {
  const Config config = MustRead("podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 20\n").config;
  EXPECT_EQ(config.initial_backoff, seconds(2));
  EXPECT_EQ(config.max_backoff, seconds(20));
}

TEST(Config, APluginIsSwitchedOffAsAWhole) {
  const Profile profile = OnlyProfile(R"(
profiles:
- plugins:
    multiPoint:
      disabled: [{name: NodePorts}, {name: ImageLocality}]
    postFilter:
      disabled: [{name: DefaultPreemption}]
)");
  EXPECT_THAT(profile.disabled, ElementsAre("DefaultPreemption", "NodePorts"));
}

TEST(Config, AStarLeavesWhatIsEnabledByName) {
  const Profile profile = OnlyProfile(R"(
profiles:
- plugins:
    multiPoint:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit, weight: 5}, {name: DynamicResources, weight: 2}]
)");
  EXPECT_THAT(profile.disabled,
              ElementsAre("DefaultPreemption", "DeviceFragmentation", "InterPodAffinity",
                          "NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts",
                          "NodeResourcesBalancedAllocation", "NodeUnschedulable",
                          "NodeVolumeLimits", "PodTopologySpread", "SchedulingGates",
                          "TaintToleration", "VolumeBinding", "VolumeRestrictions"));
  EXPECT_THAT(WeightsOf(profile), ElementsAre(Weighs("NodeResourcesFit", 5)));
}

TEST(Config, APluginMayFilterWithoutScoring) {
  const Profile profile = OnlyProfile(R"(
profiles:
- plugins:
    score:
      disabled: [{name: NodeAffinity}, {name: NodeResourcesBalancedAllocation}]
)");
  EXPECT_THAT(WeightsOf(profile), ElementsAre(Weighs("NodeAffinity", 0)));
  // It does nothing but score.
  EXPECT_THAT(profile.disabled, ElementsAre("NodeResourcesBalancedAllocation"));
}

TEST(Config, APluginEnabledAgainWithoutAWeightWeighsOne) {
  const Profile profile = OnlyProfile(R"(
profiles:
- plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: TaintToleration}, {name: InterPodAffinity, weight: 7}]
)");
  EXPECT_THAT(WeightsOf(profile),
              ElementsAre(Weighs("TaintToleration", 1), Weighs("NodeAffinity", 0),
                          Weighs("NodeResourcesFit", 0), Weighs("PodTopologySpread", 0),
                          Weighs("InterPodAffinity", 7), Weighs("DynamicResources", 0)));
}

TEST(Config, ArgumentsOfFitAreTaken) {
  const FitArgs fit = OnlyProfile(R"(
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      ignoredResources: [example.com/foo]
      ignoredResourceGroups: [example.org]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu}, {name: example.com/gpu, weight: 5}]
        requestedToCapacityRatio:
          shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]
)")
                          .fit;
  EXPECT_EQ(fit.strategy, ScoringStrategy::kRequestedToCapacityRatio);
  EXPECT_THAT(fit.ignored_resources, ElementsAre("example.com/foo"));
  EXPECT_THAT(fit.ignored_resource_groups, ElementsAre("example.org"));
  ASSERT_EQ(fit.resources.size(), 2U);
  EXPECT_EQ(fit.resources[0].weight, 1);
  EXPECT_EQ(fit.resources[1].name, "example.com/gpu");
  EXPECT_EQ(fit.resources[1].weight, 5);
  ASSERT_EQ(fit.shape.size(), 2U);
  EXPECT_EQ(fit.shape[1].utilization, 100);
  EXPECT_EQ(fit.shape[1].score, 10);
}

TEST(Config, AStrategyWithoutResourcesLooksAtCpuAndMemory) {
  const FitArgs fit = OnlyProfile(R"(
profiles:
- pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]
)")
                          .fit;
  EXPECT_EQ(fit.strategy, ScoringStrategy::kMostAllocated);
  ASSERT_EQ(fit.resources.size(), 2U);
  EXPECT_EQ(fit.resources[0].name, "cpu");
  EXPECT_EQ(fit.resources[1].name, "memory");
}

TEST(Config, TimeoutsAndPreemptionAreTaken) {
  const Profile profile = OnlyProfile(R"(
profiles:
- pluginConfig:
  - name: DynamicResources
    args: {filterTimeout: 0s, bindingTimeout: 1m30s}
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 7, devices: true}
)");
  EXPECT_EQ(profile.dynamic_resources.filter_timeout, seconds(0));
  EXPECT_EQ(profile.dynamic_resources.binding_timeout, seconds(90));
  EXPECT_EQ(profile.preemption.min_candidate_nodes_percentage, 0);
  EXPECT_EQ(profile.preemption.min_candidate_nodes_absolute, 7);
  EXPECT_TRUE(profile.preemption.devices);
  // Kubernetes's answers, unless somebody asks for others.
  EXPECT_FALSE(Profile().preemption.devices);
}

struct NoteCase {
  std::string name;
  std::string yaml;
  std::string note;  // a part of the only one
  friend void PrintTo(const NoteCase& c, std::ostream* os) { *os << c.name; }
};
class ConfigNotes : public ::testing::TestWithParam<NoteCase> {};

TEST_P(ConfigNotes, TellWhatHasNoEffect) {
  EXPECT_THAT(MustRead(GetParam().yaml).notes, ElementsAre(HasSubstr(GetParam().note)));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ConfigNotes,
    ::testing::ValuesIn(std::vector<NoteCase>{
        {"profiling", "enableProfiling: false", "enableProfiling: does not apply"},
        {"contention", "enableContentionProfiling: false", "enableContentionProfiling: does not"},
        {"percentage", "percentageOfNodesToScore: 5", "percentageOfNodesToScore: does not apply"},
        {"extenders", "extenders: [{urlPrefix: http://x}]", "extenders: does not apply"},
        {"delay", "delayCacheUntilActive: true", "delayCacheUntilActive: does not apply"},
        {"percentage_of_a_profile", "profiles: [{percentageOfNodesToScore: 5}]",
         "profiles[0].percentageOfNodesToScore: does not apply"},
        {"misspelt_field", "paralelism: 4",
         "paralelism: unknown field (did you mean parallelism?)"},
        {"misspelt_inside", "profiles: [{schedulername: x}]",
         "profiles[0].schedulername: unknown field (did you mean schedulerName?)"},
        {"misspelt_argument",
         "profiles: [{pluginConfig: [{name: DynamicResources, args: {bindTimeout: 1s}}]}]",
         "profiles[0].pluginConfig[0].args.bindTimeout: unknown field"},
        {"twice", "podMaxBackoffSeconds: 20\npodMaxBackoffSeconds: 30",
         "podMaxBackoffSeconds: given more than once"},
        {"plugin_that_is_not_here",
         "profiles: [{plugins: {multiPoint: {enabled: [{name: ImageLocality}]}}}]",
         "profiles[0].plugins.multiPoint.enabled[0].name: does not apply: there is no "
         "ImageLocality"},
        {"disabled_plugin_that_nobody_knows",
         "profiles: [{plugins: {filter: {disabled: [{name: NodePort}]}}}]",
         "disabled[0].name: \"NodePort\": no such plugin (did you mean NodePorts?)"},
        {"binder", "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]",
         "disabled[0].name: does not apply: DefaultBinder is always there"},
        {"part_of_a_plugin", "profiles: [{plugins: {filter: {disabled: [{name: NodeAffinity}]}}}]",
         "profiles[0].plugins: does not apply: NodeAffinity is switched off for some"},
        {"argument_that_is_not_used",
         "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]}]",
         "profiles[0].pluginConfig[0].args.defaultingType: does not apply: "},
        {"unused_argument_misspelt",
         "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingTipe: List}}]}]",
         "args.defaultingTipe: unknown field (did you mean defaultingType?)"},
        {"argument_misspelt",
         "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAfinity: {}}}]}]",
         "args.addedAfinity: unknown field (did you mean addedAffinity?)"},
        {"arguments_of_a_plugin_without",
         "profiles: [{pluginConfig: [{name: NodeName, args: {a: 1}}]}]",
         "args: does not apply: NodeName has no arguments"},
        {"arguments_of_nobody", "profiles: [{pluginConfig: [{name: Coscheduling, args: {}}]}]",
         "pluginConfig[0].name: \"Coscheduling\": no such plugin"},
    }),
    [](const auto& info) { return info.param.name; });

struct ErrorCase {
  std::string name;
  std::string yaml;
  std::string error;  // a part of it
  friend void PrintTo(const ErrorCase& c, std::ostream* os) { *os << c.name; }
};
class ConfigErrors : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ConfigErrors, NameTheFieldTheValueAndWhatIsRight) {
  EXPECT_THAT(Read(GetParam().yaml),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(GetParam().error)));
}

constexpr std::string_view kFit = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: ";
std::string Fit(std::string_view args) { return std::string(kFit) + std::string(args) + "}]}]"; }
std::string Ratio(std::string_view shape) {
  return Fit(
      "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: "
      "{shape: " +
      std::string(shape) + "}}}");
}

INSTANTIATE_TEST_SUITE_P(
    Values, ConfigErrors,
    ::testing::ValuesIn(std::vector<ErrorCase>{
        {"not_a_number", "podMaxBackoffSeconds: soon",
         "podMaxBackoffSeconds: expected an integer, got the string \"soon\""},
        {"initial_backoff", "podInitialBackoffSeconds: 0",
         "podInitialBackoffSeconds: 0: must be from 1"},
        {"max_backoff", "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4",
         "podMaxBackoffSeconds: 4: must be from podInitialBackoffSeconds, 5,"},
        {"initial_above_the_default_maximum", "podInitialBackoffSeconds: 11",
         "podMaxBackoffSeconds: 10: must be from podInitialBackoffSeconds, 11,"},
        {"backoff_that_no_clock_reaches", "podMaxBackoffSeconds: 9223372036854775807",
         "podMaxBackoffSeconds: 9223372036854775807: must be"},
        {"empty_name", "profiles: [{schedulerName: ''}]", "profiles[0].schedulerName: must be set"},
        {"missing_name_of_several", "profiles: [{schedulerName: a}, {}]",
         "profiles[1].schedulerName: must be set"},
        {"same_name", "profiles: [{schedulerName: a}, {schedulerName: a}]",
         "profiles[1].schedulerName: \"a\": must not be another profile's"},
        {"unknown_plugin", "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeAffinty}]}}}]",
         "profiles[0].plugins.multiPoint.enabled[0].name: \"NodeAffinty\": no such plugin (did "
         "you mean NodeAffinity?)"},
        {"plugin_in_the_wrong_place",
         "profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]",
         "plugins.score.enabled[0].name: \"NodeName\": has nothing to do in score"},
        {"plugin_twice",
         "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}}}]",
         "enabled[1].name: \"NodeAffinity\": is enabled twice"},
        {"negative_weight",
         "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: -1}]}}}]",
         "enabled[0].weight: -1: must not be negative"},
        {"arguments_twice", "profiles: [{pluginConfig: [{name: NodeName}, {name: NodeName}]}]",
         "pluginConfig[1].name: \"NodeName\": has arguments already"},
        {"arguments_of_another_kind", Fit("{kind: NodeAffinityArgs}"),
         "args.kind: \"NodeAffinityArgs\": must be NodeResourcesFitArgs"},
        {"arguments_of_another_version", Fit("{apiVersion: v1}"),
         "args.apiVersion: \"v1\": must be kubescheduler.config.k8s.io/v1"},
        {"arguments_that_are_no_object", Fit("3"), "args: 3: must be an object"},
        {"strategy", Fit("{scoringStrategy: {type: Best}}"),
         "args.scoringStrategy.type: \"Best\": must be LeastAllocated, MostAllocated or"},
        {"resource_weight",
         Fit("{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 101}]}}"),
         "args.scoringStrategy.resources[0].weight: 101: must be from 1 to 100"},
        {"ratio_missing", Fit("{scoringStrategy: {type: RequestedToCapacityRatio}}"),
         "args.scoringStrategy.requestedToCapacityRatio: must be set when"},
        {"ratio_not_wanted",
         Fit("{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}"),
         "args.scoringStrategy.requestedToCapacityRatio: must not be set when"},
        {"shape_empty", Ratio("[]"), "shape: must have at least one point"},
        {"shape_utilization", Ratio("[{utilization: 101, score: 1}]"),
         "shape[0].utilization: 101: must be from 0 to 100"},
        {"shape_score", Ratio("[{utilization: 1, score: 11}]"),
         "shape[0].score: 11: must be from 0 to 10"},
        {"shape_order", Ratio("[{utilization: 5, score: 1}, {utilization: 5, score: 2}]"),
         "shape[1].utilization: 5: must be above the point before, 5"},
        {"ignored_resource", Fit("{ignoredResources: ['a b']}"),
         "args.ignoredResources[0]: \"a b\": must be a resource's name"},
        {"ignored_group", Fit("{ignoredResourceGroups: [example.com/x]}"),
         "args.ignoredResourceGroups[0]: \"example.com/x\": must be what stands before"},
        {"filter_timeout",
         "profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: -1s}}]}]",
         "args.filterTimeout: \"-1s\": must be a duration of at least 0s"},
        {"binding_timeout",
         "profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 999ms}}]}]",
         "args.bindingTimeout: \"999ms\": must be a duration of at least 1s"},
        {"candidates",
         "profiles: [{pluginConfig: [{name: DefaultPreemption, args: "
         "{minCandidateNodesPercentage: 101}}]}]",
         "args.minCandidateNodesPercentage: 101: must be from 0 to 100"},
        {"no_candidates",
         "profiles: [{pluginConfig: [{name: DefaultPreemption, args: "
         "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]",
         "must not be 0 together with minCandidateNodesAbsolute"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Config, AllErrorsAreToldAtOnce) {
  EXPECT_THAT(Read("podInitialBackoffSeconds: -1\nprofiles: [{schedulerName: ''}]"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("podInitialBackoffSeconds"), HasSubstr("schedulerName"))));
}

TEST(Config, AValueOfTheWrongTypeIsOneError) {
  EXPECT_THAT(Read("podMaxBackoffSeconds: soon"),
              StatusIs(StatusCode::kInvalidArgument, Not(HasSubstr(";"))));
  EXPECT_THAT(Read(Fit("{scoringStrategy: {type: 3}}")),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("args.scoringStrategy.type: expected a string"),
                             Not(HasSubstr(";")))));
}

TEST(Config, AnotherKindOrVersionIsRefused) {
  EXPECT_THAT(
      ReadConfig(
          "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("apiVersion: \"kubescheduler.config.k8s.io/v1beta3\": must be "
                         "kubescheduler.config.k8s.io/v1")));
  EXPECT_THAT(ReadConfig("apiVersion: v1\nkind: Pod"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("kind: \"Pod\": must be KubeSchedulerConfiguration")));
}

TEST(Config, AFileThatIsNotOneConfigurationIsRefused) {
  EXPECT_THAT(ReadConfig(""), StatusIs(StatusCode::kInvalidArgument, HasSubstr("0 documents")));
  EXPECT_THAT(ReadConfig("a: 1\n---\nb: 1"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 documents")));
  EXPECT_THAT(ReadConfig("[]"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("an object")));
  EXPECT_THAT(ReadConfig("a: 1\nb: {"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("line ")));
}

}  // namespace
}  // namespace dray::scheduler
