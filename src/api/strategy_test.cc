// SPDX-License-Identifier: Apache-2.0
//
// dray's own rules and corners; what Kubernetes does is in the recorded cases
// (test/conformance/strategy_cases.cc).
#include "api/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/device_class.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const base::Time kNow = base::Time::FromUnix(1'000, 500);

template <typename T>
T Read(std::string_view json) {
  JsonDecoder decoder;
  auto value = decoder.Decode<T>(json, {.strict = true});
  EXPECT_TRUE(value.ok()) << value.status();
  return *value;
}

StrategyOptions Without(std::initializer_list<Gate> off) {
  StrategyOptions options{.gates = {}, .now = kNow};
  for (const Gate gate : off) options.gates.Set(gate, false);
  return options;
}

template <typename T>
T Created(const T& value, const StrategyOptions& options) {
  Object object = Object::Of(value);
  PrepareForCreate(object, options);
  return *object.As<T>();
}
template <typename T>
T Updated(const T& value, const T& old, const StrategyOptions& options) {
  Object object = Object::Of(value);
  PrepareForUpdate(object, Object::Of(old), options);
  return *object.As<T>();
}
template <typename T>
T StatusUpdated(const T& value, const T& old, const StrategyOptions& options) {
  Object object = Object::Of(value);
  PrepareForStatusUpdate(object, Object::Of(old), options);
  return *object.As<T>();
}

constexpr std::string_view kKepList = R"({"spec":{"devices":[{"name":"d","attributes":{
    "scalar":{"int":1}, "listed":{"list":{"string":["a"]}}}}]}})";
constexpr std::string_view kKubernetesList = R"({"spec":{"devices":[{"name":"d","attributes":{
    "scalar":{"int":1}, "listed":{"strings":["a"]}}}]}})";

TEST(SliceStrategy, ListsInEitherFormAreDroppedInsideTheirAttribute) {
  for (const std::string_view json : {kKepList, kKubernetesList}) {
    const auto slice = Created(Read<ResourceSlice>(json), Without({Gate::kDRAListTypeAttributes}));
    const Device& device = slice.spec.devices->at(0);
    ASSERT_NE(device.attributes.Find("listed"), nullptr);
    EXPECT_EQ(*device.attributes.Find("listed"), DeviceAttribute());
    EXPECT_EQ(device.attributes.Find("scalar")->int_value, 1);
  }
}

TEST(SliceStrategy, AListInOneFormKeepsListsInTheOther) {
  const auto kep = Read<ResourceSlice>(kKepList);
  const auto kubernetes = Read<ResourceSlice>(kKubernetesList);
  const auto options = Without({Gate::kDRAListTypeAttributes});
  EXPECT_EQ(Updated(kep, kubernetes, options).spec, kep.spec);
  EXPECT_EQ(Updated(kubernetes, kep, options).spec, kubernetes.spec);
}

TEST(SliceStrategy, BindingConditionsNeedDeviceStatusToo) {
  const auto slice = Read<ResourceSlice>(
      R"({"spec":{"devices":[{"name":"d","bindsToNode":true,"bindingConditions":["c"]}]}})");
  for (const Gate gate : {Gate::kDRADeviceBindingConditions, Gate::kDRAResourceClaimDeviceStatus}) {
    const auto dropped = Created(slice, Without({gate}));
    EXPECT_THAT(dropped.spec.devices->at(0).binding_conditions, IsEmpty());
    EXPECT_EQ(dropped.spec.devices->at(0).binds_to_node, std::nullopt);
  }
  EXPECT_EQ(Created(slice, Without({})).spec, slice.spec);
}

TEST(SliceStrategy, GenerationCountsFieldsThatAreThenDropped) {
  auto old = Read<ResourceSlice>(R"({"metadata":{"generation":7},"spec":{"driver":"a"}})");
  auto slice = old;
  EXPECT_EQ(Updated(slice, old, Without({})).metadata.generation, 7);
  slice.spec.partition_type_attribute = "a/b";
  const auto updated = Updated(slice, old, Without({Gate::kDRAPartitionableDevicesType}));
  EXPECT_EQ(updated.metadata.generation, 8);
  EXPECT_EQ(updated.spec, old.spec);
}

