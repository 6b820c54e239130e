// SPDX-License-Identifier: Apache-2.0
//
// CustomResourceDefinitions and what they define, over HTTP without a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string kWidgets = "/apis/example.com/v1/namespaces/default/widgets";

constexpr std::string_view kDefinition =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
"names":{"plural":"widgets","kind":"Widget","shortNames":["wd"],"categories":["all"]},
"versions":[{"name":"v1","served":true,"storage":true,
"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
"additionalPrinterColumns":[{"name":"Color","type":"string","jsonPath":".spec.color"},{"name":"Replicas","type":"integer","jsonPath":".spec.replicas"}],
"selectableFields":[{"jsonPath":".spec.color"}],
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","description":"What is wanted.","x-kubernetes-validations":[{"rule":"self.replicas <= 10","message":"ten at most"}],
"properties":{"color":{"type":"string","enum":["red","blue"]},"replicas":{"type":"integer","default":1,"minimum":0},
"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
"properties":{"name":{"type":"string"},"size":{"type":"integer"}}}}}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"}}}}}}},
{"name":"v1beta1","served":true,"storage":false,"deprecated":true,
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

std::string Widget(std::string_view name, std::string_view spec) {
  return R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":")" +
         std::string(name) + R"("},"spec":)" + std::string(spec) + "}";
}

class CustomTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Answer made = world_.Post(kDefinitions, std::string(kDefinition));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Answer Patch(std::string path, std::string body, std::string type) {
    return world_.Ask({.method = "PATCH",
                       .path = std::move(path),
                       .body = std::move(body),
                       .content_type = std::move(type)});
  }
  World world_;
};

TEST_F(CustomTest, ADefinitionIsServedAtOnce) {
  const Answer got = world_.Get(kDefinitions + "/widgets.example.com");
  EXPECT_THAT(got.text, HasSubstr(R"("type":"NamesAccepted","status":"True")"));
  EXPECT_THAT(got.text, HasSubstr(R"("type":"Established","status":"True")"));
  EXPECT_THAT(got.text, HasSubstr(R"("storedVersions":["v1"])"));
  EXPECT_THAT(got.text, HasSubstr("customresourcecleanup.apiextensions.k8s.io"));
  EXPECT_THAT(world_.Get("/apis/example.com").text,
              HasSubstr(R"("preferredVersion":{"groupVersion":"example.com/v1","version":"v1"})"));
  EXPECT_THAT(world_.Get("/apis/example.com/v1").text, HasSubstr(R"("shortNames":["wd"])"));
  EXPECT_THAT(world_.Get("/openapi/v3/apis/example.com/v1").text, HasSubstr("What is wanted."));
  EXPECT_EQ(world_.Get("/apis/example.com/v2").status, 404);
}

// Definitions of large operators have more than a hundred fields in one object.
TEST_F(CustomTest, ADefinitionMayHaveManyFieldsAndItsObjectsManyValues) {
  std::string properties;
  std::string spec;
  for (int i = 0; i < 200; ++i) {
    properties += fmt::format(R"("f{}":{{"type":"string"}},)", i);
    spec += fmt::format(R"("f{}":"x",)", i);
  }
  const Answer made = world_.Post(
      kDefinitions, R"({"metadata":{"name":"wides.example.com"},"spec":{"group":"example.com",)"
                    R"("scope":"Namespaced","names":{"plural":"wides","kind":"Wide"},"versions":[)"
                    R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)"
                    R"({"type":"object","properties":{"spec":{"type":"object","properties":{)" +
                        properties +
                        R"("list":{"type":"array","items":{"type":"integer"}}}}}}}}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string wides = "/apis/example.com/v1/namespaces/default/wides";
  std::string numbers = "1";
  for (int i = 0; i < 12'000; ++i) numbers += ",1";
  const auto wide = [&](std::string_view name, std::string_view list) {
    return fmt::format(R"({{"apiVersion":"example.com/v1","kind":"Wide","metadata":)"
                       R"({{"name":"{}"}},"spec":{{{}"list":[{}]}}}})",
                       name, spec, list);
  };
  EXPECT_EQ(world_.Post(wides, wide("a", numbers)).status, 201);
  EXPECT_EQ(Patch(wides + "/a", R"({"spec":{"f199":"y"}})", "application/merge-patch+json").status,
            200);
  const Answer applied =
      Patch(wides + "/b?fieldManager=m", wide("b", "1"), "application/apply-patch+yaml");
  EXPECT_EQ(applied.status, 201) << applied.text;
  EXPECT_THAT(applied.text, HasSubstr(R"("f:f199":{})"));
}

// Each patch is small enough; what they make together is not.
TEST_F(CustomTest, AnObjectDoesNotGrowWithoutEnd) {
  ASSERT_EQ(world_
                .Post(kDefinitions,
                      R"({"metadata":{"name":"bags.example.com"},"spec":{"group":"example.com",)"
                      R"("scope":"Namespaced","names":{"plural":"bags","kind":"Bag"},"versions":[)"
                      R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)"
                      R"({"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})")
                .status,
            201);
  const std::string bags = "/apis/example.com/v1/namespaces/default/bags";
  ASSERT_EQ(
      world_.Post(bags, R"({"apiVersion":"example.com/v1","kind":"Bag","metadata":{"name":"a"}})")
          .status,
      201);
  const auto grow = [&](int i) {
    return Patch(bags + "/a",
                 fmt::format(R"({{"spec":{{"f{}":"{}"}}}})", i, std::string(2'000'000, 'x')),
                 "application/merge-patch+json");
  };
  for (int i = 0; i < 3; ++i) ASSERT_EQ(grow(i).status, 200);
  const Answer refused = grow(3);
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.text, HasSubstr("at most 6291456 can be stored"));
  EXPECT_EQ(Patch(bags + "/a", R"({"spec":{"f0":null}})", "application/merge-patch+json").status,
            200);
}

