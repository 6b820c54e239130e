// SPDX-License-Identifier: Apache-2.0
#include "policy/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy_for_test.h"

namespace dray::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kNo = "  validations: [{expression: 'false', message: 'no'}]\n";

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() {
    world_.Add("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, labels: {l: v}}\n");
  }
  Verdict Ask(std::string_view policy, std::vector<std::string_view> bindings,
              const Writing& write) {
    std::vector<BindingSpec> all;
    for (const std::string_view binding : bindings) {
      all.push_back(BindingFrom(binding));
      all.back().name += std::to_string(all.size());
    }
    const PolicySet set({std::make_shared<const CompiledPolicy>(SpecFrom(policy))}, std::move(all));
    return set.Admit(write.request, world_);
  }
  static std::string Denied(const Verdict& verdict) {
    return verdict.denial ? verdict.denial->reason + ": " + verdict.denial->message : "";
  }

  SmallWorld world_;
};

TEST_F(AdmissionTest, ABindingSaysWhatHappens) {
  const Writing write(kMap);
  const Verdict denied = Ask(kNo, {"  validationActions: [Deny]\n"}, write);
  EXPECT_EQ(Denied(denied),
            "Invalid: ValidatingAdmissionPolicy 'p' with binding 'b1' denied request: no");
  EXPECT_THAT(denied.warnings, IsEmpty());
  const Verdict warned = Ask(kNo, {"  validationActions: [Warn, Audit]\n"}, write);
  EXPECT_EQ(Denied(warned), "");
  EXPECT_THAT(warned.warnings,
              ElementsAre("Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b1': "
                          "no"));
  EXPECT_THAT(
      warned.annotations,
      ElementsAre(Pair("validation.policy.admission.k8s.io/validation_failure",
                       R"([{"message":"no","policy":"p","binding":"b1","expressionIndex":0,)"
                       R"("validationActions":["Warn","Audit"]}])")));
  EXPECT_EQ(Denied(Ask(kNo, {}, write)), "");
}

TEST_F(AdmissionTest, TheReasonIsTheValidations) {
  const Writing write(kMap);
  const Verdict verdict =
      Ask("  validations: [{expression: 'false', message: 'no', reason: Forbidden}]\n",
          {"  validationActions: [Deny]\n"}, write);
  EXPECT_THAT(Denied(verdict), HasSubstr("Forbidden: "));
  EXPECT_EQ(CodeOf("Forbidden"), 403);
  EXPECT_EQ(CodeOf("Unauthorized"), 401);
  EXPECT_EQ(CodeOf("RequestEntityTooLarge"), 413);
  EXPECT_EQ(CodeOf("Invalid"), 422);
}

TEST_F(AdmissionTest, ABindingMayBeForLess) {
  const Writing write(kMap);
  EXPECT_EQ(Denied(Ask(kNo,
                       {"  validationActions: [Deny]\n  matchResources: {namespaceSelector: "
                        "{matchLabels: {l: other}}}\n"},
                       write)),
            "");
  EXPECT_THAT(Denied(Ask(kNo,
                         {"  validationActions: [Deny]\n  matchResources: {namespaceSelector: "
                          "{matchLabels: {l: v}}}\n"},
                         write)),
              HasSubstr("denied request: no"));
}

TEST_F(AdmissionTest, ParametersAreFoundByNameOrLabels) {
  const Writing write(kMap);
  constexpr std::string_view kPolicy =
      "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations:\n"
      "  - expression: params == null || int(object.data.size) <= int(params.data.max)\n"
      "    messageExpression: \"'at most ' + params.data.max\"\n";
  const auto with = [&](std::string_view ref) {
    return Denied(Ask(kPolicy, {"  validationActions: [Deny]\n" + std::string(ref)}, write));
  };
  EXPECT_EQ(with(""), "");
  constexpr std::string_view kByName =
      "  paramRef: {name: limit, namespace: ns, parameterNotFoundAction: ";
  EXPECT_EQ(with(std::string(kByName) + "Allow}\n"), "");
  EXPECT_THAT(with(std::string(kByName) + "Deny}\n"),
              HasSubstr("failed to configure binding: no params found for policy binding with "
                        "`Deny` parameterNotFoundAction"));
  world_.Add(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limit, namespace: ns, labels: {k: l}}\n"
      "data: {max: '2'}\n");
  EXPECT_THAT(with(std::string(kByName) + "Deny}\n"), HasSubstr("at most 2"));
  // Without a namespace it is the request's.
  EXPECT_THAT(with("  paramRef: {name: limit, parameterNotFoundAction: Deny}\n"),
              HasSubstr("at most 2"));
  world_.Add(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: ns, labels: {k: l}}\n"
      "data: {max: '1'}\n");
  EXPECT_THAT(
      with("  paramRef: {selector: {matchLabels: {k: l}}, parameterNotFoundAction: Deny}\n"),
      HasSubstr("at most 2"));
}

