// SPDX-License-Identifier: Apache-2.0
//
// Workloads and PodGroups: rows 1 to 12 of the acceptance table in docs/spec.
#include "api/pod_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "api/write_rules.h"
#include "fmt/format.h"
#include "testing/objects_from.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Object From(const std::string& yaml) {
  Object object = testing::ObjectsFrom(yaml).at(0);
  object.MutableMetadata().namespace_ = "default";
  return object;
}
Object Group(std::string_view spec) {
  return From(fmt::format(
      "{{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {{name: g}}, spec: {}}}",
      spec));
}
Object WorkloadOf(std::string_view spec) {
  return From(fmt::format(
      "{{apiVersion: scheduling.k8s.io/v1beta1, kind: Workload, metadata: {{name: w}}, spec: {}}}",
      spec));
}

std::vector<std::string> Texts(const ErrorList& errors) {
  std::vector<std::string> texts;
  for (const FieldError& error : errors) texts.push_back(error.Message());
  return texts;
}
std::vector<std::string> Created(const Object& object) { return Texts(ValidateCreate(object, {})); }
std::vector<std::string> Changed(Object old, Object next) {
  for (Object* object : {&old, &next}) {
    object->MutableMetadata().uid = "u";
    object->MutableMetadata().resource_version = "1";
  }
  return Texts(ValidateUpdate(next, old, {}));
}
StrategyOptions With(std::initializer_list<Gate> on) {
  StrategyOptions options;
  for (const Gate gate : on) options.gates.Set(gate, true);
  return options;
}

TEST(PodGroups, Row1ExactlyOnePolicy) {
  EXPECT_THAT(Created(Group("{schedulingPolicy: {basic: {}}}")), IsEmpty());
  EXPECT_THAT(Created(Group("{schedulingPolicy: {gang: {minCount: 2}}}")), IsEmpty());
  EXPECT_THAT(Created(Group("{}")),
              ElementsAre(AllOf(HasSubstr("spec.schedulingPolicy: Invalid value"),
                                HasSubstr("must specify one of: `basic`, `gang`"))));
  EXPECT_THAT(Created(Group("{schedulingPolicy: {basic: {}, gang: {minCount: 1}}}")),
              ElementsAre(AllOf(HasSubstr("{basic, gang}"),
                                HasSubstr("must specify exactly one of: `basic`, `gang`"))));
}

TEST(PodGroups, Row2MinCountIsAtLeastOne) {
  EXPECT_THAT(Created(Group("{schedulingPolicy: {gang: {}}}")),
              ElementsAre("spec.schedulingPolicy.gang.minCount: Required value"));
  EXPECT_THAT(Created(Group("{schedulingPolicy: {gang: {minCount: -1}}}")),
              ElementsAre("spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater "
                          "than or equal to 1"));
}

TEST(PodGroups, Row3ClaimsOfAGroup) {
  const auto with = [](std::string_view claims) {
    return Created(
        Group(fmt::format("{{schedulingPolicy: {{basic: {{}}}}, resourceClaims: {}}}", claims)));
  };
  EXPECT_THAT(with("[{name: a, resourceClaimName: x}, {name: b, resourceClaimTemplateName: z}]"),
              IsEmpty());
  EXPECT_THAT(with("[{name: a, resourceClaimName: x}, {name: b, resourceClaimName: x}, {name: c, "
                   "resourceClaimName: x}, {name: d, resourceClaimName: x}, {name: e, "
                   "resourceClaimName: x}]"),
              ElementsAre("spec.resourceClaims: Too many: 5: must have at most 4 items"));
  EXPECT_THAT(with("[{name: a, resourceClaimName: x}, {name: a, resourceClaimName: z}]"),
              ElementsAre("spec.resourceClaims[1]: Duplicate value: \"a\""));
  EXPECT_THAT(with("[{name: a}]"), ElementsAre(HasSubstr("spec.resourceClaims[0]: Invalid value")));
  EXPECT_THAT(with("[{name: a, resourceClaimName: x, resourceClaimTemplateName: z}]"),
              ElementsAre(HasSubstr("must specify exactly one of")));
}

TEST(PodGroups, Row4OneTopologyKey) {
  const auto with = [](std::string_view keys) {
    return Created(Group(fmt::format(
        "{{schedulingPolicy: {{basic: {{}}}}, schedulingConstraints: {{topology: {}}}}}", keys)));
  };
  EXPECT_THAT(with("[]"), IsEmpty());
  EXPECT_THAT(with("[{key: topology.kubernetes.io/rack}]"), IsEmpty());
  EXPECT_THAT(with("[{key: a}, {key: b}]"),
              ElementsAre(HasSubstr("spec.schedulingConstraints.topology: Too many: 2")));
  EXPECT_THAT(with("[{key: 'a b'}]"),
              ElementsAre(HasSubstr("spec.schedulingConstraints.topology[0].key: Invalid value")));
}

