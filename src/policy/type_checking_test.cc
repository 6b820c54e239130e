// SPDX-License-Identifier: Apache-2.0
#include "policy/type_checking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_for_test.h"

namespace dray::policy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<ExpressionWarning> Check(std::string_view spec) {
  const KnownKinds kinds{
      .of_resource = [](std::string_view group, std::string_view version,
                        std::string_view resource) -> const api::KindInfo* {
        for (const api::KindInfo& kind : api::Kinds()) {
          if (kind.group == group && kind.version == version && kind.plural == resource) {
            return &kind;
          }
        }
        return nullptr;
      },
      .find = [](std::string_view api_version,
                 std::string_view kind) { return api::FindKind(api_version, kind); }};
  return CheckTypes(SpecFrom(spec), kinds);
}

TEST(TypeChecking, AFieldThatNoKindHasIsTold) {
  const auto warnings = Check(
      "  validations:\n"
      "  - {expression: 'object.metadata.name != \"\"'}\n"
      "  - {expression: 'object.spec.pool.name != \"\"', messageExpression: 'object.data.x'}\n");
  ASSERT_THAT(warnings, SizeIs(2));
  // Config maps have no spec, slices no data.
  EXPECT_EQ(warnings[0].field, "spec.validations[1].expression");
  EXPECT_THAT(warnings[0].text,
              HasSubstr("v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'"));
  EXPECT_EQ(warnings[1].field, "spec.validations[1].messageExpression");
  EXPECT_THAT(warnings[1].text, HasSubstr("resource.k8s.io/v1, Kind=ResourceSlice: ERROR"));
}

TEST(TypeChecking, TypesOfFieldsCount) {
  const std::string match =
      "  matchConstraints:\n    resourceRules:\n    - {apiGroups: [apps], apiVersions: [v1], "
      "operations: ['*'], resources: [deployments]}\n";
  EXPECT_THAT(Check(match + "  validations: [{expression: 'object.spec.replicas <= 5'}]\n"),
              IsEmpty());
  EXPECT_THAT(Check(match + "  validations: [{expression: 'object.spec.replicas == \"5\"'}]\n"),
              SizeIs(1));
  EXPECT_THAT(Check(match + "  variables: [{name: r, expression: object.spec.replicas}]\n"
                            "  validations: [{expression: 'variables.r.startsWith(\"5\")'}]\n"),
              SizeIs(1));
}

TEST(TypeChecking, WildcardsAreNotLookedAt) {
  EXPECT_THAT(
      Check("  matchConstraints:\n    resourceRules:\n    - {apiGroups: ['*'], apiVersions: "
            "['*'], operations: ['*'], resources: ['*']}\n"
            "  validations: [{expression: 'object.nothing == 1'}]\n"),
      IsEmpty());
}

// A rule of a few megabytes has more combinations than could be looked at in a year.
TEST(TypeChecking, RulesWithManyCombinationsAreNotLookedAtInFull) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "x" + std::to_string(i) + ", ";
  EXPECT_THAT(Check("  matchConstraints:\n    resourceRules:\n    - {apiGroups: [" + many +
                    "zz], apiVersions: [" + many + "v1], operations: ['*'], resources: [" + many +
                    "pods]}\n  validations: [{expression: 'object.nothing == 1'}]\n"),
              IsEmpty());
}

TEST(TypeChecking, ParametersHaveTypes) {
  EXPECT_THAT(Check("  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
                    "  validations: [{expression: 'params.nothing == 1'}]\n"),
              SizeIs(1));
}

}  // namespace
}  // namespace dray::policy
