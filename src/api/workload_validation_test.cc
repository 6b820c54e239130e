// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/daemon_set.h"
#include "api/job.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "testing/objects_from.h"

namespace dray::api {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As it is stored, so that only the rules in question say something.
Object From(std::string_view yaml) {
  Object object = testing::ObjectsFrom(yaml).at(0);
  object.MutableMetadata().namespace_ = object.kind().namespaced ? "default" : "";
  return object;
}
Object Stored(Object object) {
  object.MutableMetadata().uid = "u";
  object.MutableMetadata().resource_version = "1";
  return object;
}

std::vector<std::string> Texts(const ErrorList& errors) {
  std::vector<std::string> texts;
  for (const FieldError& error : errors) texts.push_back(error.Message());
  return texts;
}
std::vector<std::string> Of(std::string_view yaml) { return Texts(ValidateCreate(From(yaml), {})); }
std::vector<std::string> OfPod(std::string_view spec) {
  return Of("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + std::string(spec) + "}");
}

TEST(WorkloadRules, APodHasContainersWithNamesAndImages) {
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i}]}"), IsEmpty());
  EXPECT_THAT(OfPod("{}"), ElementsAre("spec.containers: Required value"));
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i}, {name: a, image: i}, {}]}"),
              ElementsAre("spec.containers[1].name: Duplicate value: \"a\"",
                          "spec.containers[2].name: Required value",
                          "spec.containers[2].image: Required value"));
  EXPECT_THAT(OfPod("{containers: [{name: A_b, image: i}]}"),
              ElementsAre(HasSubstr("spec.containers[0].name: Invalid value: \"A_b\"")));
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i}], initContainers: [{name: a, image: i}]}"),
              ElementsAre("spec.initContainers[0].name: Duplicate value: \"a\""));
}

TEST(WorkloadRules, APortIsANumberThatThereIs) {
  EXPECT_THAT(
      OfPod("{containers: [{name: a, image: i, ports: [{}, {containerPort: 70000}]}]}"),
      ElementsAre("spec.containers[0].ports[0].containerPort: Required value",
                  HasSubstr("spec.containers[0].ports[1].containerPort: Invalid value: 70000")));
}

TEST(WorkloadRules, ClaimsAreNamedOnceAndKnownToThePod) {
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i, resources: {claims: [{name: gpu}]}}]}"),
              ElementsAre(HasSubstr("spec.containers[0].resources.claims[0]: Not found: \"gpu\"")));
  EXPECT_THAT(
      OfPod("{containers: [{name: a, image: i}], resourceClaims: [{name: g}, {name: g, "
            "resourceClaimName: c, resourceClaimTemplateName: t}]}"),
      ElementsAre(HasSubstr("spec.resourceClaims[0]: Invalid value: \"g\": must specify one of"),
                  "spec.resourceClaims[1].name: Duplicate value: \"g\"",
                  HasSubstr("spec.resourceClaims[1]: Invalid value: \"g\": at most one of")));
}

constexpr std::string_view kDeployment =
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: "
    "{app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: a, image: "
    "i}]}}}}";

TEST(WorkloadRules, ADeploymentSelectsItsOwnPods) {
  EXPECT_THAT(Of(kDeployment), IsEmpty());
  EXPECT_THAT(Of("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}"),
              ElementsAre("spec.selector: Required value",
                          "spec.template.spec.containers: Required value"));
  EXPECT_THAT(
      Of("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: d}, spec: {selector: "
         "{matchLabels: {app: x}}, template: {metadata: {labels: {app: d}}, spec: {restartPolicy: "
         "Never, containers: [{name: a, image: i}]}}}}"),
      ElementsAre(HasSubstr("spec.template.metadata.labels: Invalid value: {\"app\":\"d\"}: "
                            "`selector` does not match"),
                  HasSubstr("spec.template.spec.restartPolicy: Unsupported value: \"Never\"")));
}

TEST(WorkloadRules, AJobsPodsEnd) {
  EXPECT_THAT(Of("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {spec: "
                 "{containers: [{name: a, image: i}]}}}}"),
              ElementsAre(HasSubstr("spec.template.spec.restartPolicy: Required value")));
}

