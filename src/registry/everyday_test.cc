// SPDX-License-Identifier: Apache-2.0
//
// The kinds of everyday manifests through the door: create, apply, patch, tables, and what else has
// to be passed: limits, budgets, webhooks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/disruption_budget.h"
#include "api/kinds.h"
#include "fmt/format.h"
#include "registry/world_for_test.h"
#include "rest/openapi.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

const std::string kSpace = "/api/v1/namespaces/default";

std::string Applied(World& world, const std::string& path, const std::string& body, int status) {
  const Answer answer = world.Ask({.method = "PATCH",
                                   .path = path + "?fieldManager=me&force=true",
                                   .body = body,
                                   .content_type = "application/apply-patch+yaml"});
  EXPECT_EQ(answer.status, status) << answer.text;
  return answer.text;
}

TEST(Everyday, SettingsAreAppliedAndPatched) {
  World world;
  const std::string path = kSpace + "/configmaps/c";
  Applied(world, path, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}", 201);
  Applied(world, path, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {b: v}}", 200);
  const Answer stored = world.Get(path);
  EXPECT_THAT(stored.text, HasSubstr(R"("data":{"b":"v"})"));
  EXPECT_THAT(stored.text, HasSubstr(R"("f:data")"));
  const Answer patched = world.Ask({.method = "PATCH",
                                    .path = path,
                                    .body = R"({"data":{"c":"z"}})",
                                    .content_type = "application/strategic-merge-patch+json"});
  EXPECT_THAT(patched.text, HasSubstr(R"("data":{"b":"v","c":"z"})"));
}

TEST(Everyday, ASecretIsWrittenAsTextAndReadAsBase64) {
  World world;
  const Answer made =
      world.Post(kSpace + "/secrets", R"({"metadata":{"name":"s"},"stringData":{"a":"x"}})");
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("data":{"a":"eA=="})"));
  EXPECT_THAT(made.text, ::testing::Not(HasSubstr("stringData\"")));
  EXPECT_EQ(world.Post(kSpace + "/secrets", R"({"metadata":{"name":"t"},"data":{"a":"?"}})").status,
            400);
  const Answer table = world.Ask(
      {.path = kSpace + "/secrets", .accept = "application/json;as=Table;g=meta.k8s.io;v=v1"});
  EXPECT_THAT(table.text, HasSubstr(R"("cells":["s","Opaque",1,)"));
}

