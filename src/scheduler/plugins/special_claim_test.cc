// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/special_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Amounts = std::initializer_list<std::pair<std::string_view, std::int64_t>>;

api::Container MakeContainer(std::string name, Amounts amounts) {
  api::Container container{.name = std::move(name)};
  for (const auto& [resource, amount] : amounts) {
    container.resources.requests[resource] = base::Quantity::FromInt(amount);
  }
  return container;
}

api::DeviceClass MakeClass(std::string name, std::string resource = {}) {
  api::DeviceClass device_class;
  device_class.metadata.name = std::move(name);
  if (!resource.empty()) device_class.spec.extended_resource_name = std::move(resource);
  return device_class;
}

struct Asked {
  std::vector<api::Container> init;
  std::vector<api::Container> containers;
};
api::Pod PodAsking(const Asked& asked) {
  api::Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "ns";
  pod.metadata.uid = "uid";
  pod.spec.init_containers = asked.init;
  pod.spec.containers = asked.containers;
  return pod;
}
api::Container Sidecar(std::string name, Amounts amounts) {
  api::Container container = MakeContainer(std::move(name), amounts);
  container.restart_policy = std::string(api::kRestartPolicyAlways);
  return container;
}

constexpr std::string_view kGpu = "example.com/gpu";
constexpr std::string_view kNic = "example.com/nic";

struct RequestsCase {
  std::string name;
  Asked asked;
  std::vector<std::string> requests;  // "name=class:count"
  std::vector<std::string> mappings;  // "container/resource=request"
  friend void PrintTo(const RequestsCase& c, std::ostream* os) { *os << c.name; }
};
class SpecialRequestsTest : public ::testing::TestWithParam<RequestsCase> {};

TEST_P(SpecialRequestsTest, AreNamedAndSharedAsInKubernetes) {
  const std::vector<ExtendedResource> resources = {{std::string(kGpu), "gpu"},
                                                   {std::string(kNic), "nic"}};
  const std::vector<const ExtendedResource*> pointers = {&resources[0], &resources[1]};
  const SpecialRequests made = RequestsFor(PodAsking(GetParam().asked), pointers);
  std::vector<std::string> requests;
  std::int64_t devices = 0;
  for (const api::DeviceRequest& request : made.requests) {
    requests.push_back(fmt::format("{}={}:{}", request.name, request.exactly->device_class_name,
                                   request.exactly->count));
    devices += request.exactly->count;
    EXPECT_EQ(request.exactly->allocation_mode, api::kAllocationModeExactCount);
  }
  std::vector<std::string> mappings;
  for (const auto& mapping : made.mappings) {
    mappings.push_back(fmt::format("{}/{}={}", mapping.container_name, mapping.resource_name,
                                   mapping.request_name));
  }
  EXPECT_EQ(requests, GetParam().requests);
  EXPECT_EQ(mappings, GetParam().mappings);
  EXPECT_EQ(made.devices, devices);
}