TEST(WorkloadRules, OfAPodOnlyLittleMayChange) {
  const Object stored = From(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i}], "
      "tolerations: [{key: a, operator: Exists}], schedulingGates: [{name: x/y}]}}");
  const auto after = [&](auto change) {
    Object next = stored;
    change(next.Mutable<Pod>()->spec);
    return Texts(ValidateUpdate(Stored(next), Stored(stored), {}));
  };
  EXPECT_THAT(after([](PodSpec& spec) { spec.containers[0].image = "other"; }), IsEmpty());
  EXPECT_THAT(after([](PodSpec& spec) { spec.tolerations.emplace_back().key = "b"; }), IsEmpty());
  EXPECT_THAT(after([](PodSpec& spec) { spec.scheduling_gates.clear(); }), IsEmpty());
  EXPECT_THAT(after([](PodSpec& spec) { spec.tolerations.clear(); }),
              ElementsAre(HasSubstr("spec: Forbidden: pod updates may not change fields")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.scheduling_gates.emplace_back().name = "z/z"; }),
              ElementsAre(HasSubstr("spec: Forbidden")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.resource_claims.emplace_back().name = "c"; }),
              ElementsAre(HasSubstr("spec: Forbidden")));
}

// What a pod has been promised, and what it was held back for, does not become more.
TEST(WorkloadRules, APodIsNarrowedOnly) {
  const Object stored = From(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i}], "
      "activeDeadlineSeconds: 100, nodeSelector: {a: b}, schedulingGates: [{name: x/y}], affinity: "
      "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: [{key: k, operator: Exists}]}]}}, podAntiAffinity: "
      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: t, labelSelector: {}}]}}}}");
  const auto after = [&](auto change) {
    Object next = stored;
    change(next.Mutable<Pod>()->spec);
    return Texts(ValidateUpdate(Stored(next), Stored(stored), {}));
  };
  EXPECT_THAT(after([](PodSpec& spec) { spec.active_deadline_seconds = 50; }), IsEmpty());
  EXPECT_THAT(after([](PodSpec& spec) { spec.active_deadline_seconds = 101; }),
              ElementsAre(HasSubstr("spec.activeDeadlineSeconds: Invalid value: 101: must be less "
                                    "than or equal to previous value")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.active_deadline_seconds.reset(); }),
              ElementsAre(HasSubstr("must not update from a positive integer to nil value")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.node_selector["c"] = "d"; }), IsEmpty());
  const auto only_additions = HasSubstr("only additions are allowed (no mutations or deletions)");
  EXPECT_THAT(after([](PodSpec& spec) { spec.node_selector["a"] = "d"; }),
              ElementsAre(only_additions));
  EXPECT_THAT(after([](PodSpec& spec) { spec.node_selector.clear(); }),
              ElementsAre(only_additions));
  const auto terms = [](PodSpec& spec) -> std::vector<NodeSelectorTerm>& {
    return spec.affinity->node_affinity->required->node_selector_terms;
  };
  EXPECT_THAT(after([&](PodSpec& spec) {
                terms(spec)[0].match_expressions.push_back({.key = "l", .operator_ = "Exists"});
                spec.affinity->node_affinity->preferred.push_back(
                    {.weight = 1,
                     .preference = {.match_expressions = {{.key = "l", .operator_ = "Exists"}}}});
              }),
              IsEmpty());
  EXPECT_THAT(after([&](PodSpec& spec) { terms(spec)[0].match_expressions[0].key = "l"; }),
              ElementsAre(only_additions));
  EXPECT_THAT(after([&](PodSpec& spec) { terms(spec).push_back(terms(spec)[0]); }),
              ElementsAre(HasSubstr("no additions/deletions to non-empty NodeSelectorTerms list")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.affinity->node_affinity.reset(); }),
              ElementsAre(HasSubstr("no additions/deletions")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.affinity->pod_anti_affinity.reset(); }),
              ElementsAre(HasSubstr("spec: Forbidden: pod updates may not change fields")));
  EXPECT_THAT(after([](PodSpec& spec) { spec.affinity.reset(); }),
              ElementsAre(HasSubstr("spec: Forbidden: pod updates may not change fields")));
}

TEST(NodeRules, TaintsAreThoseThatKeepPodsAway) {
  EXPECT_THAT(
      Of("{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {taints: [{key: a, effect: "
         "NoSchedule}, {key: a, effect: NoExecute}]}}"),
      IsEmpty());
  EXPECT_THAT(
      Of("{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {taints: [{key: a, effect: "
         "NoSchedule}, {key: a, value: b, effect: NoSchedule}, {key: no blanks, value: no blanks, "
         "effect: Foo}, {}]}}"),
      ElementsAre(HasSubstr("spec.taints[1]: Duplicate value: \"a:NoSchedule\""),
                  HasSubstr("spec.taints[2].key: Invalid value"),
                  HasSubstr("spec.taints[2].value: Invalid value"),
                  HasSubstr("spec.taints[2].effect: Unsupported value: \"Foo\""),
                  HasSubstr("spec.taints[3].key: Required value"),
                  HasSubstr("spec.taints[3].effect: Required value")));
}

