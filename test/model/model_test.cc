// SPDX-License-Identifier: Apache-2.0
//
// What the model itself promises: its files can be read back, its steps are Kubernetes's, and it
// answers as decided where the proposals and Kubernetes differ.
#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "model/checker.h"
#include "model/instance.h"
#include "testing/recorded_cases.h"
#include "testing/status_matchers.h"

namespace dray::model {
namespace {

using ::dray::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Model, CountsStepsAsKubernetesDoes) {
  const auto folder = dray::testing::SharedFolder("conformance/allocator");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  int compared = 0;
  for (const auto& path : dray::testing::JsonFilesIn(*folder)) {
    std::vector<api::Diagnostic> diagnostics;
    const api::DocumentNode root = api::ParseJson(dray::testing::ReadFile(path), diagnostics);
    const api::Member* steps = root.Find("expect")->value.Find("allocateOneInvocations");
    if (steps == nullptr) continue;
    const auto instance = ReadInstance(root);
    ASSERT_THAT(instance, IsOk()) << path;
    EXPECT_EQ(std::to_string(Solve(*instance).steps), steps->value.text) << path;
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

TEST(Model, RecordedCasesSurviveWritingAndReading) {
  const auto folder = dray::testing::SharedFolder("conformance/allocator");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  for (const auto& path : dray::testing::JsonFilesIn(*folder)) {
    const auto instance = ParseInstance(dray::testing::ReadFile(path));
    ASSERT_THAT(instance, IsOk()) << path;
    const auto again = ParseInstance(WriteInstance(*instance));
    ASSERT_THAT(again, IsOk()) << path;
    EXPECT_TRUE(*again == *instance) << path;
  }
}

// A pool of one node with devices given as JSON, a class for all of them, and one claim.
Instance OneNode(const std::string& devices, const std::string& claim,
                 const std::string& counters = "", const std::string& allocated = "") {
  const auto slice = [&](const std::string& name, const std::string& content) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}"}},"spec":{{"driver":"d.example","nodeName":"n",
            "pool":{{"name":"p","generation":1,"resourceSliceCount":{}}},{}}}}})",
        name, counters.empty() ? 1 : 2, content);
  };
  std::string slices = slice("devices", fmt::format(R"("devices":[{}])", devices));
  if (!counters.empty()) {
    slices += "," + slice("counters", fmt::format(R"("sharedCounters":[{}])", counters));
  }
  auto instance = ParseInstance(fmt::format(
      R"({{"node":{{"metadata":{{"name":"n"}}}},"classes":[{{"metadata":{{"name":"c"}}}}],
          "slices":[{}],"claims":[{{"metadata":{{"name":"x"}},"spec":{{"devices":{}}}}}],
          "allocatedClaims":[{}]}})",
      slices, claim, allocated));
  EXPECT_THAT(instance, IsOk());
  instance->features = Features::All();
  return *std::move(instance);
}

std::string Exactly(const std::string& name, const std::string& more) {
  return fmt::format(R"({{"name":"{}","exactly":{{"deviceClassName":"c",{}}}}})", name, more);
}
constexpr const char* kOne = R"("allocationMode":"ExactCount","count":1)";

std::string Requests(const std::string& requests, const std::string& constraints = "") {
  return fmt::format(R"({{"requests":[{}],"constraints":[{}]}})", requests, constraints);
}

std::string Held(const std::string& device, const std::string& more) {
  return fmt::format(
      R"({{"metadata":{{"name":"held-{0}"}},"status":{{"allocation":{{"devices":{{"results":[
          {{"request":"r","driver":"d.example","pool":"p","device":"{0}"{1}}}]}}}}}}}})",
      device, more);
}

std::vector<std::string> DevicesOf(const Outcome& outcome) {
  std::vector<std::string> names{std::string(ToString(outcome.kind))};
  for (const auto& result : outcome.results) {
    for (const auto& device : result.devices.results) names.push_back(device.device);
  }
  return names;
}