INSTANTIATE_TEST_SUITE_P(
    Kep5004, SpecialRequestsTest,
    ::testing::ValuesIn(std::vector<RequestsCase>{
        // The second number counts cpu and memory, too.
        {.name = "one_container",
         .asked = {.containers = {MakeContainer("c", {{"cpu", 1}, {kGpu, 2}, {"memory", 5}})}},
         .requests = {"container-0-request-1=gpu:2"},
         .mappings = {"c/example.com/gpu=container-0-request-1"}},
        {.name = "two_resources",
         .asked = {.containers = {MakeContainer("c", {{kGpu, 1}, {kNic, 3}})}},
         .requests = {"container-0-request-0=gpu:1", "container-0-request-1=nic:3"},
         .mappings = {"c/example.com/gpu=container-0-request-0",
                      "c/example.com/nic=container-0-request-1"}},
        {.name = "containers_and_sidecars_have_their_own",
         .asked = {.init = {Sidecar("s", {{kGpu, 1}})},
                   .containers = {MakeContainer("a", {{kGpu, 2}}), MakeContainer("b", {{"cpu", 1}}),
                                  MakeContainer("c", {{kGpu, 3}})}},
         .requests = {"container-0-request-0=gpu:1", "container-1-request-0=gpu:2",
                      "container-3-request-0=gpu:3"},
         .mappings = {"s/example.com/gpu=container-0-request-0",
                      "a/example.com/gpu=container-1-request-0",
                      "c/example.com/gpu=container-3-request-0"}},
        {.name = "an_init_container_uses_what_follows",
         .asked = {.init = {MakeContainer("i", {{kGpu, 2}})},
                   .containers = {MakeContainer("a", {{kGpu, 1}}),
                                  MakeContainer("b", {{kGpu, 4}})}},
         .requests = {"container-1-request-0=gpu:1", "container-2-request-0=gpu:4"},
         .mappings = {"a/example.com/gpu=container-1-request-0",
                      "b/example.com/gpu=container-2-request-0",
                      "i/example.com/gpu=container-1-request-0",
                      "i/example.com/gpu=container-2-request-0"}},
        // A sidecar that has started keeps its devices from the init container after it.
        {.name = "an_init_container_cannot_use_an_earlier_sidecars",
         .asked = {.init = {Sidecar("s", {{kGpu, 2}}), MakeContainer("i", {{kGpu, 2}})},
                   .containers = {MakeContainer("a", {{kGpu, 1}})}},
         .requests = {"container-0-request-0=gpu:2", "container-1-request-0=gpu:1",
                      "container-2-request-0=gpu:1"},
         .mappings = {"s/example.com/gpu=container-0-request-0",
                      "a/example.com/gpu=container-2-request-0",
                      "i/example.com/gpu=container-2-request-0",
                      "i/example.com/gpu=container-1-request-0"}},
        // Init containers run one after the other: the largest rest serves all of them.
        {.name = "init_containers_share_the_rest",
         .asked = {.init = {MakeContainer("i", {{kGpu, 2}}), MakeContainer("j", {{kGpu, 4}}),
                            MakeContainer("k", {{kGpu, 3}})},
                   .containers = {MakeContainer("a", {{kGpu, 1}})}},
         .requests = {"container-1-request-0=gpu:3", "container-3-request-0=gpu:1"},
         .mappings =
             {"a/example.com/gpu=container-3-request-0", "i/example.com/gpu=container-3-request-0",
              "i/example.com/gpu=container-1-request-0", "j/example.com/gpu=container-3-request-0",
              "j/example.com/gpu=container-1-request-0", "k/example.com/gpu=container-3-request-0",
              "k/example.com/gpu=container-1-request-0"}},
        {.name = "zero_asks_for_nothing",
         .asked = {.containers = {MakeContainer("a", {{kGpu, 0}})}}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(SpecialRequests, AreInTheOrderOfTheirNamesAsTexts) {
  Asked asked;
  for (int i = 0; i < 11; ++i) {
    asked.containers.push_back(MakeContainer(fmt::format("c{}", i), {{kGpu, 1}}));
  }
  const ExtendedResource gpu{std::string(kGpu), "gpu"};
  const std::vector<const ExtendedResource*> resources = {&gpu};
  const SpecialRequests made = RequestsFor(PodAsking(asked), resources);
  ASSERT_EQ(made.requests.size(), 11U);
  EXPECT_EQ(made.requests[2].name, "container-10-request-0");
  EXPECT_EQ(made.requests[3].name, "container-2-request-0");
}

TEST(ExtendedResources, AreThoseThatClassesServeByExplicitAndImplicitNames) {
  api::ExtendedResourceIndex classes;
  classes.OnAdd(MakeClass("gpu", std::string(kGpu)));
  classes.OnAdd(MakeClass("nic"));
  const api::Pod pod = PodAsking(
      {.init = {MakeContainer("i", {{"deviceclass.resource.kubernetes.io/nic", 1}})},
       .containers = {MakeContainer("a", {{"cpu", 1}, {kGpu, 1}, {"other.com/thing", 1}})}});
  std::vector<std::string> found;
  for (const ExtendedResource& resource : ExtendedResourcesOf(pod, classes)) {
    found.push_back(fmt::format("{}={}", resource.name, resource.device_class));
  }
  // The last one is left to device plugins; it must be known, since a node may not have it.
  EXPECT_THAT(found, ElementsAre("deviceclass.resource.kubernetes.io/nic=nic",
                                 "example.com/gpu=gpu", "other.com/thing="));
}

TEST(ExtendedResources, OfAPodThatOnlyUsesDevicePluginsAreNotOurs) {
  api::ExtendedResourceIndex classes;
  classes.OnAdd(MakeClass("gpu", std::string(kGpu)));
  const api::Pod pod = PodAsking({.containers = {MakeContainer("a", {{"other.com/thing", 1}}),
                                                 MakeContainer("b", {{kGpu, 0}})}});
  EXPECT_THAT(ExtendedResourcesOf(pod, classes), IsEmpty());
}

TEST(SpecialClaim, IsOwnedByThePodAndMarked) {
  const api::ResourceClaim claim = MakeSpecialClaim(PodAsking({}));
  EXPECT_EQ(claim.metadata.namespace_, "ns");
  EXPECT_EQ(claim.metadata.generate_name, "pod-extended-resources-");
  EXPECT_FALSE(Stored(claim));
  EXPECT_EQ(*claim.metadata.annotations.Find(api::kExtendedResourceClaimAnnotation), "true");
  const api::OwnerReference* owner = api::ExtendedResourcePod(claim);
  ASSERT_NE(owner, nullptr);
  EXPECT_EQ(owner->uid, "uid");
}

}  // namespace
}  // namespace dray::scheduler