TEST(NodeRules, AddressesOfPodsAndTheMachineStay) {
  const Object stored = From(
      "{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {podCIDR: 10.0.0.0/24, podCIDRs: "
      "[10.0.0.0/24], providerID: cloud://a, taints: [{key: old}]}}");
  const auto after = [&](auto change) {
    Object next = stored;
    change(next.Mutable<Node>()->spec);
    return Texts(ValidateUpdate(Stored(next), Stored(stored), {}));
  };
  // What was stored before there was a rule keeps nobody from changing something else.
  EXPECT_THAT(after([](NodeSpec& spec) { spec.unschedulable = true; }), IsEmpty());
  EXPECT_THAT(after([](NodeSpec& spec) { spec.taints[0].value = "x"; }),
              ElementsAre(HasSubstr("spec.taints[0].effect: Required value")));
  EXPECT_THAT(
      after([](NodeSpec& spec) { spec.pod_cidr = "10.1.0.0/24"; }),
      ElementsAre(HasSubstr("spec.podCIDRs: Forbidden: node updates may not change podCIDR")));
  EXPECT_THAT(after([](NodeSpec& spec) {
                spec.pod_cidr.clear();
                spec.pod_cidrs.clear();
              }),
              ElementsAre(HasSubstr("spec.podCIDRs: Forbidden")));
  EXPECT_THAT(after([](NodeSpec& spec) { spec.provider_id = "cloud://b"; }),
              ElementsAre(HasSubstr("spec.providerID: Forbidden")));
  EXPECT_THAT(Of("{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {podCIDRs: [here, "
                 "10.0.0.0/24, 10.0.0.0/24]}}"),
              ElementsAre(HasSubstr("spec.podCIDRs: Too many"), HasSubstr("spec.podCIDRs[0]"),
                          HasSubstr("spec.podCIDRs[2]: Duplicate value")));
}

TEST(RevisionRules, WhatWasStays) {
  const Object stored = From(
      "{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: r}, revision: 1, data: {a: "
      "1}}");
  const auto after = [&](auto change) {
    Object next = stored;
    change(*next.Mutable<ControllerRevision>());
    return Texts(ValidateUpdate(Stored(next), Stored(stored), {}));
  };
  EXPECT_THAT(after([](ControllerRevision& next) { next.revision = 2; }), IsEmpty());
  EXPECT_THAT(after([](ControllerRevision& next) { next.data.text = R"({ "a" : 1 })"; }),
              IsEmpty());
  EXPECT_THAT(after([](ControllerRevision& next) { next.data.text = R"({"a":2})"; }),
              ElementsAre(HasSubstr("data: Invalid value")));
  EXPECT_THAT(after([](ControllerRevision& next) { next.revision = -1; }),
              ElementsAre(HasSubstr("revision: Invalid value: -1")));
}

TEST(LimitRules, OfClaimsForVolumesAreAboutStorage) {
  EXPECT_THAT(Of("{apiVersion: v1, kind: LimitRange, metadata: {name: r}, spec: {limits: [{type: "
                 "PersistentVolumeClaim, max: {cpu: 1}}]}}"),
              ElementsAre(HasSubstr("spec.limits[0].limits: Required value: either minimum or "
                                    "maximum storage value is required")));
  EXPECT_THAT(Of("{apiVersion: v1, kind: LimitRange, metadata: {name: r}, spec: {limits: [{type: "
                 "PersistentVolumeClaim, max: {storage: 1Gi}}]}}"),
              IsEmpty());
}

TEST(LeaseRules, TimesArePositive) {
  EXPECT_THAT(Of("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: "
                 "{holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0}}"),
              IsEmpty());
  EXPECT_THAT(Of("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: "
                 "{leaseDurationSeconds: 0, leaseTransitions: -1}}"),
              ElementsAre(HasSubstr("spec.leaseDurationSeconds: Invalid value: 0: must be greater "
                                    "than 0"),
                          HasSubstr("spec.leaseTransitions: Invalid value: -1")));
}

TEST(WorkloadRules, ASelectorStays) {
  const Object stored = From(kDeployment);
  std::string other(kDeployment);
  for (auto at = other.find("app: d"); at != other.npos; at = other.find("app: d")) {
    other.replace(at, 6, "app: e");
  }
  EXPECT_THAT(Texts(ValidateUpdate(Stored(From(other)), Stored(stored), {})),
              ElementsAre(HasSubstr("spec.selector: Invalid value: {}: field is immutable")));
}

