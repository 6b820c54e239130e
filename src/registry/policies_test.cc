// SPDX-License-Identifier: Apache-2.0
//
// Admission policies as clients meet them.
#include "registry/policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "apiserver/token_keys.h"
#include "fmt/format.h"
#include "registry/account_tokens.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

const std::string kGroup = "/apis/admissionregistration.k8s.io/v1/";
const std::string kPolicies = kGroup + "validatingadmissionpolicies";
const std::string kBindings = kGroup + "validatingadmissionpolicybindings";
const std::string kMaps = "/api/v1/namespaces/default/configmaps";

class PolicyTest : public ::testing::Test {
 protected:
  Answer Yaml(const std::string& path, std::string body) {
    return world_.Ask({.method = "POST",
                       .path = path,
                       .body = std::move(body),
                       .content_type = "application/yaml"});
  }
  // A policy on config maps.
  Answer Policy(std::string_view spec, std::string_view name = "p",
                std::string_view resources = "configmaps") {
    return Yaml(kPolicies, fmt::format("metadata: {{name: {}}}\nspec:\n"
                                       "  matchConstraints:\n    resourceRules:\n"
                                       "    - {{apiGroups: ['*'], apiVersions: ['*'], operations: "
                                       "['*'], resources: ['{}']}}\n{}",
                                       name, resources, spec));
  }
  Answer Bind(std::string_view actions = "[Deny]", std::string_view name = "p") {
    return Yaml(kBindings, fmt::format("metadata: {{name: {0}}}\nspec: {{policyName: {0}, "
                                       "validationActions: {1}}}\n",
                                       name, actions));
  }
  Answer Map(std::string_view name, std::string_view data = "{}") {
    return world_.Post(kMaps,
                       fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{}}})", name, data));
  }
  std::string Warnings(const Answer& answer) {
    std::string all;
    for (const auto& [name, value] : answer.headers.list) {
      if (name == "Warning") all += value + "\n";
    }
    return all;
  }

  World world_;
};

TEST_F(PolicyTest, IsInForceAtOnceAndNoLonger) {
  EXPECT_EQ(Map("a").status, 201);
  EXPECT_FALSE(world_.policies().Any());
  EXPECT_EQ(Policy("  validations: [{expression: 'false', message: not here}]\n").status, 201);
  EXPECT_EQ(Map("b").status, 201);
  EXPECT_EQ(Bind().status, 201);
  const Answer refused = Map("c");
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(
      refused.text,
      HasSubstr(R"("message":"configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' )"
                R"(with binding 'p' denied request: not here")"));
  EXPECT_THAT(refused.text, HasSubstr(R"("reason":"Invalid")"));
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kBindings + "/p"}).status, 200);
  EXPECT_EQ(Map("c").status, 201);
}

// Whoever comes while another one is reading the first policy waits for it.
TEST_F(PolicyTest, NobodyPassesByWhileItIsRead) {
  std::string many = "  validations:\n";
  for (int i = 0; i < 300; ++i) {
    many += fmt::format("  - expression: \"object.metadata.name != 'a{}'\"\n", i);
  }
  EXPECT_EQ(Policy(many).status, 201);
  EXPECT_EQ(Bind().status, 201);
  std::atomic<bool> passed = false;
  std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!world_.policies().Any()) passed = true;
    }
  });
  EXPECT_EQ(Map("b").status, 201);
  other.request_stop();
  other.join();
  EXPECT_FALSE(passed);
}