TEST(Everyday, PortsOfAServiceAreMergedByTheirNumber) {
  World world;
  const std::string services = kSpace + "/services";
  const Answer made = world.Post(
      services,
      R"({"metadata":{"name":"s"},"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":81}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const Answer patched =
      world.Ask({.method = "PATCH",
                 .path = services + "/s",
                 .body = R"({"spec":{"ports":[{"port":81,"targetPort":"web"}]}})",
                 .content_type = "application/strategic-merge-patch+json"});
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_THAT(patched.text,
              HasSubstr(R"({"name":"a","protocol":"TCP","port":80,"targetPort":80})"));
  EXPECT_THAT(patched.text,
              HasSubstr(R"({"name":"b","protocol":"TCP","port":81,"targetPort":"web"})"));
  // The status has a door of its own, and only that.
  const Answer status = world.Ask(
      {.method = "PATCH",
       .path = services + "/s/status",
       .body =
           R"({"spec":{"type":"NodePort"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}})",
       .content_type = "application/merge-patch+json"});
  ASSERT_EQ(status.status, 200) << status.text;
  EXPECT_THAT(status.text, HasSubstr(R"("type":"ClusterIP")"));
  EXPECT_THAT(status.text, HasSubstr("1.2.3.4"));
  EXPECT_EQ(world.Post(services, R"({"metadata":{"name":"t"},"spec":{}})").status, 422);
}

// Every kind can be made from its least manifest, read back, listed as a table, and deleted.
TEST(Everyday, EveryKindGoesInAndOut) {
  World world;
  struct Case {
    std::string path;
    std::string body;
  };
  const std::string pod =
      R"({"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  const std::string job_pod =
      R"({"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}})";
  const std::vector<Case> cases = {
      {"/api/v1/namespaces/default/configmaps", ""},
      {"/api/v1/namespaces/default/secrets", ""},
      {"/api/v1/namespaces/default/serviceaccounts", ""},
      {"/api/v1/namespaces/default/limitranges", R"("spec":{"limits":[{"type":"Pod"}]})"},
      {"/api/v1/namespaces/default/services", R"("spec":{"ports":[{"port":80}]})"},
      {"/api/v1/namespaces/default/endpoints", R"("subsets":[{"addresses":[{"ip":"1.2.3.4"}]}])"},
      {"/api/v1/namespaces/default/persistentvolumeclaims",
       R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}})"},
      {"/api/v1/persistentvolumes",
       R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}})"},
      {"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
       R"("addressType":"IPv4","endpoints":[],"ports":[])"},
      {"/apis/storage.k8s.io/v1/storageclasses", R"("provisioner":"a.example.com")"},
      {"/apis/storage.k8s.io/v1/csinodes", R"("spec":{"drivers":[]})"},
      {"/apis/storage.k8s.io/v1/csidrivers", R"("spec":{})"},
      {"/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
       R"("storageClassName":"a")"},
      {"/apis/storage.k8s.io/v1/volumeattachments",
       R"("spec":{"attacher":"a","nodeName":"n","source":{"persistentVolumeName":"v"}})"},
      {"/apis/node.k8s.io/v1/runtimeclasses", R"("handler":"runc")"},
      {"/apis/networking.k8s.io/v1/namespaces/default/ingresses",
       R"("spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}})"},
      {"/apis/networking.k8s.io/v1/ingressclasses", R"("spec":{"controller":"a.example.com/b"})"},
      {"/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
       R"("spec":{"podSelector":{}})"},
      {"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
       R"("spec":{"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"d"}})"},
      {"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", R"("webhooks":[])"},
      {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", R"("webhooks":[])"},
      {"/apis/policy/v1/namespaces/default/poddisruptionbudgets", R"("spec":{"minAvailable":1})"},
      {"/apis/apps/v1/namespaces/default/daemonsets",
       fmt::format(R"("spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{}}})", pod)},
      {"/apis/apps/v1/namespaces/default/statefulsets",
       fmt::format(R"("spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{}}})", pod)},
      {"/apis/apps/v1/namespaces/default/controllerrevisions", R"("revision":1,"data":{})"},
      {"/apis/batch/v1/namespaces/default/cronjobs",
       fmt::format(
           R"("spec":{{"schedule":"* * * * *","jobTemplate":{{"spec":{{"template":{}}}}}}})",
           job_pod)},
      {"/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests",
       R"("spec":{"signerName":"a/b","podName":"p","podUID":"u","serviceAccountName":"s","serviceAccountUID":"u","nodeName":"n","nodeUID":"u","stubPKCS10Request":"eA=="})"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.path);
    const Answer made = world.Post(c.path, fmt::format(R"({{"metadata":{{"name":"x"}}{}{}}})",
                                                       c.body.empty() ? "" : ",", c.body));
    ASSERT_EQ(made.status, 201) << made.text;
    EXPECT_EQ(world.Get(c.path + "/x").status, 200);
    const Answer table =
        world.Ask({.path = c.path, .accept = "application/json;as=Table;g=meta.k8s.io;v=v1"});
    EXPECT_THAT(table.text, HasSubstr(R"("cells":["x")"));
    EXPECT_EQ(world.Ask({.method = "DELETE", .path = c.path + "/x"}).status, 200);
    EXPECT_EQ(world.Get(c.path + "/x").status, 404);
  }
}

