// SPDX-License-Identifier: Apache-2.0
#include "api/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A pod as kubectl would print it: claims, an extended resource, a sidecar, affinity, volumes.
constexpr std::string_view kTrainer = R"(
apiVersion: v1
kind: Pod
metadata:
  name: trainer
  namespace: ml
  labels: {app: trainer}
spec:
  schedulerName: dray
  priorityClassName: batch
  priority: -5
  preemptionPolicy: Never
  nodeSelector: {zone: a}
  overhead: {cpu: 250m}
  resources:
    requests: {cpu: "8", memory: 32Gi}
  schedulingGates:
  - name: example.com/wait
  securityContext: {runAsNonRoot: true, sysctls: [{name: kernel.shm_rmid_forced, value: "0"}]}
  resourceClaims:
  - name: gpu
    resourceClaimTemplateName: two-gpus
  - name: nic
    resourceClaimName: shared-nic
  initContainers:
  - name: proxy
    image: proxy:1
    restartPolicy: Always
    resources: {requests: {cpu: 100m}}
  containers:
  - name: main
    image: trainer:2
    command: [run]
    args: ["--epochs", "10"]
    ports:
    - {containerPort: 8080, hostPort: 8080, protocol: TCP}
    env:
    - {name: MODE, value: "on"}
    - name: CPUS
      valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}
    resources:
      requests: {cpu: 1500m, example.com/accelerator: 2}
      limits: {example.com/accelerator: "2"}
      claims:
      - {name: gpu, request: big}
      - name: nic
    livenessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 5}
    volumeMounts:
    - {name: data, mountPath: /data, readOnly: true}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: gpu, operator: Exists}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 10
        preference: {matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {app: trainer}}
        namespaceSelector: {}
  tolerations:
  - {key: gpu, operator: Exists, effect: NoSchedule}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2}
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: data}
  - name: scratch
    ephemeral:
      volumeClaimTemplate:
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}
  - name: token
    projected: {sources: [{serviceAccountToken: {path: token}}]}
  ephemeralContainers:
  - {name: debugger, image: busybox, targetContainerName: main, tty: true}
status:
  phase: Running
  hostIPs: [{ip: 10.0.0.1}]
  startTime: 2026-08-01T10:00:00Z
  resourceClaimStatuses:
  - {name: gpu, resourceClaimName: trainer-gpu-x7k2p}
  extendedResourceClaimStatus:
    resourceClaimName: trainer-extended-resources-9zq4d
    requestMappings:
    - {containerName: main, resourceName: example.com/accelerator, requestName: container-0-request-0}
  containerStatuses:
  - name: main
    ready: true
    restartCount: 3
    image: trainer:2
    imageID: sha256:0
    state: {running: {startedAt: 2026-08-01T10:00:07Z}}
    allocatedResourcesStatus:
    - name: claim:gpu/big
      resources: [{resourceID: driver/pool/gpu-0, health: Healthy}]
)";

Pod ReadYaml(std::string_view yaml) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(yaml, diagnostics);
  EXPECT_THAT(documents, SizeIs(1));
  const auto object =
      DecodeObject(ObjectsIn(documents.at(0), diagnostics).at(0), Severity::kError, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << ToString(diagnostic);
  return *object->As<Pod>();
}

Pod ReadJson(std::string_view json) {
  JsonDecoder decoder;
  const auto pod = decoder.Decode<Pod>(json, {.strict = true});
  EXPECT_TRUE(pod.ok()) << pod.status();
  return pod.ok() ? *pod : Pod();
}

base::Quantity Amount(std::string_view text) { return *base::Quantity::Parse(text); }

TEST(Pod, SpecIsReadForTheScheduler) {
  const PodSpec spec = ReadYaml(kTrainer).spec;
  EXPECT_EQ(spec.scheduler_name, "dray");
  EXPECT_EQ(spec.priority, -5);
  EXPECT_EQ(spec.preemption_policy, "Never");
  EXPECT_EQ(*spec.node_selector.Find("zone"), "a");
  EXPECT_EQ(*spec.overhead.Find("cpu"), Amount("250m"));
  EXPECT_EQ(*spec.resources->requests.Find("memory"), Amount("32Gi"));
  EXPECT_THAT(spec.scheduling_gates,
              ElementsAre(Field(&PodSchedulingGate::name, "example.com/wait")));
  ASSERT_THAT(spec.resource_claims, SizeIs(2));
  EXPECT_EQ(spec.resource_claims[0].resource_claim_template_name, "two-gpus");
  EXPECT_EQ(spec.resource_claims[0].resource_claim_name, std::nullopt);
  EXPECT_EQ(spec.resource_claims[1].resource_claim_name, "shared-nic");
  EXPECT_THAT(spec.tolerations, SizeIs(2));
  EXPECT_EQ(spec.tolerations[1].toleration_seconds, 300);
  EXPECT_EQ(spec.topology_spread_constraints.at(0).min_domains, 2);
  EXPECT_EQ(spec.topology_spread_constraints.at(0).when_unsatisfiable, kDoNotSchedule);
}

