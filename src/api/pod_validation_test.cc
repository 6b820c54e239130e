// SPDX-License-Identifier: Apache-2.0
//
// dray's own rules for pods, one test each (docs/decisions.md).
#include "api/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/validation_for_test.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string PodWith(const std::string& resources) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: "
         "[{name: c, image: i, resources: " +
         resources + "}]}}";
}
std::vector<std::string> PodFaults(const std::string& resources) {
  std::vector<std::string> messages;
  for (const FieldError& error : ValidateCreate(Parse(PodWith(resources)), {})) {
    messages.push_back(error.Message());
  }
  return messages;
}

// Half a device is none, and a pod that asks for it must not run without (KEP-5004).
TEST(PodResources, DevicesAreAskedForInWholeNumbers) {
  for (const std::string name :
       {"example.com/gpu", "deviceclass.resource.kubernetes.io/gpu.example.com"}) {
    const std::string at = "spec.containers[0].resources.limits[" + name + "]: Invalid value: ";
    EXPECT_THAT(PodFaults("{limits: {" + name + ": '2'}}"), IsEmpty());
    EXPECT_THAT(PodFaults("{limits: {" + name + ": 2000m}}"), IsEmpty());
    EXPECT_THAT(PodFaults("{limits: {" + name + ": 500m}}"),
                ElementsAre(at + "\"500m\": must be an integer"));
    EXPECT_THAT(PodFaults("{limits: {" + name + ": 1500m}}"),
                ElementsAre(at + "\"1500m\": must be an integer"));
    EXPECT_THAT(PodFaults("{limits: {" + name + ": '-1'}}"),
                ElementsAre(at + "\"-1\": must be greater than or equal to 0"));
  }
}

TEST(PodResources, DevicesCannotBeOvercommitted) {
  const std::string at = "spec.containers[0].resources.";
  EXPECT_THAT(PodFaults("{requests: {example.com/gpu: '1'}, limits: {example.com/gpu: '2'}}"),
              ElementsAre(at + "requests: Invalid value: \"1\": must be equal to example.com/gpu "
                               "limit of 2"));
  EXPECT_THAT(PodFaults("{requests: {example.com/gpu: '1'}}"),
              ElementsAre(at + "limits: Required value: Limit must be set for non overcommitable "
                               "resources"));
  // Kubernetes counts names of its own domain as overcommittable.
  EXPECT_THAT(PodFaults("{requests: {deviceclass.resource.kubernetes.io/gpu: '1'}}"), IsEmpty());
  EXPECT_THAT(PodFaults("{requests: {cpu: '2'}, limits: {cpu: '1'}}"),
              ElementsAre(at + "requests: Invalid value: \"2\": must be less than or equal to cpu "
                               "limit of 1"));
  EXPECT_THAT(PodFaults("{requests: {cpu: 500m}, limits: {cpu: '1'}}"), IsEmpty());
}

TEST(PodResources, NamesAreThoseThatAContainerCanAskFor) {
  const std::string long_name(64, 'g');
  EXPECT_THAT(PodFaults("{limits: {deviceclass.resource.kubernetes.io/" + long_name + ": '1'}}"),
              ElementsAre(HasSubstr("name part must be no more than 63")));
  EXPECT_THAT(PodFaults("{limits: {gpu: '1'}}"),
              ElementsAre(HasSubstr("must be a standard resource for containers")));
  EXPECT_THAT(PodFaults("{limits: {requests.example.com/gpu: '1'}}"),
              ElementsAre(HasSubstr("doesn't follow extended resource name standard")));
}

TEST(PodResources, OfAWorkloadAreThoseOfItsPods) {
  const auto job = [](const std::string& amount) {
    return Parse(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: default}, spec: "
        "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: "
        "{limits: "
        "{example.com/gpu: " +
        amount + "}}}]}}}}");
  };
  EXPECT_THAT(Keys(ValidateCreate(job("500m"), {})),
              ElementsAre("FieldValueInvalid spec.template.spec.containers[0].resources.limits["
                          "example.com/gpu]"));
  // One that was stored before the rule was there can still be labelled.
  Object stored = job("500m");
  stored.MutableMetadata().resource_version = "1";
  Object labelled = stored;
  labelled.MutableMetadata().labels["a"] = "b";
  EXPECT_THAT(ValidateUpdate(labelled, stored, {}), IsEmpty());
}