TEST(ClassStrategy, GenerationDoesNotCountFieldsThatAreDropped) {
  const auto old = Read<DeviceClass>(R"({"metadata":{"generation":7}})");
  auto changed = old;
  changed.spec.extended_resource_name = "example.com/gpu";
  const auto off = Updated(changed, old, Without({Gate::kDRAExtendedResource}));
  EXPECT_EQ(off.metadata.generation, 7);
  EXPECT_EQ(off.spec.extended_resource_name, std::nullopt);
  EXPECT_EQ(Updated(changed, old, Without({})).metadata.generation, 8);
}

constexpr std::string_view kAllocated = R"({"status":{"allocation":{"devices":{"results":[
    {"request":"r","driver":"d","pool":"p","device":"x",
     "compatibilityGroups":{"set":["group"]}}]}}}})";

TEST(ClaimStrategy, GroupSnapshotsAreGated) {
  const auto claim = Read<ResourceClaim>(kAllocated);
  const auto off = Without({Gate::kDRADeviceCompatibilityGroups});
  const auto dropped = StatusUpdated(claim, ResourceClaim(), off);
  EXPECT_TRUE(dropped.status.allocation->devices.results.at(0).compatibility_groups.empty());
  EXPECT_EQ(StatusUpdated(claim, claim, off).status, claim.status);
  EXPECT_EQ(StatusUpdated(claim, ResourceClaim(), Without({})).status, claim.status);
}

TEST(ClaimStrategy, TheSpecCountsAsUseForTheStatus) {
  auto claim = Read<ResourceClaim>(kAllocated);
  claim.status.allocation->devices.results[0].share_id = "share";
  ResourceClaim old;
  const auto off = Without({Gate::kDRAConsumableCapacity});
  const auto share = [](const ResourceClaim& c) {
    return c.status.allocation->devices.results.at(0).share_id;
  };
  EXPECT_EQ(share(StatusUpdated(claim, old, off)), std::nullopt);
  old.spec.devices.constraints = {{.distinct_attribute = "a/b"}};
  EXPECT_EQ(share(StatusUpdated(claim, old, off)), "share");
}

TEST(ClaimStrategy, StatusOfAShareThatWasGivenBackGoes) {
  auto old = Read<ResourceClaim>(R"({"status":{"allocation":{"devices":{"results":[
      {"driver":"d","pool":"p","device":"x","shareID":"1"},
      {"driver":"d","pool":"p","device":"x","shareID":"2"}]}},
      "devices":[{"driver":"d","pool":"p","device":"x","shareID":"1"},
                 {"driver":"d","pool":"p","device":"x","shareID":"2"}]}})");
  auto claim = old;
  claim.status.allocation->devices.results.pop_back();
  const auto kept = StatusUpdated(claim, old, Without({})).status.devices;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].share_id, "1");
}

TEST(Defaults, V1beta1RequestsWithoutAClassGetNone) {
  constexpr std::string_view kRequest =
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim",
          "spec":{"devices":{"requests":[{"name":"r","adminAccess":true}]}}})";
  JsonDecoder decoder;
  auto object = DecodeObject(decoder, kRequest);
  ASSERT_TRUE(object.ok()) << object.status();
  SetDefaults(*object, kNow);
  const auto& request = object->As<ResourceClaim>()->spec.devices.requests.at(0);
  EXPECT_EQ(request.exactly->allocation_mode, "");
  EXPECT_EQ(request.exactly->count, 0);
}

TEST(Defaults, AreIdempotentAndInWholeSeconds) {
  Object object = Object::Of(DeviceTaintRule());
  SetDefaults(object, kNow);
  EXPECT_EQ(object.As<DeviceTaintRule>()->spec.taint.time_added, base::Time::FromUnix(1'000));
  SetDefaults(object, base::Time::FromUnix(2'000));
  EXPECT_EQ(object.As<DeviceTaintRule>()->spec.taint.time_added, base::Time::FromUnix(1'000));
}

Pod DefaultedPod(std::string_view json) {
  Object object = Object::Of(Read<Pod>(json));
  SetDefaults(object, kNow);
  return *object.As<Pod>();
}

// A constraint on a derived attribute that overrides a static one would silently compare the static
// one: KEP-6080 wants such claims rejected, which validation does.
TEST(ClaimStrategy, DerivedAttributesAreNotDroppedBehindTheClaimsBack) {
  const auto claim = Read<ResourceClaim>(R"({"spec":{"devices":{"requests":[{"name":"r","exactly":{
      "deviceClassName":"c","derivedAttributes":[{"name":"a.b/c","expression":"1"}]}}]}}})");
  StrategyOptions off = Without({Gate::kDRADerivedAttributes});
  EXPECT_EQ(Created(claim, off).spec, claim.spec);
  EXPECT_EQ(Updated(claim, ResourceClaim(), off).spec, claim.spec);
  off.kubernetes_only = true;
  EXPECT_THAT(Created(claim, off).spec.devices.requests.at(0).exactly->derived_attributes,
              IsEmpty());
}