TEST(Pod, ContainersAreReadWithWhatTheyAskFor) {
  const PodSpec spec = ReadYaml(kTrainer).spec;
  EXPECT_EQ(spec.init_containers.at(0).restart_policy, kRestartPolicyAlways);
  const Container& main = spec.containers.at(0);
  EXPECT_EQ(main.ports.at(0).host_port, 8080);
  EXPECT_EQ(main.env.at(0).value, "on");
  EXPECT_EQ(main.env.at(1).value_from->resource_field_ref->divisor, Amount("1m"));
  EXPECT_EQ(*main.resources.requests.Find("cpu"), Amount("1500m"));
  // 2 and "2" are the same amount.
  EXPECT_EQ(*main.resources.requests.Find("example.com/accelerator"),
            *main.resources.limits.Find("example.com/accelerator"));
  ASSERT_THAT(main.resources.claims, SizeIs(2));
  EXPECT_EQ(main.resources.claims[0].request, "big");
  EXPECT_EQ(main.resources.claims[1].request, "");
  EXPECT_EQ(main.liveness_probe->text,
            R"({"httpGet":{"path":"/healthz","port":8080},"periodSeconds":5})");
  const EphemeralContainer& debugger = spec.ephemeral_containers.at(0);
  EXPECT_EQ(debugger.common.name, "debugger");
  EXPECT_TRUE(debugger.common.tty);
  EXPECT_EQ(debugger.target_container_name, "main");
}

TEST(Pod, AffinityAndVolumesAreRead) {
  const PodSpec spec = ReadYaml(kTrainer).spec;
  const NodeAffinity& nodes = *spec.affinity->node_affinity;
  EXPECT_EQ(nodes.required->node_selector_terms.at(0).match_expressions.at(0).key, "gpu");
  EXPECT_EQ(nodes.preferred.at(0).weight, 10);
  const PodAffinityTerm& apart = spec.affinity->pod_anti_affinity->required.at(0);
  // An empty namespace selector is every namespace, an unset one is not: they must stay apart.
  EXPECT_TRUE(apart.namespace_selector.has_value());
  EXPECT_FALSE(spec.affinity->pod_affinity.has_value());
  ASSERT_THAT(spec.volumes, SizeIs(3));
  EXPECT_EQ(spec.volumes[0].persistent_volume_claim->claim_name, "data");
  EXPECT_EQ(
      *spec.volumes[1].ephemeral->volume_claim_template->spec.resources.requests.Find("storage"),
      Amount("1Ti"));
  EXPECT_EQ(spec.volumes[2].projected->text,
            R"({"sources":[{"serviceAccountToken":{"path":"token"}}]})");
}

TEST(Pod, StatusIsReadWithItsClaims) {
  const PodStatus status = ReadYaml(kTrainer).status;
  EXPECT_EQ(status.phase, kPodRunning);
  EXPECT_EQ(status.start_time->ToRfc3339(), "2026-08-01T10:00:00Z");
  ASSERT_TRUE(status.resource_claim_statuses.has_value());
  EXPECT_EQ(status.resource_claim_statuses->at(0).resource_claim_name, "trainer-gpu-x7k2p");
  const PodExtendedResourceClaimStatus& extended = *status.extended_resource_claim_status;
  EXPECT_EQ(extended.resource_claim_name, "trainer-extended-resources-9zq4d");
  EXPECT_EQ(extended.request_mappings.at(0).request_name, "container-0-request-0");
  const ContainerStatus& main = status.container_statuses.at(0);
  EXPECT_TRUE(main.state.running.has_value());
  EXPECT_EQ(main.allocated_resources_status.at(0).resources.at(0).health, "Healthy");
}

TEST(Pod, WhatIsWrittenReadsBackAsTheSamePod) {
  const Pod pod = ReadYaml(kTrainer);
  const std::string json = EncodeJson(pod);
  EXPECT_EQ(ReadJson(json), pod);
  EXPECT_EQ(EncodeJson(ReadJson(json)), json);
}