TEST_F(CustomTest, ObjectsHaveDefaultsAndNothingThatNobodyKnows) {
  const Answer made = world_.Post(kWidgets, Widget("a", R"({"color":"red","more":1})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("spec":{"color":"red","replicas":1})"));
  EXPECT_THAT(made.text, HasSubstr(R"("generation":1)"));
  EXPECT_THAT(std::string(made.headers.Find("Warning")), HasSubstr("unknown field"));
  const Answer strict = world_.Ask({.method = "POST",
                                    .path = kWidgets + "?fieldValidation=Strict",
                                    .body = Widget("b", R"({"more":1})"),
                                    .content_type = "application/json"});
  EXPECT_EQ(strict.status, 400);
  EXPECT_THAT(strict.text, HasSubstr("strict decoding error: unknown field \\\"spec.more\\\""));
}

TEST_F(CustomTest, WhatIsNotValidIsRefusedInKubernetesWords) {
  const Answer wrong = world_.Post(kWidgets, Widget("a", R"({"color":"green","replicas":"x"})"));
  EXPECT_EQ(wrong.status, 422);
  EXPECT_THAT(wrong.text, HasSubstr(R"(Widget.example.com \"a\" is invalid)"));
  EXPECT_THAT(
      wrong.text,
      HasSubstr(
          R"(spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\")"));
  EXPECT_THAT(wrong.text, HasSubstr("spec.replicas in body must be of type integer"));
  const Answer rule = world_.Post(kWidgets, Widget("a", R"({"replicas":11})"));
  EXPECT_EQ(rule.status, 422);
  EXPECT_THAT(rule.text, HasSubstr("spec: Invalid value: ten at most"));
}

TEST_F(CustomTest, TheStatusAndTheScaleHaveDoorsOfTheirOwn) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", R"({"color":"red"})")).status, 201);
  const std::string path = kWidgets + "/a";
  Answer patched = Patch(path + "/status",
                         R"({"status":{"replicas":3,"selector":"app=a"},"spec":{"color":"blue"}})",
                         "application/merge-patch+json");
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_THAT(patched.text, HasSubstr(R"("color":"red")"));
  EXPECT_THAT(patched.text, HasSubstr(R"("generation":1)"));
  patched = Patch(path, R"({"status":{"replicas":9},"spec":{"replicas":2}})",
                  "application/merge-patch+json");
  EXPECT_THAT(patched.text, HasSubstr(R"("status":{"replicas":3)"));
  EXPECT_THAT(patched.text, HasSubstr(R"("generation":2)"));
  EXPECT_THAT(world_.Get(path + "/scale").text,
              HasSubstr(R"("spec":{"replicas":2},"status":{"replicas":3,"selector":"app=a"})"));
  patched = Patch(path + "/scale", R"({"spec":{"replicas":4}})", "application/merge-patch+json");
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_THAT(world_.Get(path).text, HasSubstr(R"("replicas":4)"));
}

