// SPDX-License-Identifier: Apache-2.0
#include "policy/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "policy/policy_for_test.h"

namespace dray::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "" for a validation that passes, else what is told.
std::vector<std::string> Messages(const Judgement& judgement) {
  std::vector<std::string> texts;
  for (const Decision& decision : judgement.decisions) {
    texts.push_back(decision.denied ? decision.message : "");
  }
  return texts;
}

class EvaluationTest : public ::testing::Test {
 protected:
  Judgement Run(std::string_view spec, const Writing& write, std::string_view params = {},
                const Budgets& budgets = {}) {
    const CompiledPolicy policy(SpecFrom(spec));
    for (const api::FieldError& error : policy.Errors()) ADD_FAILURE() << error.detail;
    space_ = ObjectFrom("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, labels: {l: v}}\n");
    Inputs inputs(write.request, &*space_, somebody_);
    std::unique_ptr<api::DocumentNode> document;
    if (!params.empty()) {
      const api::Object object = ObjectFrom(params);
      document = DocumentOf(object, object.kind());
    }
    return Evaluate(policy, write.request.version, inputs, document.get(), budgets);
  }
  // Of a policy with one expression.
  std::vector<std::string> Says(std::string_view expression, const Writing& write) {
    return Messages(
        Run("  validations:\n  - expression: \"" + std::string(expression) + "\"\n", write));
  }

  Somebody somebody_;
  std::optional<api::Object> space_;
};

TEST_F(EvaluationTest, SeesTheObjectAsItIsWritten) {
  const Writing write(kMap);
  EXPECT_THAT(Says("object.kind == 'ConfigMap' && object.apiVersion == 'v1'", write),
              ElementsAre(""));
  EXPECT_THAT(Says("int(object.data.size) < 5", write), ElementsAre(""));
  EXPECT_THAT(Says("oldObject == null", write), ElementsAre(""));
  EXPECT_THAT(Says("has(object.immutable)", write),
              ElementsAre("failed expression: has(object.immutable)"));
  EXPECT_THAT(Says("object.nothing == 1", write),
              ElementsAre("expression 'object.nothing == 1' resulted in error: no such key: "
                          "nothing"));
  const Writing gone("", kMap);
  EXPECT_THAT(Says("object == null && oldObject.metadata.name == 'm'", gone), ElementsAre(""));
}

TEST_F(EvaluationTest, SeesTheRequest) {
  Writing write(kMap, kMap);
  write.user.extra["authentication.kubernetes.io/node-name"] = {"n1"};
  const auto yes = [&](std::string_view expression) {
    EXPECT_THAT(Says(expression, write), ElementsAre("")) << expression;
  };
  yes("request.operation == 'UPDATE' && request.name == 'm' && request.namespace == 'ns'");
  yes("request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'");
  yes("request.userInfo.username == 'ann' && 'team' in request.userInfo.groups");
  yes("request.userInfo.extra['authentication.kubernetes.io/node-name'][0] == 'n1'");
  yes("request.userInfo.extra[?'x'][0].orValue('none') == 'none'");
  yes("!request.dryRun && !has(request.subResource)");
  yes("namespaceObject.metadata.labels['l'] == 'v'");
  yes("request.options.kind == 'UpdateOptions'");
}

TEST_F(EvaluationTest, AMessageIsComputedWrittenOrTheExpression) {
  const Writing write(kMap);
  EXPECT_THAT(Messages(Run("  validations:\n"
                           "  - {expression: 'false', message: ' told '}\n"
                           "  - {expression: 'false', message: told, messageExpression: "
                           "'\"it is \" + object.metadata.name'}\n"
                           "  - {expression: 'false', message: told, messageExpression: "
                           "'string(object.nothing)'}\n"
                           "  - {expression: 'false', messageExpression: '\"two\\nlines\"'}\n",
                           write)),
              ElementsAre("told", "it is m", "told", "failed expression: false"));
}

TEST_F(EvaluationTest, VariablesAreComputedOnceAndOnlyWhenAskedFor) {
  const Writing write(kMap);
  const std::string spec =
      "  variables:\n"
      "  - {name: size, expression: 'int(object.data.size)'}\n"
      "  - {name: twice, expression: 'variables.size * 2'}\n"
      "  - {name: broken, expression: 'object.nothing'}\n"
      "  validations:\n"
      "  - expression: variables.twice == 6 && variables.size == 3\n"
      "  - expression: variables.twice + variables.size == 9\n";
  const Judgement judgement = Run(spec, write);
  EXPECT_THAT(Messages(judgement), ElementsAre("", ""));
  EXPECT_EQ(judgement.evaluated, 4u);
  EXPECT_THAT(Messages(Run(spec + "  - expression: variables.broken == 1\n", write)),
              ElementsAre("", "",
                          "expression 'variables.broken == 1' resulted in error: composited "
                          "variable \"broken\" fails to evaluate: no such key: nothing"));
}