TEST(WorkloadRules, AJobsPodsStayTheSame) {
  const Object stored = From(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {completions: 2, parallelism: "
      "1, completionMode: NonIndexed, template: {spec: {restartPolicy: Never, containers: [{name: "
      "a, image: i}]}}}}");
  const auto after = [](const Object& old, auto change) {
    Object next = old;
    change(next.Mutable<Job>()->spec);
    return Texts(ValidateUpdate(Stored(next), Stored(old), {}));
  };
  const auto image = [](JobSpec& spec) { spec.template_.spec.containers[0].image = "k"; };
  const auto place = [](JobSpec& spec) {
    PodTemplateSpec& pods = spec.template_;
    pods.metadata.labels["queue"] = "a";
    pods.metadata.annotations["queue"] = "a";
    pods.spec.node_selector["zone"] = "b";
    pods.spec.tolerations.emplace_back().key = "t";
    pods.spec.scheduling_gates.emplace_back().name = "x/y";
    pods.spec.affinity = Affinity{.node_affinity = NodeAffinity{}};
  };
  EXPECT_THAT(after(stored, [](JobSpec& spec) { spec.parallelism = 3; }), IsEmpty());
  EXPECT_THAT(after(stored, [](JobSpec& spec) { spec.suspend = true; }), IsEmpty());
  EXPECT_THAT(after(stored, image),
              ElementsAre("spec.template: Invalid value: {}: field is immutable"));
  EXPECT_THAT(after(stored, place), ElementsAre(HasSubstr("spec.template: Invalid value")));
  EXPECT_THAT(after(stored, [](JobSpec& spec) { spec.completions = 3; }),
              ElementsAre("spec.completions: Invalid value: 3: field is immutable"));
  EXPECT_THAT(after(stored, [](JobSpec& spec) { spec.completion_mode = "Indexed"; }),
              ElementsAre(HasSubstr("spec.completionMode: Invalid value")));
  EXPECT_THAT(after(stored, [](JobSpec& spec) { spec.selector = LabelSelector{}; }),
              ElementsAre(HasSubstr("spec.selector: Invalid value")));
  EXPECT_THAT(after(stored, [](JobSpec& spec) { spec.managed_by = "a/b"; }),
              ElementsAre(HasSubstr("spec.managedBy: Invalid value")));

  // Whoever queues jobs says where they go before they begin.
  Object waiting = stored;
  waiting.Mutable<Job>()->spec.suspend = true;
  EXPECT_THAT(after(waiting, place), IsEmpty());
  EXPECT_THAT(after(waiting, image), ElementsAre(HasSubstr("spec.template: Invalid value")));
  EXPECT_THAT(after(waiting,
                    [](JobSpec& spec) {
                      spec.template_.spec.affinity = Affinity{.pod_affinity = PodAffinity{}};
                    }),
              ElementsAre(HasSubstr("spec.template: Invalid value")));
  Object placed = waiting;
  place(placed.Mutable<Job>()->spec);
  EXPECT_THAT(after(placed, [](JobSpec& spec) { spec.template_.spec.affinity.reset(); }),
              IsEmpty());
  waiting.Mutable<Job>()->status.start_time = base::Time::FromUnix(5);
  EXPECT_THAT(after(waiting, place), ElementsAre(HasSubstr("spec.template: Invalid value")));

  // Indexes can be added, with as many pods.
  Object indexed = stored;
  indexed.Mutable<Job>()->spec.completion_mode = "Indexed";
  EXPECT_THAT(after(indexed, [](JobSpec& spec) { spec.completions = spec.parallelism = 3; }),
              IsEmpty());
  EXPECT_THAT(after(indexed, [](JobSpec& spec) { spec.completions = 3; }),
              ElementsAre("spec.completions: Invalid value: 3: can only be modified in tandem with "
                          "spec.parallelism"));
}

// Whoever was let in before a rule was there can still be changed, deleted and finished.
TEST(WorkloadRules, WhatWasWrongBeforeIsNotHeldAgainstAnUpdate) {
  const Object stored =
      From("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {}}");
  Object next = stored;
  next.MutableMetadata().labels["a"] = "b";
  EXPECT_THAT(ValidateUpdate(Stored(next), Stored(stored), {}), IsEmpty());
}

std::vector<std::string> OfContainer(std::string_view more) {
  return OfPod("{containers: [{name: a, image: i, " + std::string(more) + "}]}");
}
std::vector<std::string> OfResources(std::string_view resources) {
  return OfContainer("resources: " + std::string(resources));
}

TEST(WorkloadRules, AmountsCanBeCounted) {
  EXPECT_THAT(OfResources("{requests: {cpu: 1}, limits: {cpu: 2, example.com/gpu: 1}}"), IsEmpty());
  EXPECT_THAT(
      OfResources("{limits: {example.com/gpu: -5}}"),
      ElementsAre(HasSubstr("limits[example.com/gpu]: Invalid value: \"-5\": must be greater "
                            "than or equal to 0")));
  EXPECT_THAT(OfResources("{requests: {cpu: -64}}"),
              ElementsAre(HasSubstr("must be greater than")));
  EXPECT_THAT(OfResources("{limits: {example.com/gpu: 500m}}"),
              ElementsAre(HasSubstr("must be an integer")));
  EXPECT_THAT(OfResources("{requests: {example.com/gpu: 1}, limits: {example.com/gpu: 2}}"),
              ElementsAre(HasSubstr("must be equal to example.com/gpu limit of 2")));
  EXPECT_THAT(OfResources("{requests: {example.com/gpu: 1}}"),
              ElementsAre(HasSubstr("limits: Required value: Limit must be set for non "
                                    "overcommitable resources")));
  EXPECT_THAT(OfResources("{limits: {gpu: 1}}"),
              ElementsAre(HasSubstr("must be a standard resource for containers")));
  EXPECT_THAT(OfResources("{requests: {cpu: 3}, limits: {cpu: 2}}"),
              ElementsAre(HasSubstr("must be less than or equal to cpu limit of 2")));
  EXPECT_THAT(
      OfResources("{limits: {hugepages-2Mi: 2Mi}}"),
      ElementsAre("spec.containers[0].resources: Forbidden: HugePages require cpu or memory"));
}

TEST(WorkloadRules, AmountsOfTheWholePodAreNoDevices) {
  const std::string one = "containers: [{name: a, image: i, resources: {requests: {cpu: 2}}}]}";
  EXPECT_THAT(OfPod("{resources: {requests: {cpu: 2}}, " + one), IsEmpty());
  EXPECT_THAT(OfPod("{resources: {requests: {cpu: 1}}, " + one),
              ElementsAre(HasSubstr("spec.resources.requests[cpu]: Invalid value: \"1\": must be "
                                    "greater than or equal to aggregate container requests of 2")));
  EXPECT_THAT(OfPod("{resources: {limits: {example.com/gpu: 1}}, " + one),
              ElementsAre(HasSubstr("spec.resources.limits[example.com/gpu]: Unsupported value")));
  EXPECT_THAT(OfPod("{resources: {claims: [{name: c}]}, resourceClaims: [{name: c, "
                    "resourceClaimName: c}], " +
                    one),
              ElementsAre(HasSubstr("spec.resources.claims: Forbidden")));
}

TEST(WorkloadRules, ClaimsOfAContainerAreUsedOnce) {
  const auto of = [](std::string_view claims) {
    return OfPod("{containers: [{name: a, image: i, resources: {claims: " + std::string(claims) +
                 "}}], resourceClaims: [{name: c, resourceClaimName: c}]}");
  };
  EXPECT_THAT(of("[{name: c, request: a}, {name: c, request: b}]"), IsEmpty());
  EXPECT_THAT(of("[{name: c}, {name: c}]"),
              ElementsAre(HasSubstr("claims[1]: Duplicate value: \"c\"")));
  EXPECT_THAT(of("[{name: c, request: a}, {name: c}]"),
              ElementsAre(HasSubstr("claims[1]: Duplicate value: \"c\"")));
  EXPECT_THAT(of("[{name: c}, {name: c, request: a}]"),
              ElementsAre(HasSubstr("claims[1]: Duplicate value: \"c\"")));
  EXPECT_THAT(of("[{name: c, request: Bad_}]"),
              ElementsAre(HasSubstr("claims[0].request: Invalid value: \"Bad_\"")));
  EXPECT_THAT(of("[{}]"), ElementsAre("spec.containers[0].resources.claims[0]: Required value"));
}

TEST(WorkloadRules, ClaimsAndTemplatesHaveNamesThatObjectsCanHave) {
  const auto of = [](std::string_view claim) {
    return OfPod("{containers: [{name: a, image: i}], resourceClaims: [{name: c, " +
                 std::string(claim) + "}]}");
  };
  for (const std::string name : {"''", "Bad_"}) {
    EXPECT_THAT(of("resourceClaimName: " + name),
                ElementsAre(HasSubstr("spec.resourceClaims[0].resourceClaimName: Invalid value")));
    EXPECT_THAT(
        of("resourceClaimTemplateName: " + name),
        ElementsAre(HasSubstr("spec.resourceClaims[0].resourceClaimTemplateName: Invalid value")));
  }
}

TEST(WorkloadRules, PartsOfAPodKnowEachOther) {
  EXPECT_THAT(OfPod("{volumes: [{name: v}], containers: [{name: a, image: i, volumeMounts: [{name: "
                    "v, mountPath: /v}]}]}"),
              IsEmpty());
  EXPECT_THAT(OfPod("{volumes: [{name: v}, {name: v}, {}], containers: [{name: a, image: i, "
                    "volumeMounts: [{name: w, mountPath: /v}, {name: v}]}]}"),
              ElementsAre("spec.volumes[1].name: Duplicate value: \"v\"",
                          "spec.volumes[2].name: Required value",
                          "spec.containers[0].volumeMounts[0].name: Not found: \"w\"",
                          "spec.containers[0].volumeMounts[1].mountPath: Required value"));
  EXPECT_THAT(
      OfPod("{containers: [{name: a, image: i, ports: [{containerPort: 1, hostPort: 80}]}, "
            "{name: b, image: i, ports: [{containerPort: 1, hostPort: 80, protocol: X}]}]}"),
      ElementsAre(HasSubstr("ports[0].protocol: Unsupported value: \"X\"")));
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i, ports: [{containerPort: 1, hostPort: 80}]}, "
                    "{name: b, image: i, ports: [{containerPort: 1, hostPort: 80}]}]}"),
              ElementsAre(HasSubstr("spec.containers[1].ports[0].hostPort: Duplicate value")));
}