TEST_F(CustomTest, PoliciesAreAskedAboutTheScale) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", R"({"color":"red"})")).status, 201);
  const std::string policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  Answer made = world_.Post(
      policies + "ies",
      R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":)"
      R"(["example.com"],"apiVersions":["*"],"operations":["*"],"resources":["widgets/scale"]}]},)"
      R"("validations":[{"expression":"object.kind == 'Scale' && object.spec.replicas <= 3"}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  made = world_.Post(policies + "ybindings",
                     R"({"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":)"
                     R"(["Deny"]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const auto scale = [&](std::string body) {
    return Patch(kWidgets + "/a/scale", std::move(body), "application/merge-patch+json").status;
  };
  EXPECT_EQ(scale(R"({"spec":{"replicas":4}})"), 422);
  EXPECT_EQ(scale(R"({"spec":{"replicas":3}})"), 200);
}

TEST_F(CustomTest, PatchesAndApplies) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", R"({"parts":[{"name":"x","size":1}]})")).status, 201);
  EXPECT_EQ(Patch(kWidgets + "/a", "{}", "application/strategic-merge-patch+json").status, 415);
  EXPECT_EQ(Patch(kWidgets + "/a", R"([{"op":"add","path":"/spec/color","value":"blue"}])",
                  "application/json-patch+json")
                .status,
            200);
  const std::string config =
      R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"parts":[{"name":"y","size":2}]}})";
  const Answer applied =
      Patch(kWidgets + "/a?fieldManager=me", config, "application/apply-patch+yaml");
  ASSERT_EQ(applied.status, 200) << applied.text;
  EXPECT_THAT(applied.text, HasSubstr(R"("parts":[{"name":"x","size":1},{"name":"y","size":2}])"));
  EXPECT_THAT(applied.text, HasSubstr(R"(k:{\"name\":\"y\"})"));
  const Answer conflict = Patch(
      kWidgets + "/a?fieldManager=other",
      R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"parts":[{"name":"y","size":3}]}})",
      "application/apply-patch+yaml");
  EXPECT_EQ(conflict.status, 409) << conflict.text;
}

TEST_F(CustomTest, TablesSelectorsAndOtherVersions) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", R"({"color":"red"})")).status, 201);
  ASSERT_EQ(world_.Post(kWidgets, Widget("b", R"({"color":"blue"})")).status, 201);
  const Answer table =
      world_.Ask({.path = kWidgets, .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_THAT(table.text, HasSubstr(R"("name":"Color")"));
  EXPECT_THAT(table.text, HasSubstr(R"("cells":["a","red",1])"));
  const Answer red = world_.Get(kWidgets + "?fieldSelector=spec.color%3Dred");
  EXPECT_THAT(red.text, HasSubstr(R"("name":"a")"));
  EXPECT_THAT(red.text, Not(HasSubstr(R"("name":"b")")));
  EXPECT_EQ(world_.Get(kWidgets + "?fieldSelector=spec.replicas%3D1").status, 400);
  const Answer old = world_.Get("/apis/example.com/v1beta1/namespaces/default/widgets/a");
  EXPECT_THAT(old.text, HasSubstr(R"("apiVersion":"example.com/v1beta1")"));
  EXPECT_THAT(std::string(old.headers.Find("Warning")), HasSubstr("deprecated"));
}

TEST_F(CustomTest, AWatchTellsWhatHappens) {
  const std::string then = std::to_string(world_.store().revision().value);
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", R"({"color":"red"})")).status, 201);
  ASSERT_EQ(world_.Post(kWidgets, Widget("b", R"({"color":"blue"})")).status, 201);
  ASSERT_EQ(
      Patch(kWidgets + "/a", R"({"spec":{"color":"blue"}})", "application/merge-patch+json").status,
      200);
  ASSERT_EQ(world_.Ask({.method = "DELETE", .path = kWidgets + "/b"}).status, 200);
  const auto told = [&](const std::string& path, std::string accept = {}) {
    Answer answer = world_.Ask(
        {.path = path + "&watch=1&resourceVersion=" + then, .accept = std::move(accept)});
    std::vector<std::string> lines;
    EXPECT_NE(answer.stream, nullptr) << answer.text;
    if (answer.stream == nullptr) return lines;
    for (const rest::DocumentNode& event : world_.Events(*answer.stream)) {
      lines.push_back(api::ToJson(event));
    }
    return lines;
  };
  const auto is = [](std::string type, std::string name, std::string color) {
    return AllOf(HasSubstr(R"("type":")" + type + "\""), HasSubstr(R"("name":")" + name + "\""),
                 HasSubstr(R"("color":")" + color + "\""));
  };
  EXPECT_THAT(told(kWidgets + "?"),
              ElementsAre(is("ADDED", "a", "red"), is("ADDED", "b", "blue"),
                          is("MODIFIED", "a", "blue"), is("DELETED", "b", "blue")));
  // All namespaces, another version, and what a selector chooses: "a" comes when it turns blue.
  EXPECT_THAT(told("/apis/example.com/v1beta1/widgets?labelSelector=none"), IsEmpty());
  EXPECT_THAT(
      told("/apis/example.com/v1/widgets?fieldSelector=spec.color%3Dblue"),
      ElementsAre(is("ADDED", "b", "blue"), is("ADDED", "a", "blue"), is("DELETED", "b", "blue")));
  const auto rows = told(kWidgets + "?", "application/json;as=Table;v=v1;g=meta.k8s.io");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(rows[0], HasSubstr(R"("name":"Color")"));
  EXPECT_THAT(rows[0], HasSubstr(R"("cells":["a","red",1])"));
  EXPECT_THAT(rows[1], HasSubstr(R"("columnDefinitions":null)"));
  EXPECT_THAT(rows[2], HasSubstr(R"("cells":["a","blue",1])"));
}

