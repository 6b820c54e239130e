// SPDX-License-Identifier: Apache-2.0
#include "api/extended_resources.h"

#include <gtest/gtest.h>

namespace dray::api {
namespace {

DeviceClass Class(std::string name, std::string extended, std::int64_t created) {
  DeviceClass result;
  result.metadata.name = std::move(name);
  result.metadata.creation_timestamp = base::Time::FromUnix(created);
  if (!extended.empty()) result.spec.extended_resource_name = std::move(extended);
  return result;
}

std::string ClassFor(const ExtendedResourceIndex& index, std::string_view name) {
  const std::string* found = index.FindClass(name);
  return found != nullptr ? *found : "none";
}

constexpr std::string_view kGpu = "example.com/gpu";

TEST(ResourceNames, ExtendedMeansADomainThatIsNotKubernetes) {
  EXPECT_TRUE(IsExtendedResourceName("example.com/gpu"));
  EXPECT_FALSE(IsExtendedResourceName("cpu"));
  EXPECT_FALSE(IsExtendedResourceName("hugepages-2Mi"));
  EXPECT_FALSE(IsExtendedResourceName("kubernetes.io/gpu"));
  EXPECT_FALSE(IsExtendedResourceName("deviceclass.resource.kubernetes.io/gpu"));
  EXPECT_FALSE(IsExtendedResourceName("requests.example.com/gpu"));
  EXPECT_FALSE(IsExtendedResourceName("example.com/"));
  EXPECT_FALSE(IsExtendedResourceName("Example.com/gpu"));
  // "requests." takes nine of the domain's 253 bytes.
  EXPECT_TRUE(IsExtendedResourceName(std::string(244, 'a') + "/gpu"));
  EXPECT_FALSE(IsExtendedResourceName(std::string(245, 'a') + "/gpu"));
}

TEST(ResourceNames, DeviceResourcesAreExtendedOrImplicit) {
  EXPECT_TRUE(IsDeviceResourceName("example.com/gpu"));
  EXPECT_TRUE(IsDeviceResourceName("deviceclass.resource.kubernetes.io/gpu"));
  EXPECT_FALSE(IsDeviceResourceName("memory"));
  EXPECT_EQ(ImplicitResourceName("gpu"), "deviceclass.resource.kubernetes.io/gpu");
}

TEST(ExtendedResourceIndex, EveryClassHasItsImplicitName) {
  ExtendedResourceIndex index;
  index.OnAdd(Class("a", "", 1));
  EXPECT_EQ(ClassFor(index, "deviceclass.resource.kubernetes.io/a"), "a");
  EXPECT_EQ(ClassFor(index, "deviceclass.resource.kubernetes.io/b"), "none");
  EXPECT_EQ(index.FindExplicitName("a"), nullptr);
}

TEST(ExtendedResourceIndex, TheNewestClassServesAnExplicitName) {
  ExtendedResourceIndex index;
  index.OnAdd(Class("new", std::string(kGpu), 2));
  index.OnAdd(Class("old", std::string(kGpu), 1));
  EXPECT_EQ(ClassFor(index, kGpu), "new");
  // The class that serves nothing keeps its implicit name, and its own explicit one for quota.
  EXPECT_EQ(ClassFor(index, "deviceclass.resource.kubernetes.io/old"), "old");
  EXPECT_EQ(*index.FindExplicitName("old"), kGpu);
}

TEST(ExtendedResourceIndex, OfEquallyNewClassesTheSmallestNameServes) {
  ExtendedResourceIndex index;
  index.OnAdd(Class("b", std::string(kGpu), 1));
  index.OnAdd(Class("a", std::string(kGpu), 1));
  EXPECT_EQ(ClassFor(index, kGpu), "a");
}

TEST(ExtendedResourceIndex, AClassWithoutCreationTimeIsTheOldest) {
  ExtendedResourceIndex index;
  index.OnAdd(Class("b", std::string(kGpu), -5));
  DeviceClass timeless = Class("a", std::string(kGpu), 0);
  timeless.metadata.creation_timestamp.reset();
  index.OnAdd(timeless);
  EXPECT_EQ(ClassFor(index, kGpu), "b");
}

TEST(ExtendedResourceIndex, ANameMovesFromOneClassToAnotherWithoutAGap) {
  for (const bool clear : {true, false}) {
    ExtendedResourceIndex index;
    index.OnAdd(Class("old", std::string(kGpu), 1));
    index.OnAdd(Class("new", std::string(kGpu), 2));
    EXPECT_EQ(ClassFor(index, kGpu), "new");
    if (clear) {
      index.OnUpdate(Class("old", "", 1));
    } else {
      index.OnDelete(Class("old", std::string(kGpu), 1));
    }
    EXPECT_EQ(ClassFor(index, kGpu), "new");
  }
}

TEST(ExtendedResourceIndex, TheOldClassTakesOverAgainWhenTheNewOneGoes) {
  ExtendedResourceIndex index;
  index.OnAdd(Class("old", std::string(kGpu), 1));
  index.OnAdd(Class("new", std::string(kGpu), 2));
  index.OnUpdate(Class("new", "example.com/other", 2));
  EXPECT_EQ(ClassFor(index, kGpu), "old");
  EXPECT_EQ(ClassFor(index, "example.com/other"), "new");
  index.OnUpdate(Class("new", std::string(kGpu), 2));
  index.OnDelete(Class("new", "", 2));  // what the event carries does not matter
  EXPECT_EQ(ClassFor(index, kGpu), "old");
}

TEST(ExtendedResourceIndex, UnexpectedEventsAreNoMistakes) {
  ExtendedResourceIndex index;
  index.OnDelete(Class("a", std::string(kGpu), 1));
  index.OnUpdate(Class("a", std::string(kGpu), 1));
  index.OnAdd(Class("a", std::string(kGpu), 1));
  EXPECT_EQ(ClassFor(index, kGpu), "a");
  index.OnDelete(Class("a", std::string(kGpu), 1));
  EXPECT_EQ(ClassFor(index, kGpu), "none");
}

TEST(ExtendedResourceIndex, AnExplicitNameCannotTakeAnImplicitOne) {
  ExtendedResourceIndex index;
  index.OnAdd(Class("thief", "deviceclass.resource.kubernetes.io/gpu", 1));
  EXPECT_EQ(ClassFor(index, "deviceclass.resource.kubernetes.io/gpu"), "none");
}

TEST(ExtendedResourcePod, IsTheControllerOfAnAnnotatedClaim) {
  ResourceClaim claim;
  claim.metadata.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "p", .uid = "u", .controller = true}};
  EXPECT_EQ(ExtendedResourcePod(claim), nullptr);
  for (const std::string value : {"true", "p"}) {
    claim.metadata.annotations[kExtendedResourceClaimAnnotation] = value;
    ASSERT_NE(ExtendedResourcePod(claim), nullptr) << value;
    EXPECT_EQ(ExtendedResourcePod(claim)->name, "p");
  }
  claim.metadata.annotations[kExtendedResourceClaimAnnotation] = "other";
  EXPECT_EQ(ExtendedResourcePod(claim), nullptr);
  claim.metadata.annotations[kExtendedResourceClaimAnnotation] = "true";
  claim.metadata.owner_references[0].controller = false;
  EXPECT_EQ(ExtendedResourcePod(claim), nullptr);
}

}  // namespace
}  // namespace dray::api