// kubectl up to 1.32 writes autoscaling/v1, and reads whatever is preferred.
TEST(Everyday, AnAutoscalerIsTheSameInBothVersions) {
  World world;
  const std::string v1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  const std::string v2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  const std::string target = R"("scaleTargetRef":{"kind":"Deployment","name":"d"})";
  const Answer made = world.Post(
      v1,
      R"({"metadata":{"name":"a"},"spec":{"maxReplicas":5,"targetCPUUtilizationPercentage":80,)" +
          target + "}}");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("apiVersion":"autoscaling/v1")"));
  EXPECT_THAT(made.text, HasSubstr(R"("targetCPUUtilizationPercentage":80)"));
  EXPECT_THAT(world.Get(v2 + "/a").text,
              HasSubstr(R"("metrics":[{"type":"Resource","resource":{"name":"cpu","target":)"
                        R"({"type":"Utilization","averageUtilization":80}}}])"));
  // What v1 has no word for survives a patch there.
  ASSERT_EQ(
      world
          .Post(v2, R"({"metadata":{"name":"b"},"spec":{"maxReplicas":5,"metrics":[{"type":)"
                    R"("Resource","resource":{"name":"memory","target":{"type":"Utilization",)"
                    R"("averageUtilization":50}}}],)" +
                        target + "}}")
          .status,
      201);
  EXPECT_EQ(world.Get(v1 + "/b").text.find("targetCPUUtilizationPercentage\":"), std::string::npos);
  const Answer patched = world.Ask({.method = "PATCH",
                                    .path = v1 + "/b",
                                    .body = R"({"spec":{"targetCPUUtilizationPercentage":70}})",
                                    .content_type = "application/merge-patch+json"});
  ASSERT_EQ(patched.status, 200) << patched.text;
  const std::string after = world.Get(v2 + "/b").text;
  EXPECT_THAT(after, HasSubstr(R"("name":"memory")"));
  EXPECT_THAT(after, HasSubstr(R"("averageUtilization":70)"));
  // A refusal is told in the words of the request.
  const Answer refused = world.Post(
      v1,
      R"({"metadata":{"name":"c"},"spec":{"maxReplicas":5,"targetCPUUtilizationPercentage":0,)" +
          target + "}}");
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(world.Get("/apis/autoscaling").text,
              HasSubstr(R"("preferredVersion":{"groupVersion":"autoscaling/v2")"));
}

TEST(Everyday, AWebhookThatMustBeCalledIsRefused) {
  World world;
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const auto body = [](std::string_view policy) {
    return fmt::format(
        R"({{"metadata":{{"name":"w"}},"webhooks":[{{"name":"a.b.c","clientConfig":{{"url":"https://x"}},)"
        R"("sideEffects":"None","admissionReviewVersions":["v1"]{}}}]}})",
        policy);
  };
  const Answer refused = world.Post(path, body(""));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("this server does not call webhooks"));
  const Answer ignored = world.Post(path, body(R"(,"failurePolicy":"Ignore")"));
  EXPECT_EQ(ignored.status, 201);
  EXPECT_THAT(std::string(ignored.headers.Find("Warning")), HasSubstr("does not call webhooks"));
}

TEST(Everyday, APolicyThatMustChangeObjectsIsRefused) {
  World world;
  const auto body = [](std::string_view policy) {
    return fmt::format(
        R"({{"metadata":{{"name":"m"}},"spec":{{"matchConstraints":{{"resourceRules":[{{"apiGroups":)"
        R"([""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}}]}},)"
        R"("reinvocationPolicy":"Never","mutations":[{{"patchType":"JSONPatch","jsonPatch":)"
        R"({{"expression":"[]"}}}}]{}}}}})",
        policy);
  };
  const std::string path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
  const Answer refused = world.Post(path, body(""));
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("does not change objects by policies"));
  const Answer ignored = world.Post(path, body(R"(,"failurePolicy":"Ignore")"));
  EXPECT_EQ(ignored.status, 201) << ignored.text;
  EXPECT_THAT(std::string(ignored.headers.Find("Warning")), HasSubstr("stored and ignored"));
}

// kubectl apply --prune and cluster-info dump look for them.
TEST(Everyday, ReplicationControllersAreListedAndNoneCanBeMade) {
  World world;
  const std::string path = kSpace + "/replicationcontrollers";
  EXPECT_EQ(world.Get(path).status, 200);
  const Answer refused = world.Post(
      path, R"({"metadata":{"name":"rc"},"spec":{"selector":{"a":"b"},"template":{"metadata":)"
            R"({"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("makes no pods for ReplicationControllers"));
}