TEST_F(EvaluationTest, ConditionsDecideWhetherItLooksAtAll) {
  const Writing write(kMap);
  const std::string fails = "  validations: [{expression: 'false'}]\n";
  const auto with = [&](std::string_view conditions, std::string_view more = "") {
    return Messages(
        Run(fails + "  matchConditions:\n" + std::string(conditions) + std::string(more), write));
  };
  EXPECT_THAT(with("  - {name: a, expression: \"request.name == 'm'\"}\n"),
              ElementsAre("failed expression: false"));
  EXPECT_THAT(with("  - {name: a, expression: 'object.nothing == 1'}\n"
                   "  - {name: b, expression: \"request.name == 'x'\"}\n"),
              IsEmpty());
  EXPECT_THAT(with("  - {name: a, expression: 'object.nothing == 1'}\n"),
              ElementsAre(HasSubstr("resulted in error: no such key: nothing")));
  EXPECT_THAT(
      with("  - {name: a, expression: 'object.nothing == 1'}\n", "  failurePolicy: Ignore\n"),
      IsEmpty());
}

TEST_F(EvaluationTest, WhatFailsIsIgnoredIfThePolicySaysSo) {
  const Writing write(kMap);
  EXPECT_THAT(Messages(Run("  failurePolicy: Ignore\n  validations:\n"
                           "  - expression: object.nothing == 1\n  - expression: 'false'\n",
                           write)),
              ElementsAre("", "failed expression: false"));
}

TEST_F(EvaluationTest, AsksForRights) {
  const Writing write(kMap);
  const auto says = [&](std::string_view expression) { return Says(expression, write); };
  EXPECT_THAT(says("authorizer.group('apps').resource('deployments').subresource('scale')"
                   ".namespace('x').name('y').check('get').allowed()"),
              ElementsAre(""));
  EXPECT_EQ(somebody_.last.api_group, "apps");
  EXPECT_EQ(somebody_.last.resource, "deployments");
  EXPECT_EQ(somebody_.last.subresource, "scale");
  EXPECT_EQ(somebody_.last.namespace_, "x");
  EXPECT_EQ(somebody_.last.name, "y");
  EXPECT_THAT(says("authorizer.requestResource.check('get').allowed()"), ElementsAre(""));
  EXPECT_EQ(somebody_.last.resource, "configmaps");
  EXPECT_EQ(somebody_.last.name, "m");
  EXPECT_THAT(says("authorizer.path('/healthz').check('get').allowed()"), ElementsAre(""));
  EXPECT_EQ(somebody_.last.path, "/healthz");
  EXPECT_THAT(says("authorizer.serviceAccount('ns', 'robot').path('/x').check('get').reason() == "
                   "'only ann may get'"),
              ElementsAre(""));
  EXPECT_EQ(somebody_.last.user.name, "system:serviceaccount:ns:robot");
  EXPECT_THAT(says("!authorizer.path('/x').check('put').errored()"), ElementsAre(""));
  EXPECT_THAT(says("authorizer.path(' ').check('get').allowed()"),
              ElementsAre(HasSubstr("path must not be empty")));
}

TEST_F(EvaluationTest, ParametersAreAnObjectOrNull) {
  const Writing write(kMap);
  const std::string spec =
      "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations:\n"
      "  - expression: params == null || int(object.data.size) <= int(params.data.max)\n"
      "    messageExpression: \"'at most ' + params.data.max\"\n";
  constexpr std::string_view kTwo =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limit, namespace: ns}\ndata: {max: '2'}\n";
  EXPECT_THAT(Messages(Run(spec, write)), ElementsAre(""));
  EXPECT_THAT(Messages(Run(spec, write, kTwo)), ElementsAre("at most 2"));
}