// KEP-5004 calls the fields requestMapping and extendedResourceName.
TEST(Pod, ProposalsNamesOfTheExtendedResourceClaimAreRead) {
  const Pod proposal = ReadJson(R"({"status":{"extendedResourceClaimStatus":{
      "requestMapping":[{"containerName":"c","extendedResourceName":"example.com/gpu","requestName":"r"}],
      "resourceClaimName":"x"}}})");
  const Pod kubernetes = ReadJson(R"({"status":{"extendedResourceClaimStatus":{
      "requestMappings":[{"containerName":"c","resourceName":"example.com/gpu","requestName":"r"}],
      "resourceClaimName":"x"}}})");
  EXPECT_EQ(proposal, kubernetes);
  const std::string json = EncodeJson(proposal);
  EXPECT_THAT(json, HasSubstr(R"("requestMappings":[)"));
  EXPECT_THAT(json, HasSubstr(R"("resourceName":"example.com/gpu")"));
  EXPECT_THAT(json, Not(HasSubstr("extendedResourceName")));
}

// The same field under both names is a repeated field, like any other.
TEST(Pod, BothNamesAtOnceAreRefusedByAStrictReader) {
  constexpr std::string_view both = R"({"status":{"extendedResourceClaimStatus":{"requestMappings":
      [{"resourceName":"a","extendedResourceName":"b"}]}}})";
  JsonDecoder decoder;
  EXPECT_THAT(decoder.Decode<Pod>(both, {.strict = true}).status().ToString(),
              HasSubstr("duplicate field"));
  const auto last = decoder.Decode<Pod>(both);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last->status.extended_resource_claim_status->request_mappings.at(0).resource_name, "b");
}

TEST(Pod, UnsetAndEmptyClaimStatusesStayApart) {
  const Pod unset = ReadJson(R"({"status":{"phase":"Pending"}})");
  const Pod null = ReadJson(R"({"status":{"phase":"Pending","resourceClaimStatuses":null}})");
  const Pod empty = ReadJson(
      R"({"status":{"phase":"Pending","resourceClaimStatuses":[],"nodeAllocatableResourceClaimStatuses":[]}})");
  EXPECT_EQ(unset.status.resource_claim_statuses, std::nullopt);
  EXPECT_EQ(null, unset);
  ASSERT_TRUE(empty.status.resource_claim_statuses.has_value());
  EXPECT_THAT(*empty.status.resource_claim_statuses, IsEmpty());
  ASSERT_TRUE(empty.status.node_allocatable_resource_claim_statuses.has_value());
  EXPECT_NE(empty, unset);
  // To a server they are the same; what is written still tells them apart.
  EXPECT_TRUE(SemanticEqual(empty, unset));
  EXPECT_THAT(EncodeJson(empty), HasSubstr(R"("resourceClaimStatuses":[])"));
  EXPECT_THAT(EncodeJson(unset), Not(HasSubstr("resourceClaimStatuses")));
  EXPECT_EQ(ReadJson(EncodeJson(empty)), empty);
}

// A kubelet newer than dray reports a field that dray has never heard of.
TEST(Pod, UnknownFieldsSurvive) {
  JsonDecoder decoder;
  const std::string json =
      R"({"spec":{"containers":[{"name":"c","turbo":{"level":11}}],"ephemeralContainers":[{"name":"e","turbo":1}]}})";
  const auto pod = decoder.Decode<Pod>(json);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(EncodeJson(*pod), json);
}

TEST(Event, EventsGroupReadsIntoTheSameStruct) {
  JsonDecoder decoder;
  const auto event = DecodeObject(decoder, R"({"apiVersion":"events.k8s.io/v1","kind":"Event",
      "metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p"},"note":"no device fits",
      "reportingController":"dray-scheduler","deprecatedCount":2,
      "eventTime":"2026-08-01T10:00:00.000001Z"})",
                                  {.strict = true});
  ASSERT_TRUE(event.ok()) << event.status();
  const std::string core = event->ToJson(*FindKind("v1", "Event"));
  EXPECT_THAT(core, HasSubstr(R"("involvedObject":{"kind":"Pod","name":"p"})"));
  EXPECT_THAT(core, HasSubstr(R"("message":"no device fits")"));
  EXPECT_THAT(core, HasSubstr(R"("reportingComponent":"dray-scheduler")"));
  EXPECT_THAT(core, HasSubstr(R"("count":2)"));
}

}  // namespace
}  // namespace dray::api