// kubectl describe reads through it without looking whether it is there.
TEST(Everyday, APriorityClassSaysWhetherItPreempts) {
  World world;
  const std::string path = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const Answer made = world.Post(path, R"({"metadata":{"name":"a"},"value":1})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_THAT(made.text, HasSubstr(R"("preemptionPolicy":"PreemptLowerPriority")"));
  EXPECT_THAT(
      world.Post(path, R"({"metadata":{"name":"b"},"value":1,"preemptionPolicy":"Never"})").text,
      HasSubstr(R"("preemptionPolicy":"Never")"));
}

TEST(Everyday, KubectlCanAskForTheSecondVersionOfOpenApi) {
  World world;
  const Answer document =
      world.Ask({.path = "/openapi/v2",
                 .accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"});
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.headers.Find("Content-Type"), rest::kOpenApiV2ProtobufType);
  EXPECT_EQ(world.Ask({.path = "/openapi/v2", .accept = "application/json"}).status, 200);
  // And for the kinds that somebody has defined, of which there are none.
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  EXPECT_EQ(world.Get(definitions).status, 200);
  EXPECT_THAT(world.Get(definitions).text, HasSubstr(R"("items":[])"));
  EXPECT_EQ(world.Post(definitions, "{}").status, 422);
}

// Whoever changes the type alone has not asked for what belongs to it.
TEST(Everyday, AServiceLosesWhatOnlyItsTypeBeforeHasNeeded) {
  World world;
  const std::string services = "/api/v1/namespaces/default/services";
  ASSERT_EQ(world
                .Post(services, R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","ports":)"
                                R"([{"port":80,"nodePort":30080}]}})")
                .status,
            201);
  const auto patch = [&](const std::string& spec) {
    return world.Ask({.method = "PATCH",
                      .path = services + "/s",
                      .body = R"({"spec":)" + spec + "}",
                      .content_type = "application/merge-patch+json"});
  };
  const Answer on_nodes = patch(R"({"type":"NodePort"})");
  ASSERT_EQ(on_nodes.status, 200) << on_nodes.text;
  EXPECT_THAT(on_nodes.text, HasSubstr(R"("externalTrafficPolicy":"Cluster")"));
  EXPECT_THAT(on_nodes.text, HasSubstr("30080"));
  EXPECT_THAT(on_nodes.text, ::testing::Not(HasSubstr("allocateLoadBalancerNodePorts\":true")));
  const Answer inside = patch(R"({"type":"ClusterIP"})");
  ASSERT_EQ(inside.status, 200) << inside.text;
  EXPECT_THAT(inside.text, ::testing::Not(HasSubstr("externalTrafficPolicy\":\"Cluster")));
  EXPECT_THAT(inside.text, ::testing::Not(HasSubstr("30080")));
  // What is asked for against the type is still refused.
  EXPECT_EQ(patch(R"({"externalTrafficPolicy":"Local"})").status, 422);
}

// A zone is loaded from a file of its name: one like /dev/stdin would never end, and nobody's
// controllers would go on.
TEST(Everyday, ACronJobsZoneIsOneOfIana) {
  World world;
  const auto make = [&](std::string_view zone) {
    return world.Post(
        "/apis/batch/v1/namespaces/default/cronjobs",
        fmt::format(
            R"({{"metadata":{{"generateName":"c-"}},"spec":{{"schedule":"@hourly",)"
            R"("timeZone":"{}","jobTemplate":{{"spec":{{"template":{{"spec":)"
            R"({{"restartPolicy":"Never","containers":[{{"name":"c","image":"i"}}]}}}}}}}}}}}})",
            zone));
  };
  EXPECT_EQ(make("Europe/Berlin").status, 201);
  for (const std::string zone : {"/dev/stdin", "../../../dev/stdin", "file:/x", "Mars/Olympus"}) {
    const Answer refused = make(zone);
    EXPECT_EQ(refused.status, 422) << zone;
    EXPECT_THAT(refused.text, HasSubstr("unknown time zone " + zone));
  }
  EXPECT_THAT(make("local").text, HasSubstr("must be an explicit time zone"));
}

// Limits

std::string PodJson(const std::string& name, const std::string& resources) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{}}}]}}}})",
      name, resources);
}

TEST(LimitAdmission, ContainersGetWhatTheyDoNotSay) {
  World world;
  ASSERT_EQ(world
                .Post(kSpace + "/limitranges",
                      R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container",)"
                      R"("default":{"cpu":"500m"},"defaultRequest":{"cpu":"100m"}}]}})")
                .status,
            201);
  const Answer plain = world.Post(kSpace + "/pods", PodJson("a", "{}"));
  EXPECT_THAT(plain.text, HasSubstr(R"("limits":{"cpu":"500m"},"requests":{"cpu":"100m"})"));
  EXPECT_THAT(plain.text, HasSubstr(R"("qosClass":"Burstable")"));
  const Answer said = world.Post(kSpace + "/pods", PodJson("b", R"({"limits":{"cpu":"2"}})"));
  EXPECT_THAT(said.text, HasSubstr(R"("limits":{"cpu":"2"},"requests":{"cpu":"2"})"));
}