TEST(PodGroups, Row5DefaultsAndNoGeneration) {
  Object group = Group("{schedulingPolicy: {gang: {minCount: 2}}}");
  SetDefaults(group, base::Time());
  PrepareForCreate(group, With({Gate::kGenericWorkload}));
  const PodGroup& stored = *group.As<PodGroup>();
  ASSERT_TRUE(stored.spec.disruption_mode.has_value());
  EXPECT_TRUE(stored.spec.disruption_mode->single.has_value());
  EXPECT_EQ(stored.metadata.generation, 0);
  EXPECT_EQ(MinCountOf(stored.spec), 2);
  EXPECT_THAT(group.ToJson(), HasSubstr(R"("disruptionMode":{"single":{}})"));
}

TEST(PodGroups, Row6OnlyMinCountChanges) {
  const Object gang = Group("{schedulingPolicy: {gang: {minCount: 2}}}");
  EXPECT_THAT(Changed(gang, Group("{schedulingPolicy: {gang: {minCount: 3}}}")), IsEmpty());
  EXPECT_THAT(
      Changed(gang, Group("{schedulingPolicy: {basic: {}}}")),
      ElementsAre(AllOf(HasSubstr("spec.schedulingPolicy.basic"), HasSubstr("field is immutable")),
                  AllOf(HasSubstr("spec.schedulingPolicy.gang"),
                        HasSubstr("field cannot be cleared once set"))));
}

TEST(PodGroups, Row7TheRestIsFixed) {
  const Object old = Group("{schedulingPolicy: {basic: {}}}");
  for (const auto& [field, value] : std::vector<std::pair<std::string, std::string>>{
           {"priority", "3"},
           {"priorityClassName", "high"},
           {"preemptionPolicy", "Never"},
           {"resourceClaims", "[{name: a, resourceClaimName: x}]"},
           {"workloadRef", "{workloadName: w, templateName: t}"},
           {"disruptionMode", "{all: {}}"},
           {"schedulingConstraints", "{topology: [{key: rack}]}"}}) {
    const std::string spec =
        fmt::format("{{schedulingPolicy: {{basic: {{}}}}, {}: {}}}", field, value);
    EXPECT_THAT(Changed(old, Group(spec)),
                ElementsAre(AllOf(HasSubstr("spec." + field), HasSubstr("field is immutable"))));
  }
}

TEST(PodGroups, Row9AStatusNamesClaimsThatTheGroupHas) {
  Object old = Group(
      "{schedulingPolicy: {basic: {}}, resourceClaims: [{name: a, resourceClaimTemplateName: t}]}");
  old.MutableMetadata().uid = "u";
  old.MutableMetadata().resource_version = "1";
  Object next = old;
  auto& statuses = next.Mutable<PodGroup>()->status.resource_claim_statuses;
  statuses = {{.name = "a", .resource_claim_name = "g-a-x"}};
  EXPECT_THAT(Texts(ValidateStatusUpdate(next, old, {})), IsEmpty());
  statuses.push_back({.name = "b"});
  EXPECT_THAT(Texts(ValidateStatusUpdate(next, old, {})),
              ElementsAre("status.resourceClaimStatuses[1].name: Invalid value: \"b\": must match "
                          "the name of an entry in `spec.resourceClaims`"));
}

TEST(Workloads, Row10UpToEightTemplatesOfOnePriority) {
  EXPECT_THAT(Created(WorkloadOf("{}")), ElementsAre(HasSubstr("must specify one of")));
  std::string nine;
  for (int i = 0; i < 9; ++i)
    nine += fmt::format("{{name: t{}, schedulingPolicy: {{basic: {{}}}}}},", i);
  EXPECT_THAT(Created(WorkloadOf("{podGroupTemplates: [" + nine + "]}")),
              ElementsAre("spec.podGroupTemplates: Too many: 9: must have at most 8 items"));
  EXPECT_THAT(Created(WorkloadOf("{podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}}, "
                                 "{name: b, priority: 3, schedulingPolicy: {basic: {}}}]}")),
              ElementsAre(HasSubstr("detected multiple priority configurations")));
  EXPECT_THAT(Created(WorkloadOf("{podGroupTemplates: [{name: a, schedulingPolicy: {basic: {}}}, "
                                 "{name: a, schedulingPolicy: {basic: {}}}]}")),
              ElementsAre("spec.podGroupTemplates[1]: Duplicate value: \"a\""));
}