// What cannot be read may forbid anything, and is not absent.
TEST_F(PolicyTest, ThatCannotBeReadForbidsEverythingUntilItIsDeleted) {
  const std::string key = "/registry/admissionregistration.k8s.io/validatingadmissionpolic";
  const auto overwrite = [&](const std::string& place) {
    ASSERT_NE(world_.store().Find(key + place), nullptr) << place;
    store::Transaction transaction;
    transaction.Put(key + place, R"({"metadata":{"name":"p"},"spec":"none"})");
    ASSERT_TRUE(world_.store().CommitAndWait(std::move(transaction)).ok());
  };
  const auto remove = [&](const std::string& path) {
    return world_
        .Ask({.method = "DELETE",
              .path = path,
              .body = R"({"ignoreStoreReadErrorWithClusterBreakingPotential":true})"})
        .status;
  };
  EXPECT_EQ(Policy("  validations: [{expression: 'true'}]\n").status, 201);
  overwrite("ies/p");
  EXPECT_EQ(Map("a").status, 201) << "nobody has bound it";
  EXPECT_EQ(Bind().status, 201);
  const Answer refused = Map("b");
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text,
              HasSubstr(R"(configmaps \"b\" is forbidden: ValidatingAdmissionPolicy \"p\" is )"
                        "stored and cannot be read"));
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kMaps + "/a"}).status, 403);
  EXPECT_EQ(world_
                .Post("/apis/coordination.k8s.io/v1/namespaces/default/leases",
                      R"({"metadata":{"name":"l"}})")
                .status,
            201);
  EXPECT_EQ(remove(kPolicies + "/p"), 200);
  EXPECT_EQ(Map("b").status, 201);
  overwrite("ybindings/p");
  EXPECT_EQ(Map("c").status, 201) << "there is no policy";
  EXPECT_EQ(Policy("  validations: [{expression: 'true'}]\n", "other").status, 201);
  EXPECT_THAT(Map("d").text, HasSubstr(R"(ValidatingAdmissionPolicyBinding \"p\" is stored)"));
  EXPECT_EQ(remove(kBindings + "/p"), 200);
  EXPECT_EQ(Map("d").status, 201);
}

TEST_F(PolicyTest, ItsOwnDeletionIsNotRefused) {
  EXPECT_EQ(Policy("  validations: [{expression: 'false'}]\n", "p", "*").status, 201);
  EXPECT_EQ(Bind().status, 201);
  EXPECT_EQ(Map("a").status, 422);
  EXPECT_EQ(Bind("[Warn]", "q").status, 201);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kBindings + "/p"}).status, 200);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kPolicies + "/p"}).status, 200);
  EXPECT_EQ(Map("a").status, 201);
}

TEST_F(PolicyTest, LooksAtUpdatesPatchesAppliesAndDeletions) {
  EXPECT_EQ(Map("a", R"({"k":"1"})").status, 201);
  EXPECT_EQ(Policy("  validations:\n  - expression: \"request.operation == 'DELETE' ? "
                   "oldObject.data.k != '1' : object.data.k == '1'\"\n")
                .status,
            201);
  EXPECT_EQ(Bind().status, 201);
  const auto ask = [&](std::string method, std::string body, std::string type) {
    return world_
        .Ask({.method = std::move(method),
              .path = kMaps + "/a?fieldManager=m",
              .body = std::move(body),
              .content_type = std::move(type)})
        .status;
  };
  EXPECT_EQ(ask("PATCH", R"({"data":{"k":"2"}})", "application/merge-patch+json"), 422);
  EXPECT_EQ(ask("PUT", R"({"metadata":{"name":"a"},"data":{"k":"2"}})", "application/json"), 422);
  EXPECT_EQ(ask("PATCH", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: other}}",
                "application/apply-patch+yaml"),
            200);
  EXPECT_EQ(ask("DELETE", "", ""), 422);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kMaps}).status, 422);
  EXPECT_EQ(world_.Get(kMaps + "/a").status, 200);
}

TEST_F(PolicyTest, ADryRunIsAskedToo) {
  EXPECT_EQ(Policy("  validations: [{expression: '!request.dryRun'}]\n").status, 201);
  EXPECT_EQ(Bind().status, 201);
  EXPECT_EQ(world_.Post(kMaps + "?dryRun=All", R"({"metadata":{"name":"a"}})").status, 422);
  EXPECT_EQ(Map("a").status, 201);
}

TEST_F(PolicyTest, AWarningIsAHeader) {
  EXPECT_EQ(Policy("  validations: [{expression: 'false', message: better not}]\n").status, 201);
  EXPECT_EQ(Bind("[Warn]").status, 201);
  const Answer made = Map("a");
  EXPECT_EQ(made.status, 201);
  EXPECT_THAT(Warnings(made),
              HasSubstr("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': "
                        "better not"));
}