// The volumes of a StatefulSet's pods are those of the pod template and one for each volume claim template.
TEST(WorkloadRules, PodsOfAStatefulSetMountItsVolumeClaimTemplates) {
  const auto of = [](std::string_view claims, std::string_view volumes) {
    return Of(fmt::format(
        R"({{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: s}}, spec: {{serviceName: s,
        selector: {{matchLabels: {{a: b}}}}, volumeClaimTemplates: [{0}], template: {{
        metadata: {{labels: {{a: b}}}}, spec: {{volumes: [{1}], containers: [{{name: c, image: i,
        volumeMounts: [{{name: data, mountPath: /d}}]}}]}}}}}}}})",
        claims, volumes));
  };
  constexpr std::string_view kData =
      "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}";
  EXPECT_THAT(of(kData, ""), IsEmpty());
  EXPECT_THAT(of(kData, "{name: data, emptyDir: {}}"), IsEmpty());
  EXPECT_THAT(of("", "{name: data, emptyDir: {}}"), IsEmpty());
  EXPECT_THAT(of("", ""),
              ElementsAre("spec.template.spec.containers[0].volumeMounts[0].name: Not found: "
                          "\"data\""));
}

TEST(WorkloadRules, WordsAreAmongThoseThatThereAre) {
  EXPECT_THAT(OfPod("{containers: [{name: a, image: i, imagePullPolicy: always}], restartPolicy: "
                    "always, dnsPolicy: Foo, preemptionPolicy: Foo, nodeName: Bad_, "
                    "activeDeadlineSeconds: 0}"),
              ElementsAre(HasSubstr("imagePullPolicy: Unsupported value: \"always\""),
                          HasSubstr("spec.restartPolicy: Unsupported value: \"always\""),
                          HasSubstr("spec.dnsPolicy: Unsupported value"),
                          HasSubstr("spec.preemptionPolicy: Unsupported value"),
                          HasSubstr("spec.nodeName: Invalid value"),
                          HasSubstr("spec.activeDeadlineSeconds: Invalid value: 0")));
}