TEST(PodStatus, HealthIsToldOfWhatAContainerAskedFor) {
  const std::string pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: a}, {name: nic, resourceClaimName: b}]
  initContainers: [{name: i, image: i, resources: {claims: [{name: nic}]}}]
  containers:
  - name: c
    image: i
    resources:
      requests: {example.com/gpu: 1}
      limits: {example.com/gpu: 1}
      claims: [{name: gpu}, {name: nic, request: one}]
)";
  const auto of = [&](std::string_view statuses) {
    const Object with = Parse(pod + "status: " + std::string(statuses));
    return Keys(ValidateStatusUpdate(with, Parse(pod), {}));
  };
  EXPECT_THAT(
      of("{containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:gpu', resources: "
         "[{resourceID: x, health: Healthy}, {resourceID: v, health: Unhealthy}, {resourceID: z, "
         "health: Unknown}, {resourceID: w}]}, {name: 'claim:nic/one'}, {name: "
         "example.com/gpu}]}], "
         "initContainerStatuses: [{name: i, allocatedResourcesStatus: [{name: 'claim:nic'}]}]}"),
      IsEmpty());
  EXPECT_THAT(
      of("{containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:nic'}, {name: "
         "'claim:gpu/one'}, {name: 'claim:other'}, {name: example.com/nic}, {name: 'claim:gpu', "
         "resources: [{resourceID: x, health: Fine}, {resourceID: x}]}, {name: 'claim:gpu'}]}], "
         "initContainerStatuses: [{name: i, allocatedResourcesStatus: [{name: 'claim:gpu'}]}, "
         "{name: gone, allocatedResourcesStatus: [{name: 'claim:gpu'}]}]}"),
      ElementsAre(
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[0].name",
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[1].name",
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[2].name",
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[3].name",
          "FieldValueNotSupported "
          "status.containerStatuses[0].allocatedResourcesStatus[4].resources[0].health",
          "FieldValueDuplicate "
          "status.containerStatuses[0].allocatedResourcesStatus[4].resources[1].resourceID",
          "FieldValueDuplicate status.containerStatuses[0].allocatedResourcesStatus[5].name",
          "FieldValueInvalid status.initContainerStatuses[0].allocatedResourcesStatus[0].name",
          "FieldValueInvalid status.initContainerStatuses[1].allocatedResourcesStatus[0].name"));
  // What was made for an extended resource is told of the container that asked for it.
  const std::string extended =
      "extendedResourceClaimStatus: {resourceClaimName: made, requestMappings: [{containerName: c, "
      "resourceName: example.com/gpu, requestName: container-0-request-0}]}, ";
  EXPECT_THAT(of("{" + extended +
                 "containerStatuses: [{name: c, allocatedResourcesStatus: [{name: "
                 "'claim:made/container-0-request-0'}]}]}"),
              IsEmpty());
  EXPECT_THAT(
      of("{" + extended +
         "containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:made/other'}]}], "
         "initContainerStatuses: [{name: i, allocatedResourcesStatus: [{name: "
         "'claim:made/container-0-request-0'}]}]}"),
      ElementsAre(
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[0].name",
          "FieldValueInvalid status.initContainerStatuses[0].allocatedResourcesStatus[0].name"));
}

TEST(PodStatus, WhatClaimsTakeOfTheNodeIsOfTheirsAndOfTheNodes) {
  const std::string pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  resourceClaims: [{name: d, resourceClaimName: a}, {name: t, resourceClaimTemplateName: b}]
  containers: [{name: c, image: i}]
)";
  const auto of = [&](std::string_view statuses) {
    const Object with =
        Parse(pod +
              "status: {resourceClaimStatuses: [{name: t, resourceClaimName: made}], "
              "nodeAllocatableResourceClaimStatuses: " +
              std::string(statuses) + "}");
    return Keys(ValidateStatusUpdate(with, Parse(pod), {}));
  };
  EXPECT_THAT(of("[{resourceClaimName: a, mapping: [{name: cpu, quantity: '2'}]}, "
                 "{resourceClaimName: made, overhead: [{name: hugepages-2Mi, perPod: 2Mi}]}]"),
              IsEmpty());
  const std::string at = "FieldValueInvalid status.nodeAllocatableResourceClaimStatuses[0].";
  EXPECT_THAT(of("[{resourceClaimName: other}]"), ElementsAre(at + "resourceClaimName"));
  EXPECT_THAT(of("[{resourceClaimName: a, mapping: [{name: pods, quantity: '-1'}]}]"),
              ElementsAre(at + "mapping[0].name", at + "mapping[0].quantity"));
  EXPECT_THAT(of("[{resourceClaimName: a, overhead: [{name: cpu}]}]"),
              ElementsAre(at + "overhead[0]"));
  EXPECT_THAT(of("[{resourceClaimName: a, overhead: [{name: cpu, perContainer: '-1'}]}]"),
              ElementsAre(at + "overhead[0].perContainer"));
}

