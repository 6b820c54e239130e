// SPDX-License-Identifier: Apache-2.0
//
// pods/ephemeralcontainers: containers that are added to a pod to look into it, as kubectl debug does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kDoor = kPods + "/web/ephemeralcontainers";

constexpr std::string_view kWeb =
    R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"x"}],)"
    R"("volumes":[{"name":"v","emptyDir":{}}]}})";

Asking Patch(const std::string& containers, std::string path = kDoor) {
  return {.method = "PATCH",
          .path = std::move(path),
          .body = R"({"spec":{"ephemeralContainers":[)" + containers + "]}}",
          .content_type = "application/strategic-merge-patch+json"};
}

class EphemeralContainersTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(world_.Post(kPods, std::string(kWeb)).status, 201); }
  // What is said of a container that is to be added.
  Answer Add(const std::string& container) { return world_.Ask(Patch(container)); }
  World world_;
};

TEST_F(EphemeralContainersTest, AreAddedAndNothingElseChanges) {
  Asking patch = Patch(R"({"name":"debugger","image":"tools","targetContainerName":"c","stdin":)"
                       R"(true,"securityContext":{"capabilities":{"add":["SYS_PTRACE"]}}})");
  patch.body = R"({"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"elsewhere",)" +
               patch.body.substr(std::string(R"({"spec":{)").size());
  const Answer patched = world_.Ask(patch);
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(rest::TextIn(patched.Json(), "kind"), "Pod");
  const Answer got = world_.Get(kPods + "/web");
  EXPECT_THAT(got.text, AllOf(HasSubstr(R"("targetContainerName":"c")"), HasSubstr("SYS_PTRACE"),
                              HasSubstr(R"("terminationMessagePath":"/dev/termination-log")"),
                              HasSubstr(R"("generation":2)"), Not(HasSubstr("elsewhere")),
                              Not(HasSubstr(R"("a":"b")"))));
  // Who added it is said to have done it through this door.
  EXPECT_THAT(got.text, HasSubstr(R"("subresource":"ephemeralcontainers")"));
  EXPECT_EQ(world_.Get(kDoor).text, got.text);
  // The next one is put beside it; the same again changes nothing.
  ASSERT_EQ(Add(R"({"name":"second","image":"tools"})").status, 200);
  EXPECT_THAT(world_.Get(kDoor).text,
              AllOf(HasSubstr(R"("name":"debugger")"), HasSubstr(R"("name":"second")")));
  const std::string before = world_.Get(kDoor).text;
  ASSERT_EQ(world_.Ask({.method = "PUT", .path = kDoor, .body = before}).status, 200);
  EXPECT_EQ(world_.Get(kDoor).text, before);
}

TEST_F(EphemeralContainersTest, StayAsTheyAre) {
  ASSERT_EQ(Add(R"({"name":"debugger","image":"tools"})").status, 200);
  const Answer changed = Add(R"({"name":"debugger","image":"others"})");
  EXPECT_EQ(changed.status, 422);
  EXPECT_THAT(changed.text,
              HasSubstr(R"(existing ephemeral containers \"debugger\" may not be changed)"));
  const Answer removed =
      world_.Ask({.method = "PUT",
                  .path = kDoor,
                  .body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":)"
                          R"("web"},"spec":{}})"});
  EXPECT_EQ(removed.status, 422);
  EXPECT_THAT(removed.text,
              HasSubstr(R"(existing ephemeral containers \"debugger\" may not be removed)"));
  // Not through the pod's own door either.
  const Answer aside = world_.Ask(Patch(R"({"name":"more","image":"tools"})", kPods + "/web"));
  EXPECT_EQ(aside.status, 422);
  EXPECT_THAT(aside.text, HasSubstr("pod updates may not change fields other than"));
  const Answer created = world_.Post(
      kPods, R"({"metadata":{"name":"new"},"spec":{"containers":[{"name":"c","image":"x"}],)"
             R"("ephemeralContainers":[{"name":"e","image":"x"}]}})");
  EXPECT_EQ(created.status, 422);
  EXPECT_THAT(created.text,
              HasSubstr("spec.ephemeralContainers: Forbidden: cannot be set on create"));
}