TEST(WorkloadRules, ASchedulerCanFollowWhereAPodMayRun) {
  const auto of = [](std::string_view more) {
    return OfPod("{containers: [{name: a, image: i}], " + std::string(more) + "}");
  };
  EXPECT_THAT(of("tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, "
                 "tolerationSeconds: 5}]"),
              IsEmpty());
  EXPECT_THAT(of("tolerations: [{}, {key: a, operator: Foo}, {key: a, effect: Bar}, {key: a, "
                 "operator: Exists, value: b}, {key: a, tolerationSeconds: 1}]"),
              ElementsAre(HasSubstr("tolerations[0].operator: Invalid value"),
                          HasSubstr("tolerations[1].operator: Unsupported value"),
                          HasSubstr("tolerations[2].effect: Unsupported value"),
                          HasSubstr("value must be empty when `operator` is 'Exists'"),
                          HasSubstr("effect must be 'NoExecute'")));
  EXPECT_THAT(of("nodeSelector: {a b: c}"), ElementsAre(HasSubstr("spec.nodeSelector: Invalid")));
  EXPECT_THAT(of("topologySpreadConstraints: [{maxSkew: 0, whenUnsatisfiable: Never}]"),
              ElementsAre(HasSubstr("maxSkew: Invalid value: 0: must be greater than zero"),
                          HasSubstr("topologyKey: Required value"),
                          HasSubstr("whenUnsatisfiable: Unsupported value")));
  EXPECT_THAT(
      of("affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}, "
         "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]}}"),
      ElementsAre(HasSubstr("nodeSelectorTerms: Required value"),
                  HasSubstr("weight: Invalid value: 0: must be in the range 1-100")));
  EXPECT_THAT(of("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{}]}}"),
              ElementsAre(HasSubstr("topologyKey: Required value: can not be empty")));
}