TEST_F(CustomTest, ACollectionIsDeletedByItsSelectors) {
  for (const std::string name : {"a", "b", "c"}) {
    const std::string color = name == "b" ? "blue" : "red";
    ASSERT_EQ(world_.Post(kWidgets, Widget(name, R"({"color":")" + color + "\"}")).status, 201);
  }
  ASSERT_EQ(Patch(kWidgets + "/c", R"({"metadata":{"labels":{"keep":"yes"}}})",
                  "application/merge-patch+json")
                .status,
            200);
  const Answer gone = world_.Ask(
      {.method = "DELETE",
       .path = kWidgets + "?fieldSelector=spec.color%3Dred&labelSelector=keep%21%3Dyes"});
  EXPECT_EQ(gone.status, 200) << gone.text;
  EXPECT_EQ(world_.Get(kWidgets + "/a").status, 404);
  EXPECT_EQ(world_.Get(kWidgets + "/b").status, 200);
  EXPECT_EQ(world_.Get(kWidgets + "/c").status, 200);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kWidgets}).status, 200);
  EXPECT_THAT(world_.Get(kWidgets).text, HasSubstr(R"("items":[])"));
}

TEST_F(CustomTest, RightsAreAskedForAsOfAnyKind) {
  world_.StoreRoles();
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", "{}")).status, 201);
  const apiserver::User eve{"eve", {"system:authenticated"}};
  const auto as_eve = [&](std::string method, std::string path, std::string body = {}) {
    const std::string type = method == "PATCH" ? "application/merge-patch+json" : "";
    return world_.Ask({.method = std::move(method),
                       .path = std::move(path),
                       .body = std::move(body),
                       .content_type = type,
                       .user = eve});
  };
  const Answer refused = as_eve("GET", kWidgets + "/a");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text,
              HasSubstr(R"(widgets.example.com \"a\" is forbidden: User \"eve\" cannot get )"
                        R"(resource \"widgets\" in API group \"example.com\" in the namespace )"
                        R"(\"default\")"));
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
  ASSERT_EQ(
      world_
          .Post(rbac + "roles",
                R"({"metadata":{"name":"r"},"rules":[{"apiGroups":["example.com"],)"
                R"("resources":["widgets"],"verbs":["get","list"]},{"apiGroups":["example.com"],)"
                R"("resources":["widgets/status"],"verbs":["patch"]}]})")
          .status,
      201);
  ASSERT_EQ(world_
                .Post(rbac + "rolebindings",
                      R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"r"},)"
                      R"("subjects":[{"kind":"User","name":"eve"}]})")
                .status,
            201);
  EXPECT_EQ(as_eve("GET", kWidgets + "/a").status, 200);
  EXPECT_EQ(as_eve("GET", kWidgets).status, 200);
  EXPECT_EQ(as_eve("GET", "/apis/example.com/v1/widgets").status, 403);
  EXPECT_EQ(as_eve("GET", kWidgets + "?watch=1").status, 403);
  EXPECT_EQ(as_eve("DELETE", kWidgets).status, 403);
  EXPECT_EQ(as_eve("PATCH", kWidgets + "/a", R"({"spec":{"replicas":2}})").status, 403);
  EXPECT_EQ(as_eve("PATCH", kWidgets + "/a/status", R"({"status":{"replicas":2}})").status, 200);
  EXPECT_EQ(as_eve("PATCH", kWidgets + "/a/scale", R"({"spec":{"replicas":2}})").status, 403);
  // Who may edit a namespace may edit what somebody has defined only if a role says so.
  ASSERT_EQ(world_
                .Post(rbac + "rolebindings",
                      R"({"metadata":{"name":"e"},"roleRef":{"kind":"ClusterRole","name":"edit"},)"
                      R"("subjects":[{"kind":"User","name":"eve"}]})")
                .status,
            201);
  EXPECT_EQ(as_eve("PATCH", kWidgets + "/a", R"({"spec":{"replicas":2}})").status, 403);
}