TEST_F(PolicyTest, SubresourcesHaveTheirOwnRules) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const Answer made = world_.Post(
      deployments, R"({"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":)"
                   R"({"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":)"
                   R"({"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(Policy("  validations:\n  - expression: \"object.kind == 'Scale' && "
                   "object.spec.replicas <= 3 && oldObject.spec.replicas == 1 && "
                   "request.kind.group == 'autoscaling'\"\n",
                   "p", "deployments/scale")
                .status,
            201);
  EXPECT_EQ(Bind().status, 201);
  const auto scale = [&](int replicas, std::string part) {
    return world_.Ask({.method = "PATCH",
                       .path = deployments + "/d" + part,
                       .body = fmt::format(R"({{"spec":{{"replicas":{}}}}})", replicas),
                       .content_type = "application/merge-patch+json"});
  };
  EXPECT_EQ(scale(5, "/scale").status, 422);
  EXPECT_EQ(scale(2, "/scale").status, 200);
  EXPECT_EQ(scale(7, "").status, 200);
}

TEST_F(PolicyTest, BindingsAndEvictionsOfPodsAreRequests) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  EXPECT_EQ(world_
                .Post(pods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c",)"
                            R"("image":"i"}]}})")
                .status,
            201);
  EXPECT_EQ(Policy("  validations:\n  - expression: \"object.target.name != 'bad'\"\n", "p",
                   "pods/binding")
                .status,
            201);
  EXPECT_EQ(
      Policy("  validations: [{expression: \"object.kind != 'Eviction'\"}]\n", "q", "pods/eviction")
          .status,
      201);
  EXPECT_EQ(Bind().status, 201);
  EXPECT_EQ(Bind("[Deny]", "q").status, 201);
  const auto bind = [&](std::string_view node) {
    return world_.Post(pods + "/a/binding",
                       fmt::format(R"({{"target":{{"kind":"Node","name":"{}"}}}})", node));
  };
  EXPECT_EQ(bind("bad").status, 422);
  EXPECT_EQ(bind("good").status, 201);
  EXPECT_EQ(world_.Post(pods + "/a/eviction", R"({"metadata":{"name":"a"}})").status, 422);
}

// What a binding writes into the pod besides, and how something is deleted, is seen.
TEST_F(PolicyTest, WhatBindingsEvictionsAndDeletionsAskForIsSeen) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  EXPECT_EQ(world_
                .Post(pods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c",)"
                            R"("image":"i"}]}})")
                .status,
            201);
  const auto refuse = [&](std::string_view name, std::string_view resources,
                          std::string_view expression) {
    EXPECT_EQ(
        Policy(fmt::format("  validations:\n  - expression: \"{}\"\n", expression), name, resources)
            .status,
        201);
    EXPECT_EQ(Bind("[Deny]", name).status, 201);
  };
  refuse("bindings", "pods/binding",
         "!has(object.metadata.labels) && !has(object.metadata.annotations)");
  refuse("evictions", "pods/eviction",
         "!has(object.deleteOptions) || object.deleteOptions.gracePeriodSeconds > 0");
  refuse("deletions", "pods",
         "request.operation != 'DELETE' || !has(request.options.gracePeriodSeconds)");
  const auto bind = [&](std::string_view metadata) {
    return world_
        .Post(pods + "/a/binding",
              fmt::format(R"({{"metadata":{},"target":{{"kind":"Node","name":"n"}}}})", metadata))
        .status;
  };
  EXPECT_EQ(bind(R"({"labels":{"k":"v"}})"), 422);
  EXPECT_EQ(bind(R"({"annotations":{"k":"v"}})"), 422);
  EXPECT_EQ(bind("{}"), 201);
  EXPECT_EQ(
      world_.Post(pods + "/a/eviction", R"({"deleteOptions":{"gracePeriodSeconds":0}})").status,
      422);
  EXPECT_EQ(world_
                .Ask({.method = "DELETE",
                      .path = pods + "/a",
                      .body = R"({"gracePeriodSeconds":0})",
                      .content_type = "application/json"})
                .status,
            422);
  EXPECT_EQ(world_.Post(pods + "/a/eviction", R"({"metadata":{"name":"a"}})").status, 201);
}