std::string With(std::string_view more) {
  std::string text(kDeployment);
  const std::size_t at = text.find("selector:");
  return text.insert(at, std::string(more) + ", ");
}

TEST(WorkloadRules, NumbersOfADeploymentMakeSense) {
  EXPECT_THAT(Of(With("replicas: -1")),
              ElementsAre("spec.replicas: Invalid value: -1: must be greater than or equal to 0"));
  EXPECT_THAT(Of(With("strategy: {type: Foo}")),
              ElementsAre(HasSubstr("spec.strategy.type: Unsupported value: \"Foo\"")));
  EXPECT_THAT(Of(With("strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}")),
              ElementsAre(HasSubstr("spec.strategy.rollingUpdate: Forbidden")));
  EXPECT_THAT(
      Of(With("strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}")),
      ElementsAre(HasSubstr("may not be 0 when `maxSurge` is 0")));
  EXPECT_THAT(Of(With("strategy: {rollingUpdate: {maxSurge: x, maxUnavailable: 200%}}")),
              ElementsAre(HasSubstr("maxSurge: Invalid value: \"x\": a valid percent string"),
                          HasSubstr("must not be greater than 100%")));
  EXPECT_THAT(Of(With("minReadySeconds: 10, progressDeadlineSeconds: 10")),
              ElementsAre(HasSubstr("must be greater than minReadySeconds")));
}

TEST(WorkloadRules, AJobSelectsItsOwnPods) {
  const auto of = [](std::string_view more) {
    return Of("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {" + std::string(more) +
              ", template: {metadata: {labels: {app: a, controller-uid: u, "
              "batch.kubernetes.io/job-name: j}}, spec: {restartPolicy: Never, containers: [{name: "
              "c, image: i}]}}}}");
  };
  EXPECT_THAT(of("manualSelector: false"), IsEmpty());
  EXPECT_THAT(of("manualSelector: true"), ElementsAre("spec.selector: Required value"));
  EXPECT_THAT(of("selector: {matchLabels: {app: a}}"),
              ElementsAre("spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"a\"}}: "
                          "`selector` not auto-generated"));
  EXPECT_THAT(of("selector: {matchExpressions: [{key: app, operator: Exists}]}"),
              ElementsAre(AllOf(HasSubstr("spec.selector: Invalid value: {\"matchExpressions\":"),
                                HasSubstr("`selector` not auto-generated"))));
  EXPECT_THAT(of("manualSelector: true, selector: {matchLabels: {app: a}}"), IsEmpty());
  EXPECT_THAT(of("manualSelector: true, selector: {matchLabels: {app: b}}"),
              ElementsAre(AllOf(HasSubstr("spec.template.metadata.labels: Invalid value: {"),
                                HasSubstr("\"app\":\"a\""),
                                HasSubstr("`selector` does not match template `labels`"))));
  // As a server has made it.
  EXPECT_THAT(of("selector: {matchLabels: {controller-uid: u, batch.kubernetes.io/job-name: j}}"),
              IsEmpty());
  EXPECT_THAT(of("selector: {matchLabels: {batch.kubernetes.io/controller-uid: v}}"),
              ElementsAre(AllOf(HasSubstr("spec.template.metadata.labels: Invalid value: {"),
                                HasSubstr("\"app\":\"a\""),
                                HasSubstr("`selector` does not match template `labels`"))));
}

TEST(WorkloadRules, NumbersOfAJobMakeSense) {
  const auto of = [](std::string_view more) {
    return Of("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {" + std::string(more) +
              ", template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}}");
  };
  EXPECT_THAT(of("parallelism: 2, completions: 3"), IsEmpty());
  EXPECT_THAT(of("parallelism: -1, completions: -2, backoffLimit: -3, completionMode: Foo"),
              ElementsAre(HasSubstr("spec.parallelism: Invalid value: -1"),
                          HasSubstr("spec.completions: Invalid value: -2"),
                          HasSubstr("spec.backoffLimit: Invalid value: -3"),
                          HasSubstr("spec.completionMode: Unsupported value: \"Foo\"")));
  EXPECT_THAT(of("completionMode: Indexed"),
              ElementsAre(HasSubstr("spec.completions: Required value")));
}