TEST(PodStrategy, TheSchedulingGroupIsGated) {
  const auto pod = Read<Pod>(R"({"spec":{"schedulingGroup":{"podGroupName":"g"}}})");
  EXPECT_FALSE(Created(pod, Without({})).spec.scheduling_group.has_value());
  EXPECT_FALSE(Updated(pod, Pod(), Without({})).spec.scheduling_group.has_value());
  EXPECT_EQ(Updated(pod, pod, Without({})).spec, pod.spec);
  StrategyOptions on = Without({});
  on.gates.Set(Gate::kGenericWorkload, true);
  EXPECT_EQ(Created(pod, on).spec, pod.spec);
}

TEST(PodDefaults, LimitsAreRequestedUnlessTheRequestSaysOtherwise) {
  const Pod pod = DefaultedPod(R"({"spec":{"containers":[{"name":"c","resources":{
      "limits":{"example.com/gpu":"2","cpu":"2"},"requests":{"cpu":"1"}}}]}})");
  const auto& requests = pod.spec.containers.at(0).resources.requests;
  EXPECT_EQ(requests.Find("example.com/gpu")->ToString(), "2");
  EXPECT_EQ(requests.Find("cpu")->ToString(), "1");
}

TEST(PodDefaults, FillInWhatSchedulerAndNodeNeed) {
  const Pod pod = DefaultedPod(R"({"spec":{"hostNetwork":true,"containers":[
      {"name":"a","image":"registry:5000/x","ports":[{"containerPort":80}]},
      {"name":"b","image":"x:v1"},{"name":"c","image":"x@sha256:0"},
      {"name":"d","image":"x:latest","resources":{"requests":{"cpu":"100u"}}}]}})");
  EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.spec.restart_policy, "Always");
  EXPECT_EQ(pod.spec.termination_grace_period_seconds, 30);
  std::vector<std::string> policies;
  for (const Container& c : pod.spec.containers) policies.push_back(c.image_pull_policy);
  EXPECT_THAT(policies, ElementsAre("Always", "IfNotPresent", "IfNotPresent", "Always"));
  EXPECT_EQ(pod.spec.containers[0].ports[0].protocol, "TCP");
  EXPECT_EQ(pod.spec.containers[0].ports[0].host_port, 80);
  EXPECT_EQ(pod.spec.containers[3].resources.requests.Find("cpu")->ToString(), "1m");
}

TEST(PodStrategy, ANewPodIsPendingWithItsQosClass) {
  auto pod = Read<Pod>(R"({"spec":{"containers":[{"name":"c","resources":{
      "limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}]},
      "status":{"phase":"Running"}})");
  EXPECT_EQ(Created(pod, Without({})).status.phase, "Pending");
  EXPECT_EQ(Created(pod, Without({})).status.qos_class, "Guaranteed");
  pod.spec.init_containers.resize(1);
  EXPECT_EQ(Created(pod, Without({})).status.qos_class, "Burstable");
  pod.spec.containers.clear();
  pod.spec.init_containers[0].resources.limits["example.com/gpu"] = base::Quantity::FromInt(1);
  EXPECT_EQ(Created(pod, Without({})).status.qos_class, "BestEffort");
}

TEST(PodStrategy, AGatedPodSaysSo) {
  const auto pod =
      Created(Read<Pod>(R"({"spec":{"schedulingGates":[{"name":"g"}]}})"), Without({}));
  ASSERT_EQ(pod.status.conditions.size(), 1U);
  EXPECT_EQ(pod.status.conditions[0].type, "PodScheduled");
  EXPECT_EQ(pod.status.conditions[0].reason, "SchedulingGated");
}