TEST_F(EphemeralContainersTest, AreNoPartOfTheService) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("ports":[{"containerPort":80}])", "ports"},
      {R"("resources":{"limits":{"cpu":"1"}})", "resources"},
      {R"("livenessProbe":{"tcpSocket":{"port":80}})", "livenessProbe"},
      {R"("readinessProbe":{"tcpSocket":{"port":80}})", "readinessProbe"},
      {R"("startupProbe":{"tcpSocket":{"port":80}})", "startupProbe"},
      {R"("lifecycle":{"preStop":{"sleep":{"seconds":1}}})", "lifecycle"},
      {R"("restartPolicy":"Always")", "restartPolicy"},
      {R"("volumeMounts":[{"name":"v","mountPath":"/v","subPath":"s"}])",
       "volumeMounts[0].subPath"},
      {R"x("volumeMounts":[{"name":"v","mountPath":"/v","subPathExpr":"$(S)"}])x",
       "volumeMounts[0].subPathExpr"},
  };
  for (const auto& [fields, name] : cases) {
    const Answer refused =
        Add(std::string(R"({"name":"debugger","image":"tools",)") + fields + "}");
    EXPECT_EQ(refused.status, 422) << fields;
    EXPECT_THAT(refused.text, HasSubstr(std::string("spec.ephemeralContainers[0].") + name +
                                        ": Forbidden: cannot be set for an Ephemeral Container"));
  }
  EXPECT_EQ(Add(R"({"name":"debugger","image":"tools","volumeMounts":[{"name":"v",)"
                R"("mountPath":"/v"}]})")
                .status,
            200);
}

TEST_F(EphemeralContainersTest, NamesAndTargetsAreThePods) {
  EXPECT_THAT(Add(R"({"name":"c","image":"tools"})").text,
              HasSubstr("spec.ephemeralContainers[0].name: Duplicate value"));
  EXPECT_THAT(Add(R"({"name":"debugger"})").text,
              HasSubstr("spec.ephemeralContainers[0].image: Required value"));
  EXPECT_THAT(Add(R"({"name":"debugger","image":"tools","targetContainerName":"gone"})").text,
              HasSubstr("spec.ephemeralContainers[0].targetContainerName: Not found"));
  // One for debugging is nobody's target.
  ASSERT_EQ(Add(R"({"name":"debugger","image":"tools"})").status, 200);
  EXPECT_THAT(Add(R"({"name":"other","image":"tools","targetContainerName":"debugger"})").text,
              HasSubstr("targetContainerName: Not found"));
  EXPECT_EQ(world_.Ask(Patch("", kPods + "/none/ephemeralcontainers")).status, 404);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kDoor}).status, 405);
}

TEST_F(EphemeralContainersTest, ViewersMayLookAndNotAdd) {
  const apiserver::User viewer{"eve", {std::string(kViewers)}};
  Asking patch = Patch(R"({"name":"debugger","image":"tools"})");
  patch.user = viewer;
  EXPECT_EQ(world_.Ask(patch).status, 403);
}

TEST_F(EphemeralContainersTest, MayBeApplied) {
  const Answer applied = world_.Ask(
      {.method = "PATCH",
       .path = kDoor + "?fieldManager=me",
       .body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"b"}},)"
               R"("spec":{"hostNetwork":true,"ephemeralContainers":[{"name":"e","image":"i"}]}})",
       .content_type = "application/apply-patch+yaml"});
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_THAT(applied.text, AllOf(HasSubstr(R"("ephemeralContainers":[{"name":"e")"),
                                  Not(HasSubstr("hostNetwork")), Not(HasSubstr(R"("a":"b")")),
                                  HasSubstr(R"("manager":"me","operation":"Apply")")));
}

}  // namespace
}  // namespace dray::registry