// What rollout tools rely on.
TEST(WorkloadRules, DefaultsAndGenerationsAreKubernetess) {
  Object object = From(kDeployment);
  SetDefaults(object, {});
  PrepareForCreate(object, {});
  const Deployment& made = *object.As<Deployment>();
  EXPECT_EQ(made.spec.replicas, 1);
  EXPECT_EQ(made.spec.strategy.type, "RollingUpdate");
  ASSERT_TRUE(made.spec.strategy.rolling_update.has_value());
  EXPECT_EQ(std::get<std::string>(made.spec.strategy.rolling_update->max_surge->value), "25%");
  EXPECT_EQ(std::get<std::string>(made.spec.strategy.rolling_update->max_unavailable->value),
            "25%");
  EXPECT_EQ(made.spec.revision_history_limit, 10);
  EXPECT_EQ(made.spec.progress_deadline_seconds, 600);
  EXPECT_EQ(made.spec.template_.spec.restart_policy, "Always");
  EXPECT_EQ(made.metadata.generation, 1);

  const auto after = [&](auto change) {
    Object next = object;
    change(*next.Mutable<Deployment>());
    PrepareForUpdate(next, object, {});
    return next.As<Deployment>()->metadata.generation;
  };
  EXPECT_EQ(after([](Deployment& d) { d.metadata.labels["a"] = "b"; }), 1);
  EXPECT_EQ(after([](Deployment& d) { d.spec.replicas = 2; }), 2);
  EXPECT_EQ(after([](Deployment& d) { d.metadata.annotations["a"] = "b"; }), 2);
  EXPECT_EQ(
      after([](Deployment& d) { d.metadata.annotations[kDeploymentRevisionAnnotation] = "1"; }), 1);
  EXPECT_EQ(after([](Deployment& d) { d.status.replicas = 7; }), 1);
}

std::vector<std::string> OfQuota(std::string_view spec) {
  return Of("{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: " +
            std::string(spec) + "}");
}

TEST(QuotaRules, ALimitIsUnderstood) {
  EXPECT_THAT(OfQuota("{hard: {pods: 3, requests.cpu: 500m, count/deployments.apps: 2, "
                      "gpu.deviceclass.resource.k8s.io/devices: 4, requests.example.com/gpu: 4}}"),
              IsEmpty());
  EXPECT_THAT(OfQuota("{hard: {gpu.deviceclass.resource.k8s.io/devices: -1}}"),
              ElementsAre(HasSubstr("must be greater than or equal to 0")));
  EXPECT_THAT(OfQuota("{hard: {gpu.deviceclass.resource.k8s.io/devices: 4.5}}"),
              ElementsAre(HasSubstr("must be an integer")));
  EXPECT_THAT(OfQuota("{hard: {pods: 1500m}}"), ElementsAre(HasSubstr("must be an integer")));
  EXPECT_THAT(OfQuota("{hard: {foo: 1}}"),
              ElementsAre(HasSubstr("spec.hard[foo]: Invalid value: \"foo\": must be a standard "
                                    "resource for quota")));
}

TEST(QuotaRules, ScopesExistAndDoNotExcludeEachOther) {
  EXPECT_THAT(OfQuota("{hard: {pods: 1}, scopes: [Terminating, NotBestEffort]}"), IsEmpty());
  EXPECT_THAT(OfQuota("{hard: {pods: 1}, scopes: [Foo]}"),
              ElementsAre(HasSubstr("spec.scopes: Invalid value: \"Foo\": unsupported scope")));
  EXPECT_THAT(OfQuota("{hard: {pods: 1}, scopes: [Terminating, NotTerminating]}"),
              ElementsAre(HasSubstr("conflicting scopes")));
  EXPECT_THAT(OfQuota("{hard: {services: 1}, scopes: [Terminating]}"),
              ElementsAre(HasSubstr("unsupported scope applied to resource")));
  EXPECT_THAT(OfQuota("{hard: {cpu: 1}, scopes: [BestEffort]}"),
              ElementsAre(HasSubstr("unsupported scope applied to resource")));
  EXPECT_THAT(
      OfQuota("{hard: {pods: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, "
              "operator: In}, {scopeName: Terminating, operator: In, values: [a]}, {scopeName: "
              "PriorityClass, operator: Foo}, {scopeName: PriorityClass, operator: Exists, values: "
              "[a]}]}}"),
      ElementsAre(HasSubstr("matchExpressions.values: Required value"),
                  HasSubstr("matchExpressions.operator: Invalid value: \"In\": must be 'Exists'"),
                  HasSubstr("not a valid selector operator"), HasSubstr("must be no value when")));
}

}  // namespace
}  // namespace dray::api