TEST_F(PolicyTest, ExpressionsThatDoNotCompileAreRefused) {
  const Answer refused = Policy("  validations: [{expression: 'object.', message: m}]\n");
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("spec.validations[0].expression: Invalid value"));
  EXPECT_THAT(refused.text, HasSubstr("compilation failed: ERROR: <input>:1:8"));
  EXPECT_EQ(Policy("  validations: [{expression: 'true'}]\n").status, 201);
  const Answer changed = world_.Ask({.method = "PATCH",
                                     .path = kPolicies + "/p",
                                     .body = R"({"spec":{"validations":[{"expression":"1"}]}})",
                                     .content_type = "application/merge-patch+json"});
  EXPECT_EQ(changed.status, 422) << changed.text;
  EXPECT_THAT(changed.text, HasSubstr("must evaluate to bool but got int"));
}

TEST_F(PolicyTest, WhatElseIsWrongIsTold) {
  const auto refused = [&](const Answer& answer, std::string_view why) {
    EXPECT_EQ(answer.status, 422) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(std::string(why)));
  };
  refused(Policy(""), "validations or auditAnnotations must contain at least one item");
  refused(Policy("  validations: [{expression: 'true', message: \"a\\nb\"}]\n"),
          "must not contain line breaks");
  refused(Policy("  validations: [{expression: 'true', reason: NotFound}]\n"), "Unsupported value");
  refused(Policy("  validations: [{expression: 'true'}]\n  variables: [{name: a-b, expression: "
                 "'1'}]\n"),
          "must be a valid CEL identifier");
  refused(Policy("  validations: [{expression: 'true'}]\n  failurePolicy: Maybe\n"),
          "Unsupported value");
  refused(Yaml(kPolicies, "metadata: {name: p}\nspec: {validations: [{expression: 'true'}]}\n"),
          "spec.matchConstraints: Required value");
  refused(Yaml(kPolicies,
               "metadata: {name: p}\nspec: {matchConstraints: {}, validations: [{expression: "
               "'true'}]}\n"),
          "spec.matchConstraints.resourceRules: Required value");
  refused(Bind("[Deny, Warn]"), "must not contain both Deny and Warn");
  refused(Bind("[]"), "spec.validationActions: Required value");
  refused(Bind("[Punish]"), "Unsupported value");
  refused(Yaml(kBindings,
               "metadata: {name: b}\nspec: {policyName: p, validationActions: [Deny], paramRef: "
               "{parameterNotFoundAction: Deny}}\n"),
          "one of name or selector must be specified");
}

TEST_F(PolicyTest, WhoGivesItParametersMustBeAllowedToReadThem) {
  world_.StoreRoles();
  const apiserver::User eve{"eve", {"dev"}};
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
  EXPECT_EQ(world_
                .Post(rbac + "clusterroles",
                      R"({"metadata":{"name":"p"},"rules":[{"apiGroups":)"
                      R"(["admissionregistration.k8s.io"],"resources":["*"],"verbs":["*"]},)"
                      R"({"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]})")
                .status,
            201);
  EXPECT_EQ(world_
                .Post(rbac + "clusterrolebindings",
                      R"({"metadata":{"name":"p"},"roleRef":{"apiGroup":)"
                      R"("rbac.authorization.k8s.io","kind":"ClusterRole","name":"p"},"subjects":)"
                      R"([{"kind":"User","name":"eve"}]})")
                .status,
            201);
  const auto make = [&](std::string path, std::string body) {
    return world_.Ask({.method = "POST",
                       .path = std::move(path),
                       .body = std::move(body),
                       .content_type = "application/yaml",
                       .user = eve});
  };
  const auto policy = [&](std::string_view name, std::string_view kind) {
    return make(
        kPolicies,
        fmt::format("metadata: {{name: {}}}\nspec:\n  paramKind: {{apiVersion: v1, kind: {}}}\n"
                    "  matchConstraints:\n    resourceRules:\n    - {{apiGroups: [''], "
                    "apiVersions: [v1], operations: ['*'], resources: [pods]}}\n"
                    "  validations: [{{expression: 'true'}}]\n",
                    name, kind));
  };
  const auto bind = [&](std::string_view name) {
    return make(kBindings, fmt::format("metadata: {{name: {0}}}\nspec: {{policyName: {0}, "
                                       "validationActions: [Deny], paramRef: {{name: x, namespace: "
                                       "default, parameterNotFoundAction: Allow}}}}\n",
                                       name));
  };
  EXPECT_EQ(policy("maps", "ConfigMap").status, 201);
  EXPECT_EQ(bind("maps").status, 201);
  const Answer refused = policy("secrets", "Secret");
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("permission on all objects of the referenced paramKind"));
  const Answer unknown = bind("nothing");
  EXPECT_EQ(unknown.status, 403) << unknown.text;
  EXPECT_THAT(unknown.text, HasSubstr("unable to get policy nothing"));
}