TEST(Model, ADeviceThatIsNoLongerShareableIsClosedWhileItHasShares) {
  const Instance instance =
      OneNode(R"({"name":"a"},{"name":"b"})", Requests(Exactly("r", kOne)), "",
              Held("a", R"(,"shareID":"00000000-0000-4000-8000-000000000001")"));
  EXPECT_THAT(DevicesOf(Solve(instance)), ElementsAre("allocated", "b"));
}

TEST(Model, ACapacityIsFoundWithAndWithoutTheDriversDomain) {
  const std::string shared = R"("allowMultipleAllocations":true)";
  const auto ask = [&](const std::string& name) {
    return Requests(
        Exactly("r", fmt::format(R"({},"capacity":{{"requests":{{"{}":"3"}}}})", kOne, name)));
  };
  const std::string bare =
      fmt::format(R"({{"name":"a",{},"capacity":{{"m":{{"value":"4"}}}}}})", shared);
  const std::string qualified =
      fmt::format(R"({{"name":"a",{},"capacity":{{"d.example/m":{{"value":"4"}}}}}})", shared);
  EXPECT_THAT(DevicesOf(Solve(OneNode(bare, ask("d.example/m")))), ElementsAre("allocated", "a"));
  EXPECT_THAT(DevicesOf(Solve(OneNode(qualified, ask("m")))), ElementsAre("allocated", "a"));
  EXPECT_THAT(DevicesOf(Solve(OneNode(bare, ask("e.example/m")))), ElementsAre("not possible"));
}

TEST(Model, AViolatedConstraintInModeAllLetsTheSearchGoOn) {
  // All of them do not match each other, so that the next alternative has its turn.
  const std::string devices = R"({"name":"a","attributes":{"x":{"int":1}}},
                                 {"name":"b","attributes":{"x":{"int":2}}})";
  const std::string request = R"({"name":"r","firstAvailable":[
      {"name":"all","deviceClassName":"c","allocationMode":"All"},
      {"name":"one","deviceClassName":"c","allocationMode":"ExactCount","count":1}]})";
  const Outcome outcome =
      Solve(OneNode(devices, Requests(request, R"({"matchAttribute":"d.example/x"})")));
  EXPECT_THAT(DevicesOf(outcome), ElementsAre("allocated", "a"));
}

TEST(Model, AllWhileAPoolIsIncompleteStopsThisNodeOnly) {
  Instance instance =
      OneNode(R"({"name":"a"})", Requests(Exactly("r", R"("allocationMode":"All")")));
  instance.slices[0].spec.pool.resource_slice_count = 2;
  const Outcome outcome = Solve(instance);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kError);
  EXPECT_TRUE(outcome.node_only);
}

TEST(Model, ADerivedAttributeIsComputedForEveryDeviceThatTheSelectorsPass) {
  // Nobody could have `a`, which is tainted; that its attribute cannot be computed shows all the
  // same.
  const std::string devices =
      R"({"name":"a","taints":[{"key":"k","effect":"NoSchedule"}]},
         {"name":"b","attributes":{"x":{"int":1}}})";
  const std::string request = Exactly("r", fmt::format(R"({},"derivedAttributes":[{{"name":"y",
                                    "expression":"device.attributes['d.example'].x + 1"}}])",
                                                       kOne));
  EXPECT_EQ(Solve(OneNode(devices, Requests(request, R"({"matchAttribute":"y"})"))).kind,
            Outcome::Kind::kError);
  // No constraint asks for it: never computed.
  EXPECT_THAT(DevicesOf(Solve(OneNode(devices, Requests(request)))), ElementsAre("allocated", "b"));
}