TEST_F(CustomTest, AQuotaCanLimitTheirNumber) {
  ASSERT_EQ(
      world_
          .Post("/api/v1/namespaces/default/resourcequotas",
                R"({"metadata":{"name":"q"},"spec":{"hard":{"count/widgets.example.com":"1"}}})")
          .status,
      201);
  EXPECT_EQ(world_.Post(kWidgets, Widget("a", "{}")).status, 201);
  const Answer refused = world_.Post(kWidgets, Widget("b", "{}"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text,
              HasSubstr(R"(widgets.example.com \"b\" is forbidden: exceeded quota: q, requested: )"
                        "count/widgets.example.com=1, used: count/widgets.example.com=1, limited: "
                        "count/widgets.example.com=1"));
  EXPECT_EQ(
      Patch(kWidgets + "/a", R"({"spec":{"replicas":2}})", "application/merge-patch+json").status,
      200);
  EXPECT_EQ(Patch(kWidgets + "/c?fieldManager=me",
                  R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c"}})",
                  "application/apply-patch+yaml")
                .status,
            403);
}

TEST_F(CustomTest, TablesOfOtherVersionsAndOfDefinitions) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", R"({"color":"red"})")).status, 201);
  const auto table = [&](std::string path) {
    return world_
        .Ask({.path = std::move(path), .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"})
        .text;
  };
  // A version without columns has an age.
  const std::string old = table("/apis/example.com/v1beta1/namespaces/default/widgets");
  EXPECT_THAT(old, HasSubstr(R"("name":"Age")"));
  EXPECT_THAT(old, HasSubstr(R"("cells":["a","0s"])"));
  EXPECT_THAT(table(kWidgets + "/a"), HasSubstr(R"("cells":["a","red",1])"));
  const std::string definitions = table(kDefinitions);
  EXPECT_THAT(definitions, HasSubstr(R"("name":"Created At")"));
  EXPECT_THAT(definitions, HasSubstr(R"("cells":["widgets.example.com","2027-01-15T08:00:00Z"])"));
}

TEST_F(CustomTest, DefinitionsThatMakeNoSenseAreRefused) {
  std::string wrong(kDefinition);
  wrong.replace(wrong.find("widgets.example.com"), 19, "other.example.com");
  const Answer refused = world_.Post(kDefinitions, wrong);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.text, HasSubstr("must be spec.names.plural+"));
}

TEST_F(CustomTest, ADefinitionThatGoesWaitsForItsObjects) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", "{}")).status, 201);
  const Answer gone =
      world_.Ask({.method = "DELETE", .path = kDefinitions + "/widgets.example.com"});
  EXPECT_EQ(gone.status, 200);
  EXPECT_THAT(world_.Get(kDefinitions + "/widgets.example.com").text,
              HasSubstr("deletionTimestamp"));
  EXPECT_EQ(world_.Post(kWidgets, Widget("b", "{}")).status, 405);
  EXPECT_EQ(world_.Get(kWidgets + "/a").status, 200);
}

TEST_F(CustomTest, NewDefaultsAreSeenInOldObjects) {
  ASSERT_EQ(world_.Post(kWidgets, Widget("a", "{}")).status, 201);
  const Answer patched = Patch(
      kDefinitions + "/widgets.example.com",
      R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color/default","value":"blue"}])",
      "application/json-patch+json");
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_THAT(world_.Get(kWidgets + "/a").text, HasSubstr(R"("color":"blue")"));
}

}  // namespace
}  // namespace dray::registry