TEST_F(PolicyTest, OneThatChangesObjectsIsStoredIfItMayBeIgnored) {
  const auto make = [&](std::string_view failure) {
    return Yaml(kGroup + "mutatingadmissionpolicies",
                fmt::format("metadata: {{name: m}}\nspec:\n  failurePolicy: {}\n"
                            "  reinvocationPolicy: Never\n  matchConstraints:\n"
                            "    resourceRules:\n    - {{apiGroups: [''], apiVersions: [v1], "
                            "operations: [CREATE], resources: [pods]}}\n  mutations:\n"
                            "  - {{patchType: JSONPatch, jsonPatch: {{expression: '[]'}}}}\n",
                            failure));
  };
  const Answer refused = make("Fail");
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("With failurePolicy: Ignore it is stored"));
  EXPECT_EQ(make("Ignore").status, 201);
}

TEST_F(PolicyTest, DefaultsAndTheStatusAreFilledIn) {
  const Answer made = Policy("  validations: [{expression: 'object.nothing == 1'}]\n").status == 201
                          ? world_.Get(kPolicies + "/p")
                          : Answer();
  EXPECT_THAT(made.text, HasSubstr(R"("failurePolicy":"Fail")"));
  EXPECT_THAT(made.text, HasSubstr(R"("namespaceSelector":{})"));
  EXPECT_THAT(made.text, HasSubstr(R"("matchPolicy":"Equivalent")"));
  EXPECT_THAT(made.text, HasSubstr(R"("scope":"*")"));
  EXPECT_THAT(made.text, HasSubstr(R"("observedGeneration":1)"));
  const Answer typed =
      Yaml(kPolicies,
           "metadata: {name: q}\nspec:\n  matchConstraints:\n    resourceRules:\n    - {apiGroups: "
           "[''], apiVersions: [v1], operations: ['*'], resources: [configmaps]}\n  validations: "
           "[{expression: 'object.nothing == 1'}]\n");
  EXPECT_EQ(typed.status, 201) << typed.text;
  EXPECT_THAT(typed.text, HasSubstr(R"("fieldRef":"spec.validations[0].expression")"));
  EXPECT_THAT(typed.text, HasSubstr("undefined field 'nothing'"));
  const Answer table =
      world_.Ask({.path = kPolicies, .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
  EXPECT_THAT(table.text, HasSubstr(R"("name":"ParamKind")"));
}

TEST_F(PolicyTest, WithoutPoliciesNothingIsEvaluated) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Map(fmt::format("m{}", i)).status, 201);
  EXPECT_FALSE(world_.policies().Any());
  EXPECT_EQ(world_.policies().evaluated(), 0u);
  EXPECT_EQ(Policy("  validations: [{expression: 'true'}]\n", "p", "secrets").status, 201);
  EXPECT_EQ(Bind().status, 201);
  EXPECT_EQ(Map("other").status, 201);
  EXPECT_EQ(world_.policies().evaluated(), 0u);
}