TEST(Model, WithDerivedAttributesOffTheyAreIgnored) {
  const std::string devices = R"({"name":"a","attributes":{"x":{"int":1}}})";
  const std::string request = Exactly(
      "r", fmt::format(R"({},"derivedAttributes":[{{"name":"y","expression":"1"}}])", kOne));
  Instance instance = OneNode(devices, Requests(request, R"({"matchAttribute":"y"})"));
  EXPECT_EQ(Solve(instance).kind, Outcome::Kind::kAllocated);
  instance.features.derived_attributes = false;  // nobody has an attribute of that name then
  EXPECT_EQ(Solve(instance).kind, Outcome::Kind::kNotPossible);
}

const char* kSet = R"({"name":"s","counters":{"m":{"value":"10"}}})";

std::string Part(const std::string& name, const std::string& groups) {
  return fmt::format(R"({{"name":"{}","consumesCounters":[{{"counterSet":"s",
      "counters":{{"m":{{"value":"1"}}}},"compatibilityGroups":[{}]}}]}})",
                     name, groups);
}

TEST(Model, ARememberedGroupCountsMoreThanTheSlice) {
  const std::string devices =
      Part("a", R"("vgpu")") + "," + Part("b", R"("mig")") + "," + Part("c", R"("vgpu")");
  const std::string claim = Requests(Exactly("r", kOne));
  // Without a snapshot the slice says what `a` is; with one, `a` was given away as something else.
  const Outcome live = Solve(OneNode(devices, claim, kSet, Held("a", "")));
  EXPECT_THAT(DevicesOf(live), ElementsAre("allocated", "c"));
  const Outcome snapshot =
      Solve(OneNode(devices, claim, kSet, Held("a", R"(,"compatibilityGroups":{"s":["mig"]})")));
  EXPECT_THAT(DevicesOf(snapshot), ElementsAre("allocated", "b"));
  const auto* written = snapshot.results[0].devices.results[0].compatibility_groups.Find("s");
  ASSERT_NE(written, nullptr);
  EXPECT_THAT(*written, ElementsAre("mig"));
}

TEST(Model, WithGroupsOffGroupedDevicesAndTheirCounterSetsAreLeftAlone) {
  const std::string devices = Part("a", R"("mig")") + "," + Part("b", "") + R"(,{"name":"c"})";
  const std::string claim = Requests(Exactly("r", kOne));
  Instance instance = OneNode(devices, claim, kSet);
  instance.features.compatibility_groups = false;
  EXPECT_THAT(DevicesOf(Solve(instance)), ElementsAre("allocated", "b"));
  instance = OneNode(devices, claim, kSet, Held("a", R"(,"compatibilityGroups":{"s":["mig"]})"));
  instance.features.compatibility_groups = false;
  EXPECT_THAT(DevicesOf(Solve(instance)), ElementsAre("allocated", "c"));
}

TEST(Model, ARequestOfNoKindIsAnError) {
  EXPECT_EQ(Solve(OneNode(R"({"name":"a"})", Requests(R"({"name":"r"})"))).kind,
            Outcome::Kind::kError);
}

TEST(Model, GivesUpAfterItsSteps) {
  const Outcome outcome =
      Solve(OneNode(R"({"name":"a"})", Requests(Exactly("r", kOne))), {.max_steps = 3});
  EXPECT_EQ(outcome.kind, Outcome::Kind::kBudget);
  EXPECT_THAT(outcome.results, IsEmpty());
}

TEST(Checker, AcceptsWhatWasRecorded) {
  const auto folder = dray::testing::SharedFolder("conformance/allocator");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  int allocated = 0;
  for (const auto& path : dray::testing::JsonFilesIn(*folder)) {
    const auto instance = ParseInstance(dray::testing::ReadFile(path));
    ASSERT_THAT(instance, IsOk()) << path;
    const Outcome outcome = Solve(*instance);
    if (outcome.kind != Outcome::Kind::kAllocated) continue;
    EXPECT_THAT(CheckAllocation(*instance, outcome.results), IsEmpty()) << path;
    ++allocated;
  }
  EXPECT_GT(allocated, 130);
}

}  // namespace
}  // namespace dray::model