constexpr std::string_view kPodWithStatus = R"({"status":{
    "resourceClaimStatuses":[{"name":"a"}],
    "extendedResourceClaimStatus":{"requestMappings":[],"resourceClaimName":"c"},
    "nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"c"}]}})";

TEST(PodStrategy, AStatusUpdateWithoutClaimStatusesKeepsThem) {
  const auto old = Read<Pod>(kPodWithStatus);
  EXPECT_EQ(StatusUpdated(Pod(), old, Without({})).status, old.status);
  Pod cleared;
  cleared.status.resource_claim_statuses.emplace();
  EXPECT_TRUE(StatusUpdated(cleared, old, Without({})).status.resource_claim_statuses->empty());
}

TEST(PodStrategy, AStatusUpdateKeepsOwnersAndDeletion) {
  Pod old;
  old.metadata.owner_references = {{.name = "owner"}};
  old.metadata.deletion_timestamp = kNow;
  old.metadata.labels = {{"a", "old"}};
  Pod pod;
  pod.metadata.labels = {{"a", "new"}};
  const Pod updated = StatusUpdated(pod, old, Without({}));
  EXPECT_EQ(updated.metadata.owner_references, old.metadata.owner_references);
  EXPECT_EQ(updated.metadata.deletion_timestamp, kNow);
  // Unlike for claims: kubelets may label pods here.
  EXPECT_EQ(updated.metadata.labels, pod.metadata.labels);
}

TEST(PodStrategy, ClaimStatusesAreGated) {
  const auto pod = Read<Pod>(kPodWithStatus);
  const auto off = Without({Gate::kDRAExtendedResource, Gate::kDRANodeAllocatableResources});
  const Pod dropped = StatusUpdated(pod, Pod(), off);
  EXPECT_FALSE(dropped.status.extended_resource_claim_status);
  EXPECT_FALSE(dropped.status.node_allocatable_resource_claim_statuses);
  EXPECT_TRUE(dropped.status.resource_claim_statuses);
  EXPECT_EQ(StatusUpdated(pod, pod, off).status, pod.status);
}

TEST(PodStrategy, HealthAndItsMessageAreGated) {
  const auto pod = Read<Pod>(R"({"status":{"initContainerStatuses":[{"name":"i",
      "allocatedResourcesStatus":[{"name":"n","resources":[
          {"resourceID":"r","message":"hot"}]}]}]}})");
  const auto statuses = [&](Gate gate) {
    return StatusUpdated(pod, Pod(), Without({gate}))
        .status.init_container_statuses.at(0)
        .allocated_resources_status;
  };
  EXPECT_THAT(statuses(Gate::kResourceHealthStatus), IsEmpty());
  ASSERT_EQ(statuses(Gate::kResourceHealthStatusMessage).size(), 1U);
  EXPECT_EQ(statuses(Gate::kResourceHealthStatusMessage)[0].resources[0].message, std::nullopt);
}

TEST(PodStrategy, ObservedGenerationsAreNotCleared) {
  const auto old = Read<Pod>(R"({"status":{"observedGeneration":3,"conditions":[
      {"type":"A","observedGeneration":1},{"type":"A","observedGeneration":2}]}})");
  const auto pod = Read<Pod>(R"({"status":{"conditions":[
      {"type":"A"},{"type":"B"},{"type":"A","observedGeneration":9},{"type":"A"}]}})");
  const PodStatus status = StatusUpdated(pod, old, Without({})).status;
  EXPECT_EQ(status.observed_generation, 3);
  std::vector<std::int64_t> generations;
  for (const auto& condition : status.conditions) {
    generations.push_back(condition.observed_generation);
  }
  EXPECT_THAT(generations, ElementsAre(1, 0, 9, 0));
}

TEST(PodStrategy, AnUpdateKeepsStatusAndCountsSpecChanges) {
  auto old = Read<Pod>(R"({"metadata":{"generation":4},"status":{"phase":"Running"}})");
  Pod pod = old;
  pod.status = {};
  EXPECT_EQ(Updated(pod, old, Without({})).status, old.status);
  EXPECT_EQ(Updated(pod, old, Without({})).metadata.generation, 4);
  pod.spec.node_name = "n";
  EXPECT_EQ(Updated(pod, old, Without({})).metadata.generation, 5);
}

}  // namespace
}  // namespace dray::api