TEST(LimitAdmission, TooMuchAndTooLittleAreRefused) {
  World world;
  ASSERT_EQ(
      world
          .Post(
              kSpace + "/limitranges",
              R"({"metadata":{"name":"l"},"spec":{"limits":[)"
              R"({"type":"Container","max":{"cpu":"2"},"min":{"cpu":"100m"},"maxLimitRequestRatio":{"cpu":"4"}},)"
              R"({"type":"Pod","max":{"memory":"1Gi"}},)"
              R"({"type":"PersistentVolumeClaim","min":{"storage":"1Gi"}}]}})")
          .status,
      201);
  struct Case {
    std::string resources;
    std::string want;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"limits":{"cpu":"3","memory":"1Gi"}})",
            "maximum cpu usage per Container is 2, but limit is 3"},
           {R"({"limits":{"cpu":"200m","memory":"1Gi"},"requests":{"cpu":"50m"}})",
            "minimum cpu usage per Container is 100m, but request is 50m"},
           {R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m"}})",
            "cpu max limit to request ratio per Container is 4, but provided ratio is 10.0"},
           {R"({"limits":{"cpu":"1","memory":"2Gi"},"requests":{"cpu":"1"}})",
            "maximum memory usage per Pod is 1Gi, but limit is 2Gi"},
           {R"({"limits":{"cpu":"1"}})",
            "maximum memory usage per Pod is 1Gi.  No limit is specified"}}) {
    const Answer refused = world.Post(kSpace + "/pods", PodJson("p", c.resources));
    EXPECT_EQ(refused.status, 403) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr(c.want));
  }
  EXPECT_EQ(
      world
          .Post(kSpace + "/pods",
                PodJson("p", R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}})"))
          .status,
      201);
  const Answer claim = world.Post(
      kSpace + "/persistentvolumeclaims",
      R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})");
  EXPECT_EQ(claim.status, 403);
  EXPECT_THAT(claim.text, HasSubstr("minimum storage usage per PersistentVolumeClaim is 1Gi"));
}

// A container that starts before the others and stays is there beside them; and a claim for a volume
// can grow.
TEST(LimitAdmission, SidecarsAndGrowthAreNoWayAroundThem) {
  World world;
  ASSERT_EQ(world
                .Post(kSpace + "/limitranges",
                      R"({"metadata":{"name":"l"},"spec":{"limits":[)"
                      R"({"type":"Pod","max":{"cpu":"3"}},)"
                      R"({"type":"PersistentVolumeClaim","max":{"storage":"2Gi"}}]}})")
                .status,
            201);
  const auto pod = [&](std::string_view restart) {
    return world.Post(
        kSpace + "/pods",
        fmt::format(
            R"({{"metadata":{{"name":"p"}},"spec":{{"initContainers":[{{"name":"s","image":"i"{},)"
            R"("resources":{{"limits":{{"cpu":"2"}}}}}}],"containers":[{{"name":"c","image":"i",)"
            R"("resources":{{"limits":{{"cpu":"2"}}}}}}]}}}})",
            restart));
  };
  const Answer refused = pod(R"(,"restartPolicy":"Always")");
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("maximum cpu usage per Pod is 3, but limit is 4"));
  EXPECT_EQ(pod("").status, 201);
  const std::string claims = kSpace + "/persistentvolumeclaims";
  ASSERT_EQ(
      world
          .Post(
              claims,
              R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})")
          .status,
      201);
  const auto grow = [&](std::string_view to) {
    return world
        .Ask({.method = "PATCH",
              .path = claims + "/v",
              .body = fmt::format(R"({{"spec":{{"resources":{{"requests":{{"storage":"{}"}}}}}}}})",
                                  to),
              .content_type = "application/merge-patch+json"})
        .status;
  };
  EXPECT_EQ(grow("3Gi"), 403);
  EXPECT_EQ(grow("2Gi"), 200);
}

// Budgets