// The token of a pod says which node it is on, and a driver's policy goes by that.
TEST_F(PolicyTest, ADriversTokenIsGoodForSlicesOfItsNode) {
  const auto pair = apiserver::MakeAuthority("x", world_.clock().Now(), 1h);
  const auto keys = *apiserver::TokenKeys::FromPem({pair->key});
  base::SystemRandomSource random;
  const AccountTokens tokens(keys, world_.registry().objects(), world_.clock(), random);
  HandlerOptions handling;
  handling.tokens = &tokens;
  world_.Serve(std::move(handling));
  world_.StoreRoles();
  EXPECT_EQ(
      world_.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"d"}})")
          .status,
      201);
  for (const std::string_view node : {"node-a", "node-b"}) {
    EXPECT_EQ(
        world_.Post("/api/v1/nodes", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", node)).status,
        201);
  }
  EXPECT_EQ(world_
                .Post("/api/v1/namespaces/default/pods",
                      R"({"metadata":{"name":"driver"},"spec":{"serviceAccountName":"d",)"
                      R"("nodeName":"node-a","containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
  EXPECT_EQ(world_
                .Post(rbac + "clusterroles",
                      R"({"metadata":{"name":"d"},"rules":[{"apiGroups":["resource.k8s.io"],)"
                      R"("resources":["resourceslices"],"verbs":["*"]}]})")
                .status,
            201);
  EXPECT_EQ(world_
                .Post(rbac + "clusterrolebindings",
                      R"({"metadata":{"name":"d"},"roleRef":{"apiGroup":)"
                      R"("rbac.authorization.k8s.io","kind":"ClusterRole","name":"d"},"subjects":)"
                      R"([{"kind":"ServiceAccount","name":"d","namespace":"default"}]})")
                .status,
            201);
  EXPECT_EQ(
      Policy("  matchConditions:\n  - {name: isRestrictedUser, expression: \"request.userInfo."
             "username == 'system:serviceaccount:default:d'\"}\n"
             "  variables:\n  - {name: userNodeName, expression: \"request.userInfo.extra["
             "?'authentication.kubernetes.io/node-name'][0].orValue('')\"}\n"
             "  - {name: objectNodeName, expression: \"(request.operation == 'DELETE' ? oldObject :"
             " object).spec.?nodeName.orValue('')\"}\n"
             "  validations:\n  - {expression: \"variables.userNodeName != ''\", message: no node "
             "association found for user}\n"
             "  - {expression: 'variables.userNodeName == variables.objectNodeName', "
             "messageExpression: \"'this user running on node '+variables.userNodeName+' may not "
             "modify '+(variables.objectNodeName == '' ? 'cluster resourceslices' : "
             "'resourceslices on node '+variables.objectNodeName)\"}\n",
             "p", "resourceslices")
          .status,
      201);
  EXPECT_EQ(Bind().status, 201);

  const Answer issued = world_.Post(
      "/api/v1/namespaces/default/serviceaccounts/d/token",
      R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"driver"}}})");
  ASSERT_EQ(issued.status, 201) << issued.text;
  const rest::DocumentNode body = issued.Json();
  const auto user = tokens.Read(rest::TextIn(*rest::FindIn(body, "status"), "token"));
  ASSERT_TRUE(user);
  const auto write = [&](std::string_view node, const apiserver::User& by) {
    return world_.Ask(
        {.method = "POST",
         .path = "/apis/resource.k8s.io/v1/resourceslices",
         .body = fmt::format(R"({{"metadata":{{"name":"of-{0}-{1}"}},"spec":{{"driver":"d.example.)"
                             R"(com","nodeName":"{0}","pool":{{"name":"{0}","generation":1,)"
                             R"("resourceSliceCount":1}},"devices":[{{"name":"dev"}}]}}}})",
                             node, by.name == "admin" ? "admin" : "driver"),
         .user = by});
  };
  const Answer own = write("node-a", *user);
  EXPECT_EQ(own.status, 201) << own.text;
  const Answer others = write("node-b", *user);
  EXPECT_EQ(others.status, 422) << others.text;
  EXPECT_THAT(others.text, HasSubstr("this user running on node node-a may not modify "
                                     "resourceslices on node node-b"));
  EXPECT_EQ(write("node-b", {"admin", {std::string(kMasters)}}).status, 201);
  EXPECT_EQ(world_
                .Ask({.method = "DELETE",
                      .path = "/apis/resource.k8s.io/v1/resourceslices/of-node-b-admin",
                      .user = *user})
                .status,
            422);
}

}  // namespace
}  // namespace dray::registry