TEST(Workloads, TemplatesStayButForTheirMinCount) {
  const Object old =
      WorkloadOf("{podGroupTemplates: [{name: a, schedulingPolicy: {gang: {minCount: 1}}}]}");
  EXPECT_THAT(
      Changed(
          old,
          WorkloadOf("{podGroupTemplates: [{name: a, schedulingPolicy: {gang: {minCount: 2}}}]}")),
      IsEmpty());
  EXPECT_THAT(
      Changed(
          old,
          WorkloadOf("{podGroupTemplates: [{name: b, schedulingPolicy: {gang: {minCount: 1}}}]}")),
      UnorderedElementsAre(HasSubstr("item may not be added"),
                           HasSubstr("item may not be removed")));
  // An unset field of a template is written as null.
  EXPECT_THAT(old.ToJson(), HasSubstr(R"("schedulingConstraints":null)"));
}

TEST(PodGroups, WhatIsGatedOffIsDroppedUnlessItWasThere) {
  constexpr std::string_view kSpec =
      "{schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: rack}]}, "
      "resourceClaims: [{name: a, resourceClaimName: x}], preemptionPolicy: Never}";
  Object off = Group(kSpec);
  PrepareForCreate(off, With({Gate::kGenericWorkload}));
  EXPECT_FALSE(off.As<PodGroup>()->spec.scheduling_constraints.has_value());
  EXPECT_THAT(off.As<PodGroup>()->spec.resource_claims, IsEmpty());
  EXPECT_FALSE(off.As<PodGroup>()->spec.preemption_policy.has_value());
  Object kept = Group(kSpec);
  PrepareForUpdate(kept, Group(kSpec), With({Gate::kGenericWorkload}));
  EXPECT_EQ(kept.As<PodGroup>()->spec, Group(kSpec).As<PodGroup>()->spec);
  Object on = Group(kSpec);
  PrepareForCreate(on, With({Gate::kGenericWorkload, Gate::kTopologyAwareWorkloadScheduling,
                             Gate::kDRAWorkloadResourceClaims, Gate::kPodGroupPreemptionPolicy}));
  EXPECT_EQ(on.As<PodGroup>()->spec, Group(kSpec).As<PodGroup>()->spec);
}

TEST(PodGroups, Row12APodNamesItsGroup) {
  const auto pod = [](std::string_view group) {
    return From(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: "
                    "{{containers: [{{name: c, image: i}}], schedulingGroup: {}}}}}",
                    group));
  };
  EXPECT_THAT(Created(pod("{podGroupName: g}")), IsEmpty());
  EXPECT_THAT(Created(pod("{}")),
              ElementsAre("spec.schedulingGroup.podGroupName: Invalid value: null: must specify "
                          "one of: `podGroupName`"));
  EXPECT_THAT(Changed(pod("{podGroupName: g}"), pod("{podGroupName: h}")),
              ElementsAre(HasSubstr("spec: Forbidden")));
}

TEST(GroupClaims, APodUsesWhatItsGroupHas) {
  Pod pod;
  pod.metadata.uid = "p";
  ResourceClaim claim;
  claim.metadata.owner_references = {{.api_version = "scheduling.k8s.io/v1beta1",
                                      .kind = "PodGroup",
                                      .name = "g",
                                      .uid = "gu",
                                      .controller = true}};
  PodGroup group;
  group.metadata.name = "g";
  group.metadata.uid = "gu";
  claim.status.reserved_for = {ConsumerOf(group)};
  EXPECT_FALSE(OwnedBy(claim, pod));
  EXPECT_FALSE(ReservedFor(claim, pod));
  pod.spec.scheduling_group.emplace().pod_group_name = "g";
  EXPECT_TRUE(OwnedBy(claim, pod));
  EXPECT_TRUE(ReservedFor(claim, pod));
  pod.spec.scheduling_group->pod_group_name = "h";
  EXPECT_FALSE(OwnedBy(claim, pod));
  EXPECT_FALSE(ReservedFor(claim, pod));
}

TEST(GroupClaims, AnEntryIsTheGroupsIfBothSayTheSame) {
  PodGroupSpec group;
  group.resource_claims = {{.name = "a", .resource_claim_template_name = "t"}};
  EXPECT_TRUE(IsOfGroup({.name = "a", .resource_claim_template_name = "t"}, group));
  EXPECT_FALSE(IsOfGroup({.name = "b", .resource_claim_template_name = "t"}, group));
  EXPECT_FALSE(IsOfGroup({.name = "a", .resource_claim_template_name = "u"}, group));
  EXPECT_FALSE(IsOfGroup({.name = "a", .resource_claim_name = "t"}, group));
}

TEST(PodGroups, AreNotUpdatedWithoutAVersion) {
  EXPECT_FALSE(AllowsUnconditionalUpdate(HubKind(TypeInfoOf<PodGroup>())));
  EXPECT_FALSE(AllowsUnconditionalUpdate(HubKind(TypeInfoOf<Workload>())));
}

}  // namespace
}  // namespace dray::api