TEST_F(EvaluationTest, CostsAreLimited) {
  const Writing write(kMap);
  const std::string loop = "[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, a * b > 0))";
  EXPECT_THAT(Messages(Run("  validations: [{expression: '" + loop + "'}]\n", write, {},
                           {.expression = 50})),
              ElementsAre(HasSubstr("operation cancelled: actual cost limit exceeded")));
  const std::string twice = "  validations: [{expression: '" + loop + "'}, {expression: 'true'}]\n";
  EXPECT_THAT(
      Messages(Run(twice, write, {}, {.policy = 50})),
      ElementsAre("validation failed due to running out of cost budget, no further validation "
                  "rules will be run"));
  // A question about rights is dear: two fit into an expression.
  const std::string check = "authorizer.path('/x').check('get').allowed()";
  EXPECT_THAT(Says(check + " && " + check, write), ElementsAre(""));
  EXPECT_THAT(Says(check + " && " + check + " && " + check, write),
              ElementsAre(HasSubstr("cost limit exceeded")));
  // What variables cost is paid by whoever asks for them.
  EXPECT_THAT(Messages(Run("  variables: [{name: v, expression: '" + loop +
                               "'}]\n  validations: [{expression: variables.v}]\n",
                           write, {}, {.policy = 50})),
              ElementsAre(HasSubstr("running out of cost budget")));
}

TEST_F(EvaluationTest, AnnotationsAreTextsOrNothing) {
  const Writing write(kMap);
  const Judgement judgement =
      Run("  auditAnnotations:\n"
          "  - {key: name, valueExpression: \"'it is ' + object.metadata.name\"}\n"
          "  - {key: none, valueExpression: \"null\"}\n"
          "  - {key: blank, valueExpression: \"'  '\"}\n"
          "  - {key: broken, valueExpression: \"string(object.nothing)\"}\n",
          write);
  ASSERT_EQ(judgement.annotations.size(), 2u);
  EXPECT_EQ(judgement.annotations[0].value, "it is m");
  EXPECT_THAT(judgement.annotations[1].error, HasSubstr("no such key: nothing"));
}

// Without a limit the time for them is that of all pairs: hours, for what fits into one request.
TEST(CompiledPolicy, VariablesThatAreTooManyAreNotLookedAt) {
  std::string spec = "  variables:\n";
  for (int i = 0; i < 60'000; ++i) spec += fmt::format("  - {{name: v{}, expression: '1'}}\n", i);
  const CompiledPolicy policy(SpecFrom(spec));
  const api::ErrorList errors = policy.Errors();
  ASSERT_EQ(errors.size(), 60'000 - kMaxVariables);
  EXPECT_THAT(errors.front().detail, HasSubstr("at most 1000 variables"));
}

TEST(CompiledPolicy, TellsWhatIsWrongWhereItIs) {
  const CompiledPolicy policy(
      SpecFrom("  variables:\n  - {name: v, expression: 'object.+'}\n"
               "  matchConditions:\n  - {name: c, expression: 'variables.v'}\n"
               "  validations:\n"
               "  - {expression: 'object.metadata.name', messageExpression: '1'}\n"
               "  - {expression: 'params == null'}\n"
               "  - {expression: 'request.nothing == 1'}\n"
               "  - {expression: 'true', messageExpression: 'string(authorizer)'}\n"
               "  auditAnnotations:\n  - {key: k, valueExpression: '1'}\n"));
  std::vector<std::string> texts;
  for (const api::FieldError& error : policy.Errors()) {
    texts.push_back(error.field.ToString() + ": " + error.detail);
  }
  EXPECT_THAT(
      texts,
      ElementsAre(HasSubstr("spec.matchConditions[0].expression: compilation failed: ERROR: "
                            "<input>:1:1: undeclared reference to 'variables'"),
                  HasSubstr("spec.variables[0].expression: compilation failed: ERROR: <input>:1:8"),
                  "spec.validations[0].expression: must evaluate to bool but got dyn",
                  HasSubstr("spec.validations[1].expression: compilation failed: ERROR: "
                            "<input>:1:1: undeclared reference to 'params'"),
                  HasSubstr("spec.validations[2].expression: compilation failed: ERROR: "
                            "<input>:1:8: undefined field 'nothing'"),
                  "spec.validations[0].messageExpression: must evaluate to string but got int",
                  HasSubstr("spec.validations[3].messageExpression: compilation failed: ERROR: "
                            "<input>:1:8: undeclared reference to 'authorizer'"),
                  "spec.auditAnnotations[0].valueExpression: must evaluate to one of [string "
                  "null_type] but got int"));
}

}  // namespace
}  // namespace dray::policy
