// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_resources_fit.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/plugins/small_world_for_test.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"

namespace dray::scheduler {
namespace {

using testing::AllocatedClaim;
using testing::Device;
using testing::Pod;
using testing::Slice;
using testing::Worker;

constexpr char kGpu[] = "example.com/gpu";

api::DeviceClass GpuClass(std::optional<std::string> resource = kGpu) {
  api::DeviceClass device_class;
  device_class.metadata.name = "gpu";
  device_class.spec.extended_resource_name = std::move(resource);
  return device_class;
}

struct FitCase {
  std::string name;
  Pod pod = Pod("p");
  Worker node = Worker("n1");
  std::vector<Pod> there = {};
  FitArgs args = {};
  std::optional<api::DeviceClass> device_class = {};
  std::string want = "ok";
  friend void PrintTo(const FitCase& c, std::ostream* os) { *os << c.name; }
};
class FitTest : public ::testing::TestWithParam<FitCase> {};

TEST_P(FitTest, LooksAtWhatIsLeft) {
  const FitCase& c = GetParam();
  SmallWorld small;
  small.Node(c.node);
  for (const Pod& other : c.there) small.Pod(other);
  if (c.device_class.has_value()) small.Add(*c.device_class);
  NodeResourcesFit plugin(c.args, small.world());
  CycleState state;
  const auto pod = small.Info(c.pod);
  ASSERT_TRUE(plugin.PreFilter(state, *pod, small.world()).ok());
  EXPECT_EQ(Said(plugin.Filter(state, *pod, small.At("n1"))), c.want);
}

Pod WithInit(std::string_view amount, std::optional<std::string> restart_policy) {
  Pod pod = Pod("p").Request("cpu", "1");
  api::Container init{.name = "init", .restart_policy = std::move(restart_policy)};
  init.resources.requests["cpu"] = testing::ToQuantity(amount);
  pod.spec().init_containers.push_back(std::move(init));
  return pod;
}
Pod WithOverhead(Pod pod, std::string_view amount) {
  pod.spec().overhead["cpu"] = testing::ToQuantity(amount);
  return pod;
}
Pod WithPodLevel(Pod pod, std::string_view amount) {
  pod.spec().resources.emplace().requests["cpu"] = testing::ToQuantity(amount);
  return pod;
}

INSTANTIATE_TEST_SUITE_P(
    Resources, FitTest,
    ::testing::ValuesIn(std::vector<FitCase>{
        {.name = "exactly_what_is_left",
         .pod = Pod("p").Request("cpu", "1500m").Request("memory", "1Gi"),
         .node = Worker("n1").Has("cpu", "2").Has("memory", "1Gi"),
         .there = {Pod("q").On("n1").Request("cpu", "500m")}},
        {.name = "a_little_too_much",
         .pod = Pod("p").Request("cpu", "1501m"),
         .node = Worker("n1").Has("cpu", "2"),
         .there = {Pod("q").On("n1").Request("cpu", "500m")},
         .want = "unschedulable: Insufficient cpu"},
        {.name = "more_than_the_node_has_is_not_cured_by_removing_pods",
         .pod = Pod("p").Request("cpu", "3"),
         .node = Worker("n1").Has("cpu", "2"),
         .want = "unresolvable: Insufficient cpu"},
        {.name = "every_shortage_is_named",
         .pod = Pod("p")
                    .Request("cpu", "1")
                    .Request("memory", "1Gi")
                    .Request("ephemeral-storage", "1Gi"),
         .node = Worker("n1").Has("cpu", "1").Has("memory", "1Gi").Has("ephemeral-storage", "1Gi"),
         .there = {Pod("q")
                       .On("n1")
                       .Request("cpu", "1")
                       .Request("memory", "1Gi")
                       .Request("ephemeral-storage", "1Gi")},
         .want = "unschedulable: Insufficient cpu, Insufficient memory, Insufficient "
                 "ephemeral-storage"},
        {.name = "as_many_pods_as_the_node_takes",
         .node = Worker("n1").Has("pods", "1"),
         .there = {Pod("q").On("n1")},
         .want = "unschedulable: Too many pods"},
        {.name = "pods_that_ended_take_nothing",
         .pod = Pod("p").Request("cpu", "1"),
         .node = Worker("n1").Has("cpu", "1").Has("pods", "1"),
         .there = {Pod("q").On("n1").Request("cpu", "1").Phase("Succeeded")}},
        {.name = "nothing_asked_fits_a_node_that_is_overfull",
         .node = Worker("n1").Has("cpu", "1"),
         .there = {Pod("q").On("n1").Request("cpu", "2")}},
        {.name = "init_containers_run_before_the_others",
         .pod = WithInit("2", std::nullopt),
         .node = Worker("n1").Has("cpu", "2")},
        {.name = "sidecars_run_beside_the_others",
         .pod = WithInit("2", "Always"),
         .node = Worker("n1").Has("cpu", "2"),
         .want = "unresolvable: Insufficient cpu"},
        {.name = "overhead_is_added",
         .pod = WithOverhead(Pod("p").Request("cpu", "1"), "100m"),
         .node = Worker("n1").Has("cpu", "1"),
         .want = "unresolvable: Insufficient cpu"},
        {.name = "amounts_of_the_pod_go_before_its_containers",
         .pod = WithPodLevel(Pod("p").Request("cpu", "1"), "2"),
         .node = Worker("n1").Has("cpu", "1"),
         .want = "unresolvable: Insufficient cpu"},
        {.name = "huge_pages",
         .pod = Pod("p").Request("hugepages-2Mi", "4Mi"),
         .node = Worker("n1").Has("hugepages-2Mi", "2Mi"),
         .want = "unresolvable: Insufficient hugepages-2Mi"},
    }),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(ExtendedResources, FitTest,
                         ::testing::ValuesIn(std::vector<FitCase>{
                             {.name = "of_a_device_plugin",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .node = Worker("n1").Has(kGpu, "1")},
                             {.name = "of_a_device_plugin_in_use",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .node = Worker("n1").Has(kGpu, "1"),
                              .there = {Pod("q").On("n1").Request(kGpu, "1")},
                              .want = "unschedulable: Insufficient example.com/gpu"},
                             {.name = "of_nobody",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .want = "unresolvable: Insufficient example.com/gpu"},
                             {.name = "of_a_class_is_left_to_its_devices",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .device_class = GpuClass()},
                             {.name = "of_a_class_by_its_implicit_name",
                              .pod = Pod("p").Request("deviceclass.resource.kubernetes.io/gpu",
                                                      "1"),
                              .device_class = GpuClass(std::nullopt)},
                             {.name = "zero_of_a_device_plugin_is_as_none",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .node = Worker("n1").Has(kGpu, "0"),
                              .device_class = GpuClass()},
                             {.name = "a_node_with_a_device_plugin_is_never_both",
                              .pod = Pod("p").Request(kGpu, "2"),
                              .node = Worker("n1").Has(kGpu, "1"),
                              .device_class = GpuClass(),
                              .want = "unresolvable: Insufficient example.com/gpu"},
                             {.name = "ignored_by_name",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .args = {.ignored_resources = {kGpu}}},
                             {.name = "ignored_by_group",
                              .pod = Pod("p").Request(kGpu, "1"),
                              .args = {.ignored_resource_groups = {"example.com"}}},
                             {.name = "only_extended_resources_are_ignored",
                              .pod = Pod("p").Request("hugepages-2Mi", "2Mi"),
                              .args = {.ignored_resources = {"hugepages-2Mi"}},
                              .want = "unresolvable: Insufficient hugepages-2Mi"},
                         }),
                         [](const auto& info) { return info.param.name; });

TEST(NodeResourcesFit, WithTheFeatureOffAClassServesNothing) {
  api::FeatureGates gates;
  gates.Set(api::Gate::kDRAExtendedResource, false);
  SmallWorld small(gates);
  small.Node(Worker("n1")).Add(GpuClass());
  NodeResourcesFit plugin({}, small.world());
  CycleState state;
  const auto pod = small.Info(Pod("p").Request(kGpu, "1"));
  plugin.PreFilter(state, *pod, small.world());
  EXPECT_EQ(Said(plugin.Filter(state, *pod, small.At("n1"))),
            "unresolvable: Insufficient example.com/gpu");
}

TEST(NodeResourcesFit, SaysHowMuchIsMissing) {
  SmallWorld small;
  small.Node(Worker("n1").Has("cpu", "4").Has("memory", "4Gi"))
      .Pod(Pod("q").On("n1").Request("cpu", "3500m").Request("memory", "3Gi"));
  NodeResourcesFit plugin({}, small.world());
  CycleState state;
  const auto pod = small.Info(Pod("p").Request("cpu", "1").Request("memory", "2Gi"));
  plugin.PreFilter(state, *pod, small.world());
  const PluginStatus status = plugin.Filter(state, *pod, small.At("n1"));
  ASSERT_EQ(status.reasons.size(), 2);
  EXPECT_EQ(status.reasons[0].code, "insufficient_resource");
  ASSERT_EQ(status.reasons[0].shortages.size(), 1);
  EXPECT_EQ(status.reasons[0].shortages[0].what, "cpu");
  EXPECT_EQ(status.reasons[0].shortages[0].needed, "1");
  EXPECT_EQ(status.reasons[0].shortages[0].free, "500m");
  EXPECT_EQ(status.reasons[1].shortages[0].needed, "2Gi");
  EXPECT_EQ(status.reasons[1].shortages[0].free, "1Gi");
}

std::int64_t ScoreOn(SmallWorld& small, const FitArgs& args, const Pod& pod) {
  NodeResourcesFit plugin(args, small.world());
  CycleState state;
  return plugin.Score(state, *small.Info(pod), small.At("n1"));
}

TEST(NodeResourcesFit, ScoresByStrategy) {
  SmallWorld small;
  small.Node(Worker("n1").Has("cpu", "4").Has("memory", "4Gi"))
      .Pod(Pod("q").On("n1").Request("cpu", "1").Request("memory", "1Gi"));
  const Pod pod = Pod("p").Request("cpu", "2").Request("memory", "1Gi");
  EXPECT_EQ(ScoreOn(small, {}, pod), (25 + 50) / 2);
  EXPECT_EQ(ScoreOn(small, {.strategy = ScoringStrategy::kMostAllocated}, pod), (75 + 50) / 2);
  EXPECT_EQ(ScoreOn(small,
                    {.strategy = ScoringStrategy::kRequestedToCapacityRatio,
                     .resources = {{"cpu", 3}, {"memory", 1}},
                     .shape = {{0, 0}, {100, 10}}},
                    pod),
            69);  // (3 * 75 + 50) / 4 = 68.75
}

TEST(NodeResourcesFit, PodsThatAskForNothingStillCountALittle) {
  SmallWorld small;
  small.Node(Worker("n1").Has("cpu", "1").Has("memory", "2000Mi"));
  EXPECT_EQ(ScoreOn(small, {}, Pod("p")), 90);
}

TEST(NodeResourcesFit, ScoresDevicesOfAClassAsAnExtendedResource) {
  SmallWorld small;
  small.Node(Worker("n1"))
      .Add(GpuClass())
      .Add(api::ResourceSlice(Slice("s")
                                  .OnNode("n1")
                                  .With(Device("a"))
                                  .With(Device("b"))
                                  .With(Device("c"))
                                  .With(Device("d"))))
      .Add(api::ResourceClaim(AllocatedClaim("claim").Exclusive("a")));
  const FitArgs args{.strategy = ScoringStrategy::kMostAllocated, .resources = {{kGpu, 1}}};
  EXPECT_EQ(ScoreOn(small, args, Pod("p").Request(kGpu, "2")), 75);
  // What the pod does not ask for does not count.
  EXPECT_EQ(ScoreOn(small, args, Pod("p")), 0);
}

struct FitHintCase {
  std::string name;
  Pod pod = Pod("p").Request("cpu", "1");
  api::Change change = Added(api::Node(Worker("n1")));
  std::optional<api::Object> old = {};
  std::optional<api::DeviceClass> device_class = {};
  bool want = false;
  friend void PrintTo(const FitHintCase& c, std::ostream* os) { *os << c.name; }
};
class FitHintTest : public ::testing::TestWithParam<FitHintCase> {};

TEST_P(FitHintTest, WakesOnlyForWhatMayHelp) {
  const FitHintCase& c = GetParam();
  SmallWorld small;
  if (c.device_class.has_value()) small.Add(*c.device_class);
  NodeResourcesFit plugin({}, small.world());
  const Hint hint =
      plugin.Wake(*small.Info(c.pod), c.change, c.old.has_value() ? &*c.old : nullptr);
  EXPECT_EQ(hint == Hint::kQueue, c.want);
}

api::Node Cores(std::string_view cores) { return Worker("n1").Has("cpu", cores); }
api::Node Gpus(std::string_view gpus) { return Worker("n1").Has(kGpu, gpus); }
api::Pod Using(std::string_view resource, std::string_view amount) {
  return Pod("q").On("n1").Request(resource, amount);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, FitHintTest,
    ::testing::ValuesIn(std::vector<FitHintCase>{
        {.name = "large_node_comes", .change = Added(Cores("1")), .want = true},
        {.name = "small_node_comes", .change = Added(Cores("500m"))},
        {.name = "node_grows",
         .change = Updated(Cores("2")),
         .old = api::Object::Of(Cores("1")),
         .want = true},
        {.name = "node_grows_but_not_enough",
         .change = Updated(Cores("900m")),
         .old = api::Object::Of(Cores("500m"))},
        {.name = "node_stays", .change = Updated(Cores("2")), .old = api::Object::Of(Cores("2"))},
        {.name = "node_grows_by_something_else",
         .change = Updated(api::Node(Worker("n1").Has("cpu", "2").Has("memory", "2Gi"))),
         .old = api::Object::Of(Cores("2"))},
        {.name = "node_goes", .change = Deleted(Cores("2"))},
        {.name = "pod_on_a_node_goes", .change = Deleted(Using("memory", "1")), .want = true},
        {.name = "pod_without_a_node_goes", .change = Deleted(api::Pod(Pod("q")))},
        {.name = "nominated_pod_goes",
         .change = Deleted(api::Pod(Pod("q").Nominated("n1"))),
         .want = true},
        {.name = "pod_ends",
         .change = Updated(api::Pod(Pod("q").On("n1").Phase("Failed"))),
         .old = api::Object::Of(Using("cpu", "1")),
         .want = true},
        {.name = "ended_pod_goes", .change = Deleted(api::Pod(Pod("q").On("n1").Phase("Failed")))},
        {.name = "pod_shrinks",
         .change = Updated(Using("cpu", "1")),
         .old = api::Object::Of(Using("cpu", "2")),
         .want = true},
        {.name = "pod_shrinks_in_something_else",
         .change = Updated(Using("memory", "1")),
         .old = api::Object::Of(Using("memory", "2"))},
        {.name = "pod_is_placed",
         .change = Updated(Using("cpu", "1")),
         .old = api::Object::Of(api::Pod(Pod("q").Request("cpu", "1")))},
        {.name = "own_request_shrinks",
         .change = Updated(api::Pod(Pod("p").Request("cpu", "500m"))),
         .old = api::Object::Of(api::Pod(Pod("p").Request("cpu", "1"))),
         .want = true},
        {.name = "own_label_changes",
         .change = Updated(api::Pod(Pod("p").Request("cpu", "1").Label("a", "b"))),
         .old = api::Object::Of(api::Pod(Pod("p").Request("cpu", "1")))},
        {.name = "class_comes_for_a_resource",
         .pod = Pod("p").Request(kGpu, "1"),
         .change = Added(GpuClass()),
         .want = true},
        {.name = "class_comes_with_its_implicit_name",
         .pod = Pod("p").Request("deviceclass.resource.kubernetes.io/gpu", "1"),
         .change = Added(GpuClass(std::nullopt)),
         .want = true},
        {.name = "class_comes_for_another_resource",
         .pod = Pod("p").Request("example.com/fpga", "1"),
         .change = Added(GpuClass())},
        {.name = "class_gets_the_name",
         .pod = Pod("p").Request(kGpu, "1"),
         .change = Updated(GpuClass()),
         .old = api::Object::Of(GpuClass(std::nullopt)),
         .want = true},
        {.name = "class_keeps_the_name",
         .pod = Pod("p").Request(kGpu, "1"),
         .change = Updated(GpuClass()),
         .old = api::Object::Of(GpuClass())},
        // KEP-5004: a node moves from a device plugin to devices, or gets a device plugin.
        {.name = "device_plugin_leaves_the_node_to_the_class",
         .pod = Pod("p").Request(kGpu, "2"),
         .change = Updated(Gpus("0")),
         .old = api::Object::Of(Gpus("1")),
         .device_class = GpuClass(),
         .want = true},
        {.name = "device_plugin_gets_more",
         .pod = Pod("p").Request(kGpu, "2"),
         .change = Updated(Gpus("2")),
         .old = api::Object::Of(Gpus("1")),
         .device_class = GpuClass(),
         .want = true},
        {.name = "device_plugin_leaves_without_a_class",
         .pod = Pod("p").Request(kGpu, "2"),
         .change = Updated(Gpus("0")),
         .old = api::Object::Of(Gpus("1"))},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::scheduler