TEST(PodStatus, EveryClaimOfTheSpecHasOneStatus) {
  const std::string pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: a}]
  containers: [{name: c, image: i}]
)";
  const auto of = [&](std::string_view statuses) {
    const Object with =
        Parse(pod + "status: {resourceClaimStatuses: " + std::string(statuses) + "}");
    return Keys(ValidateStatusUpdate(with, Parse(pod), {}));
  };
  EXPECT_THAT(of("[{name: gpu, resourceClaimName: x}]"), IsEmpty());
  EXPECT_THAT(of("[{name: gpu, resourceClaimName: x}, {name: gpu, resourceClaimName: z}]"),
              ElementsAre("FieldValueDuplicate status.resourceClaimStatuses[1].name"));
  EXPECT_THAT(of("[{name: other}]"),
              ElementsAre("FieldValueInvalid status.resourceClaimStatuses[0].name"));
  EXPECT_THAT(of("[{name: gpu, resourceClaimName: Bad_}]"),
              ElementsAre("FieldValueInvalid status.resourceClaimStatuses[0].resourceClaimName"));
}

// Each looked for among the others would take minutes.
TEST(PodStatus, AsMuchAsThereIsRoomForIsCheckedAtOnce) {
  constexpr int kMany = 30'000;
  Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "u";
  pod.metadata.resource_version = "1";
  Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  for (int i = 0; i < kMany; ++i) {
    const std::string name = fmt::format("c{}", i);
    pod.spec.resource_claims.push_back({.name = name, .resource_claim_name = "x"});
    container.resources.claims.push_back({.name = name});
  }
  const Pod before = pod;
  auto& claims = pod.status.resource_claim_statuses.emplace();
  ContainerStatus& status = pod.status.container_statuses.emplace_back();
  status.name = "c";
  auto& special = pod.status.extended_resource_claim_status.emplace();
  special.resource_claim_name = "x";
  for (int i = 0; i < kMany; ++i) {
    claims.push_back({.name = fmt::format("c{}", i)});
    status.allocated_resources_status.push_back({.name = fmt::format("claim:c{}", i)});
    special.request_mappings.push_back(
        {.container_name = "c", .resource_name = "cpu", .request_name = fmt::format("r{}", i)});
  }
  // That of a container that asks for no cpu, once for each mapping.
  EXPECT_EQ(ValidateStatusUpdate(Object::Of(pod), Object::Of(before), {}).size(),
            static_cast<std::size_t>(kMany));
}

TEST(PodUpdate, AsMuchAsThereIsRoomForIsComparedAtOnce) {
  constexpr int kMany = 30'000;
  Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "u";
  pod.metadata.resource_version = "1";
  Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  for (int i = 0; i < kMany; ++i) {
    pod.spec.resource_claims.push_back({.name = fmt::format("c{}", i), .resource_claim_name = "x"});
    container.resources.claims.push_back({.name = fmt::format("c{}", i)});
    pod.spec.tolerations.push_back({.key = fmt::format("k{}", i), .operator_ = "Exists"});
  }
  Pod next = pod;
  // All that there were, and one more.
  next.spec.tolerations.push_back({.key = "k", .operator_ = "Exists"});
  std::ranges::reverse(next.spec.tolerations);
  EXPECT_THAT(ValidateUpdate(Object::Of(next), Object::Of(pod), {}), IsEmpty());
  next.spec.tolerations.pop_back();
  EXPECT_THAT(Keys(ValidateUpdate(Object::Of(next), Object::Of(pod), {})),
              ElementsAre("FieldValueForbidden spec"));
}

TEST(PodStatus, AFaultInARequestNameIsWhereItIs) {
  const char* pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  containers:
  - {name: c, image: i, resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}}
)";
  const Object with = Parse(std::string(pod) + R"(
status:
  extendedResourceClaimStatus:
    resourceClaimName: claim
    requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: Bad}]
)");
  EXPECT_THAT(Keys(ValidateStatusUpdate(with, Parse(pod), {})),
              ElementsAre("FieldValueInvalid "
                          "status.extendedResourceClaimStatus.requestMappings[0].requestName"));
}

}  // namespace
}  // namespace dray::api