class BudgetAdmission : public ::testing::Test {
 protected:
  void AddPod(const std::string& name, bool ready) {
    ASSERT_EQ(world_.Post(kSpace + "/pods", PodJson(name, "{}")).status, 201);
    const Answer status = world_.Ask(
        {.method = "PATCH",
         .path = kSpace + "/pods/" + name + "/status",
         .body = fmt::format(
             R"({{"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
             ready ? "True" : "False"),
         .content_type = "application/strategic-merge-patch+json"});
    ASSERT_EQ(status.status, 200) << status.text;
  }
  void AddBudget(const std::string& spec, int allowed, int healthy, int desired) {
    ASSERT_EQ(
        world_
            .Post(
                kBudgets,
                fmt::format(
                    R"({{"metadata":{{"name":"b"}},"spec":{{"selector":{{"matchLabels":{{"app":"web"}}}}{}}}}})",
                    spec))
            .status,
        201);
    const Answer status = world_.Ask(
        {.method = "PATCH",
         .path = kBudgets + "/b/status",
         .body = fmt::format(
             R"({{"status":{{"observedGeneration":1,"disruptionsAllowed":{},"currentHealthy":{},"desiredHealthy":{},"expectedPods":3}}}})",
             allowed, healthy, desired),
         .content_type = "application/merge-patch+json"});
    ASSERT_EQ(status.status, 200) << status.text;
  }
  Answer Evict(const std::string& name) {
    return world_.Post(kSpace + "/pods/" + name + "/eviction", "{}");
  }

  const std::string kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  World world_;
};

TEST_F(BudgetAdmission, AnEvictionIsTakenOffAndTheNextIsRefused) {
  AddPod("a", true);
  AddPod("b", true);
  AddBudget(R"(,"minAvailable":1)", 1, 2, 1);
  EXPECT_EQ(Evict("a").status, 201);
  const Answer budget = world_.Get(kBudgets + "/b");
  EXPECT_THAT(budget.text, HasSubstr(R"("disruptionsAllowed":0)"));
  EXPECT_THAT(budget.text, HasSubstr(R"("disruptedPods":{"a":)"));
  const Answer refused = Evict("b");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.text,
              HasSubstr("Cannot evict pod as it would violate the pod's disruption budget."));
  EXPECT_THAT(refused.text, HasSubstr("The disruption budget b needs 1 healthy pods and has 2"));
  EXPECT_EQ(world_.Get(kSpace + "/pods/b").status, 200);
  EXPECT_THAT(world_.Get(kSpace + "/pods/b").text, ::testing::Not(HasSubstr("deletionTimestamp")));
}

TEST_F(BudgetAdmission, ABudgetThatNobodyHasLookedAtRefuses) {
  AddPod("a", true);
  ASSERT_EQ(
      world_
          .Post(kBudgets,
                R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"web"}}}})")
          .status,
      201);
  const Answer refused = Evict("a");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.text, HasSubstr("still being processed by the server"));
}

TEST_F(BudgetAdmission, PodsThatAreNotReadyGoWhenEnoughOthersAre) {
  AddPod("a", false);
  AddBudget(R"(,"minAvailable":2)", 0, 2, 2);
  EXPECT_EQ(Evict("a").status, 201);
}

TEST_F(BudgetAdmission, PodsThatAreNotReadyStayWhenTooFewAre) {
  AddPod("a", false);
  AddBudget(R"(,"minAvailable":2)", 0, 1, 2);
  EXPECT_EQ(Evict("a").status, 429);
  const Answer always =
      world_.Ask({.method = "PATCH",
                  .path = kBudgets + "/b",
                  .body = R"({"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}})",
                  .content_type = "application/merge-patch+json"});
  ASSERT_EQ(always.status, 200) << always.text;
  EXPECT_EQ(Evict("a").status, 201);
}

TEST_F(BudgetAdmission, APodOfTwoBudgetsCannotBeEvicted) {
  AddPod("a", true);
  AddBudget(R"(,"minAvailable":1)", 1, 2, 1);
  ASSERT_EQ(
      world_
          .Post(kBudgets,
                R"({"metadata":{"name":"c"},"spec":{"selector":{"matchLabels":{"app":"web"}}}})")
          .status,
      201);
  EXPECT_EQ(Evict("a").status, 500);
}

}  // namespace
}  // namespace dray::registry
