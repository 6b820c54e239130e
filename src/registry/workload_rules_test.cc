// SPDX-License-Identifier: Apache-2.0
#include "registry/workload_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "testing/objects_from.h"

namespace dray::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Object From(std::string_view yaml) { return testing::ObjectsFrom(yaml).at(0); }

std::vector<std::string> Texts(const api::ErrorList& errors) {
  std::vector<std::string> texts;
  for (const api::FieldError& error : errors) texts.push_back(error.Message());
  return texts;
}
std::vector<std::string> Of(std::string_view yaml) { return Texts(CheckWorkload(From(yaml))); }
std::vector<std::string> OfPod(std::string_view spec) {
  return Of("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + std::string(spec) + "}");
}

TEST(WorkloadRules, APodHasContainersWithNamesAndImages) {
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i}]}"), IsEmpty());
  EXPECT_THAT(OfPod("{}"), ElementsAre("spec.containers: Required value"));
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i}, {name: a, image: i}, {}]}"),
              ElementsAre("spec.containers[1].name: Duplicate value: \"a\"",
                          "spec.containers[2].name: Required value",
                          "spec.containers[2].image: Required value"));
  EXPECT_THAT(OfPod("{containers: [{name: A_b, image: i}]}"),
              ElementsAre(HasSubstr("spec.containers[0].name: Invalid value: \"A_b\"")));
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i}], initContainers: [{name: a, image: i}]}"),
              ElementsAre("spec.initContainers[0].name: Duplicate value: \"a\""));
}

TEST(WorkloadRules, APortIsANumberThatThereIs) {
  EXPECT_THAT(
      OfPod("{containers: [{name: a, image: i, ports: [{}, {containerPort: 70000}]}]}"),
      ElementsAre("spec.containers[0].ports[0].containerPort: Required value",
                  HasSubstr("spec.containers[0].ports[1].containerPort: Invalid value: 70000")));
}

TEST(WorkloadRules, ClaimsAreNamedOnceAndKnownToThePod) {
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i, resources: {claims: [{name: gpu}]}}]}"),
              ElementsAre("spec.containers[0].resources.claims[0].name: Not found: \"gpu\""));
  EXPECT_THAT(
      OfPod("{containers: [{name: a, image: i}], resourceClaims: [{name: g}, {name: g, "
            "resourceClaimName: c, resourceClaimTemplateName: t}]}"),
      ElementsAre(HasSubstr("spec.resourceClaims[0]: Invalid value: \"g\": must specify one of"),
                  "spec.resourceClaims[1].name: Duplicate value: \"g\"",
                  HasSubstr("spec.resourceClaims[1]: Invalid value: \"g\": at most one of")));
}

constexpr std::string_view kDeployment =
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: "
    "{app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: a, image: "
    "i}]}}}}";

TEST(WorkloadRules, ADeploymentSelectsItsOwnPods) {
  EXPECT_THAT(Of(kDeployment), IsEmpty());
  EXPECT_THAT(Of("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}"),
              ElementsAre("spec.selector: Required value",
                          "spec.template.spec.containers: Required value"));
  EXPECT_THAT(
      Of("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: d}, spec: {selector: "
         "{matchLabels: {app: x}}, template: {metadata: {labels: {app: d}}, spec: {restartPolicy: "
         "Never, containers: [{name: a, image: i}]}}}}"),
      ElementsAre(HasSubstr("spec.template.metadata.labels: Invalid value"),
                  HasSubstr("spec.template.spec.restartPolicy: Unsupported value: \"Never\"")));
}

TEST(WorkloadRules, AJobsPodsEnd) {
  EXPECT_THAT(Of("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: "
                 "{containers: [{name: a, image: i}]}}}}"),
              ElementsAre(HasSubstr("spec.template.spec.restartPolicy: Required value")));
}

TEST(WorkloadRules, OfAPodOnlyLittleMayChange) {
  const api::Object stored = From(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i}], "
      "tolerations: [{key: a, operator: Exists}], schedulingGates: [{name: x/y}]}}");
  const auto after = [&](auto change) {
    api::Object next = stored;
    change(next.Mutable<api::Pod>()->spec);
    return Texts(CheckWorkloadUpdate(next, stored));
  };
  EXPECT_THAT(after([](api::PodSpec& spec) { spec.containers[0].image = "other"; }), IsEmpty());
  EXPECT_THAT(after([](api::PodSpec& spec) { spec.tolerations.emplace_back().key = "b"; }),
              IsEmpty());
  EXPECT_THAT(after([](api::PodSpec& spec) { spec.scheduling_gates.clear(); }), IsEmpty());
  EXPECT_THAT(after([](api::PodSpec& spec) { spec.tolerations.clear(); }),
              ElementsAre(HasSubstr("spec: Forbidden: pod updates may not change fields")));
  EXPECT_THAT(after([](api::PodSpec& spec) { spec.scheduling_gates.emplace_back().name = "z/z"; }),
              ElementsAre(HasSubstr("spec: Forbidden")));
  EXPECT_THAT(after([](api::PodSpec& spec) { spec.resource_claims.emplace_back().name = "c"; }),
              ElementsAre(HasSubstr("spec: Forbidden")));
}

TEST(WorkloadRules, ASelectorStays) {
  const api::Object stored = From(kDeployment);
  std::string other(kDeployment);
  for (auto at = other.find("app: d"); at != other.npos; at = other.find("app: d")) {
    other.replace(at, 6, "app: e");
  }
  EXPECT_THAT(Texts(CheckWorkloadUpdate(From(other), stored)),
              ElementsAre(HasSubstr("spec.selector: Invalid value: {}: field is immutable")));
}

// Whoever was let in before a rule was there can still be changed, deleted and finished.
TEST(WorkloadRules, WhatWasWrongBeforeIsNotHeldAgainstAnUpdate) {
  const api::Object stored =
      From("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}");
  api::Object next = stored;
  next.MutableMetadata().labels["a"] = "b";
  EXPECT_THAT(CheckWorkloadUpdate(next, stored), IsEmpty());
}

}  // namespace
}  // namespace dray::registry
