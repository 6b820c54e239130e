// SPDX-License-Identifier: Apache-2.0
//
// Workloads and PodGroups through the door.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kGroups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
const std::string kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],)"
    R"("schedulingGroup":{"podGroupName":"g"}}})";

RegistryOptions With(std::initializer_list<api::Gate> on) {
  RegistryOptions options;
  for (const api::Gate gate : on) options.rules.gates.Set(gate, true);
  return options;
}

TEST(PodGroupDoor, WithoutTheGateThereAreNoGroups) {
  World world;
  EXPECT_EQ(world.Get(kGroups).status, 404);
  EXPECT_EQ(world.Get("/apis/scheduling.k8s.io/v1beta1").status, 404);
  EXPECT_THAT(world.Get("/apis").text, Not(HasSubstr("scheduling.k8s.io/v1beta1")));
  // A pod is alone then: what nobody would act by is not stored (row 13).
  const Answer pod = world.Post(kPods, std::string(kPod));
  EXPECT_EQ(pod.status, 201) << pod.text;
  EXPECT_THAT(pod.text, Not(HasSubstr("podGroupName")));
}

TEST(PodGroupDoor, WithTheGateTheyAreServedInTwoVersions) {
  World world(With({api::Gate::kGenericWorkload}));
  EXPECT_THAT(world.Get("/apis/scheduling.k8s.io").text,
              HasSubstr(R"("preferredVersion":{"groupVersion":"scheduling.k8s.io/v1",)"));
  EXPECT_THAT(world.Get("/apis/scheduling.k8s.io/v1beta1").text, HasSubstr("podgroups/status"));
  const Answer made = world.Post(
      kGroups, R"({"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  // Row 5.
  EXPECT_THAT(made.text, HasSubstr(R"("disruptionMode":{"single":{}})"));
  EXPECT_THAT(made.text, HasSubstr(R"("priority":0)"));
  EXPECT_THAT(made.text, HasSubstr(R"("finalizers":["scheduling.k8s.io/podgroup-protection"])"));
  EXPECT_THAT(made.text, Not(HasSubstr("generation")));
  const Answer older = world.Get("/apis/scheduling.k8s.io/v1alpha3/namespaces/default/podgroups/g");
  EXPECT_THAT(older.text, HasSubstr(R"("apiVersion":"scheduling.k8s.io/v1alpha3")"));
  const Answer table =
      world.Ask({.path = kGroups, .accept = "application/json;as=Table;g=meta.k8s.io;v=v1"});
  EXPECT_THAT(table.text, HasSubstr(R"("cells":["g","Gang","<none>","Pending",)"));
  EXPECT_THAT(world.Post(kPods, std::string(kPod)).text, HasSubstr(R"("podGroupName":"g")"));
}

TEST(PodGroupDoor, PrioritiesComeFromClasses) {
  World world(With({api::Gate::kGenericWorkload, api::Gate::kPodGroupPreemptionPolicy}));
  // Row 8.
  const Answer own = world.Post(
      kGroups,
      R"({"metadata":{"name":"a"},"spec":{"priority":7,"schedulingPolicy":{"basic":{}}}})");
  EXPECT_EQ(own.status, 403);
  EXPECT_THAT(own.text, HasSubstr("priority set in the pod group (7) must match the priority "
                                  "computed (0) based on the priority class set in the spec"));
  EXPECT_THAT(world
                  .Post(kGroups, R"({"metadata":{"name":"a"},"spec":{"priorityClassName":"no",)"
                                 R"("schedulingPolicy":{"basic":{}}}})")
                  .text,
              HasSubstr("no PriorityClass with name no was found"));
  ASSERT_EQ(world
                .Post("/apis/scheduling.k8s.io/v1/priorityclasses",
                      R"({"metadata":{"name":"quiet"},"value":9,"preemptionPolicy":"Never"})")
                .status,
            201);
  // The class's policy counts where the group has none of its own.
  const Answer quiet = world.Post(
      kGroups,
      R"({"metadata":{"name":"q"},"spec":{"priorityClassName":"quiet","schedulingPolicy":{"basic":{}}}})");
  EXPECT_EQ(quiet.status, 201) << quiet.text;
  EXPECT_THAT(quiet.text, HasSubstr(R"("priority":9,"preemptionPolicy":"Never")"));
  EXPECT_EQ(
      world
          .Post(kGroups,
                R"({"metadata":{"name":"r"},"spec":{"priorityClassName":"quiet",)"
                R"("preemptionPolicy":"PreemptLowerPriority","schedulingPolicy":{"basic":{}}}})")
          .status,
      403);
}

TEST(PodGroupDoor, TheStatusHasADoorOfItsOwn) {
  World world(With({api::Gate::kGenericWorkload}));
  ASSERT_EQ(
      world
          .Post(kGroups, R"({"metadata":{"name":"g"},"spec":{"schedulingPolicy":{"basic":{}}},)"
                         R"("status":{"conditions":[{"type":"X","status":"True"}]}})")
          .status,
      201);
  const Answer status = world.Ask(
      {.method = "PATCH",
       .path = kGroups + "/g/status",
       .body =
           R"({"status":{"conditions":[{"type":"PodGroupInitiallyScheduled","status":"True",)"
           R"("reason":"Scheduled","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})",
       .content_type = "application/merge-patch+json"});
  EXPECT_EQ(status.status, 200) << status.text;
  EXPECT_THAT(status.text, Not(HasSubstr(R"("type":"X")")));
  const Answer table =
      world.Ask({.path = kGroups, .accept = "application/json;as=Table;g=meta.k8s.io;v=v1"});
  EXPECT_THAT(table.text, HasSubstr(R"("cells":["g","Basic","<none>","Scheduled",)"));
}

}  // namespace
}  // namespace dray::registry