TEST_F(AdmissionTest, ParametersOfAKindThatIsNotThereAreAFailure) {
  const Writing write(kMap);
  const std::string policy =
      "  paramKind: {apiVersion: example.com/v1, kind: Limit}\n  validations: [{expression: "
      "'true'}]\n";
  constexpr std::string_view kBinding =
      "  validationActions: [Deny]\n  paramRef: {name: x, parameterNotFoundAction: Allow}\n";
  EXPECT_THAT(Denied(Ask(policy, {kBinding}, write)),
              HasSubstr("paramKind kind `example.com/v1, Kind=Limit` not known"));
  EXPECT_EQ(Denied(Ask(policy + "  failurePolicy: Ignore\n", {kBinding}, write)), "");
}

TEST_F(AdmissionTest, AnnotationsOfSeveralBindingsAreOne) {
  const Writing write(kMap);
  const Verdict verdict =
      Ask("  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
          "  auditAnnotations: [{key: k, valueExpression: \"params == null ? 'none' : 'some'\"}]\n",
          {"  validationActions: [Audit]\n", "  validationActions: [Audit]\n"}, write);
  EXPECT_THAT(verdict.annotations, UnorderedElementsAre(Pair("p/k", "none")));
}

TEST_F(AdmissionTest, OthersRequestsCostNoExpression) {
  const Writing write("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ns}\n");
  const Verdict verdict = Ask(kNo, {"  validationActions: [Deny]\n"}, write);
  EXPECT_EQ(Denied(verdict), "");
  EXPECT_EQ(verdict.evaluated, 0u);
}

// What charts of DRA drivers have: a driver on a node writes the slices of that node alone.
TEST_F(AdmissionTest, APodOnANodeWritesSlicesOfThatNode) {
  constexpr std::string_view kDriver =
      "  matchConstraints:\n    resourceRules:\n    - {apiGroups: [resource.k8s.io], apiVersions: "
      "[v1], operations: [CREATE, UPDATE, DELETE], resources: [resourceslices]}\n"
      "  matchConditions:\n"
      "  - {name: isRestrictedUser, expression: \"request.userInfo.username == "
      "'system:serviceaccount:drivers:d'\"}\n"
      "  variables:\n"
      "  - {name: userNodeName, expression: \"request.userInfo.extra[?'authentication.kubernetes."
      "io/node-name'][0].orValue('')\"}\n"
      "  - {name: objectNodeName, expression: \"(request.operation == 'DELETE' ? oldObject : "
      "object).spec.?nodeName.orValue('')\"}\n"
      "  validations:\n"
      "  - {expression: \"variables.userNodeName != ''\", message: no node association found for "
      "user}\n"
      "  - {expression: 'variables.userNodeName == variables.objectNodeName', messageExpression: "
      "\"'this user running on node '+variables.userNodeName+' may not modify resourceslices on '"
      "+variables.objectNodeName\"}\n";
  const auto slice = [](std::string_view node) {
    return "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: "
           "{driver: d, pool: {name: p, resourceSliceCount: 1}, nodeName: " +
           std::string(node) + "}\n";
  };
  const auto ask = [&](std::string_view next, std::string_view old, std::string_view node,
                       std::string_view user = "system:serviceaccount:drivers:d") {
    Writing write(next, old);
    write.user.name = user;
    // As every token of a service account has.
    write.user.extra["authentication.kubernetes.io/credential-id"] = {"JTI=1"};
    if (!node.empty()) {
      write.user.extra["authentication.kubernetes.io/node-name"] = {std::string(node)};
    }
    return Denied(Ask(kDriver, {"  validationActions: [Deny]\n"}, write));
  };
  EXPECT_EQ(ask(slice("node-a"), "", "node-a"), "");
  EXPECT_THAT(
      ask(slice("node-b"), "", "node-a"),
      HasSubstr("this user running on node node-a may not modify resourceslices on node-b"));
  EXPECT_THAT(ask("", slice("node-b"), "node-a"), HasSubstr("may not modify"));
  EXPECT_THAT(ask(slice("node-a"), "", ""), HasSubstr("no node association found for user"));
  EXPECT_EQ(ask(slice("node-b"), "", "", "admin"), "");
}

}  // namespace
}  // namespace dray::policy
