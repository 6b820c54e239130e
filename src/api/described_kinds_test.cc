// SPDX-License-Identifier: Apache-2.0
//
// The language of descriptions, and the rules of the kinds that it describes.
#include "api/described_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/config_map.h"
#include "api/field_view.h"
#include "api/json.h"
#include "api/record.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "api/write_rules.h"
#include "fmt/format.h"

// A namespace of its own: helpers are called as kinds are.
namespace dray::api::described_kinds_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Object Read(const std::string& yaml) {
  std::vector<Diagnostic> diagnostics;
  const auto documents = ParseYaml(yaml, diagnostics);
  const auto nodes = ObjectsIn(documents.at(0), diagnostics);
  auto object = DecodeObject(nodes.at(0), Severity::kError, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << ToString(diagnostic);
  return *object;
}

std::vector<std::string> Messages(const ErrorList& errors) {
  std::vector<std::string> texts;
  for (const FieldError& error : errors) texts.push_back(error.Message());
  return texts;
}

Object WithDefaults(const std::string& yaml) {
  Object object = Read(yaml);
  SetDefaults(object, {});
  PrepareForCreate(object, {});
  object.MutableMetadata().resource_version = "1";
  return object;
}

std::vector<std::string> FaultsOf(const std::string& yaml) {
  return Messages(ValidateCreate(WithDefaults(yaml), {}));
}

std::vector<std::string> FaultsOfChange(const std::string& before, const std::string& after) {
  const Object old = WithDefaults(before);
  Object object = Read(after);
  return Messages(PrepareUpdate(object, old, {}, {}));
}

// ---- Records

TEST(Record, AFieldThatNobodySetEqualsOneThatIsZero) {
  Record a;
  Record b;
  a.At<std::string>(3);
  EXPECT_EQ(a, b);
  a.At<std::string>(3) = "x";
  EXPECT_NE(a, b);
  b = a;
  EXPECT_EQ(a, b);
  b.At<std::string>(3) = "y";
  EXPECT_EQ(a.At<std::string>(3), "x");
  EXPECT_NE(a, b);
  b.CopySlot(3, a);
  EXPECT_EQ(a, b);
}

// ---- The language

constexpr std::string_view kText = R"(
kind example.com/v1 Thing things namespaced status generation short=th,tg : A thing.
column Kind_of spec.sort none=<none> wide : What sort.
2 spec ThingSpec : What is wanted.
3 status ThingStatus : What is.

struct ThingSpec : Desired state of a thing.
1 sort string default=plain one-of=plain,odd : Its sort.
2 parts []Part keys=name : Its parts.
3.2 inner string? immutable : Something inside.

struct ThingStatus : What is.
1 phase string : How far it is.

struct Part : A part.
1 name string always required : Its name.
2 size int32 min=1 max=10 : Its size.
)";

const KindInfo& Thing() {
  static const KindInfo kind = KindsDescribedBy(kText)[0];
  return kind;
}

TEST(DescribedKinds, ADescriptionBecomesTables) {
  const KindInfo& kind = Thing();
  EXPECT_EQ(kind.ApiVersion(), "example.com/v1");
  EXPECT_EQ(kind.plural, "things");
  EXPECT_TRUE(kind.namespaced);
  EXPECT_TRUE(kind.traits->status && kind.traits->generation);
  EXPECT_THAT(kind.traits->short_names, ElementsAre("th", "tg"));
  ASSERT_EQ(kind.traits->columns.size(), 1u);
  EXPECT_EQ(kind.traits->columns[0].none, "<none>");
  EXPECT_TRUE(kind.traits->columns[0].wide);
  const StructInfo& info = kind.type->fields();
  EXPECT_EQ(info.doc, "A thing.");
  ASSERT_EQ(info.fields.size(), 3u);
  EXPECT_EQ(info.fields[0].name, "metadata");
  const StructInfo& spec = info.fields[1].type->fields();
  EXPECT_EQ(spec.name, "ThingSpec");
  EXPECT_EQ(spec.fields[1].options.keys, "name");
  EXPECT_EQ(PatchKey(spec.fields[1]), "name");
  EXPECT_EQ(spec.fields[2].options.proto.number, 3u);
  EXPECT_EQ(spec.fields[2].options.proto.inner, 2u);
  EXPECT_TRUE(spec.fields[2].options.rules->immutable);
}

TEST(DescribedKinds, ObjectsAreReadAndWrittenAsOthersAre) {
  Object object = Object::New(Thing());
  JsonDecoder decoder;
  const std::string json =
      R"({"metadata":{"name":"a"},"spec":{"sort":"odd","parts":[{"name":"p","size":3}],"inner":""}})";
  ASSERT_TRUE(decoder.Decode(json, *Thing().type, object.MutableData()).ok());
  std::string out;
  EncodeJson(*Thing().type, object.data(), out);
  EXPECT_EQ(out, json);
  EXPECT_EQ(object.metadata().name, "a");
  // Copies are values.
  Object copy = object;
  copy.MutableMetadata().name = "b";
  EXPECT_EQ(object.metadata().name, "a");
  const FieldView view = FieldView::Of(object);
  EXPECT_EQ(view.At("spec.sort").text(), "odd");
  EXPECT_EQ(view["spec"]["parts"].item(0)["size"].number(), 3);
  EXPECT_TRUE(view.At("spec.inner").set());
  EXPECT_FALSE(view.At("status.phase").set());
  EXPECT_FALSE(view.At("no.such.field").set());
}

// ---- ConfigMaps and Secrets

TEST(Settings, PlainTextsOfASecretBecomeItsData) {
  const Object object = WithDefaults(R"(
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: d}
data: {a: b2xk, b: "eA=="}
stringData: {a: new}
)");
  const Secret& secret = *object.As<Secret>();
  EXPECT_EQ(secret.data.Find("a")->data, "new");
  EXPECT_EQ(secret.data.Find("b")->data, "x");
  EXPECT_TRUE(secret.string_data.empty());
  EXPECT_EQ(secret.type, "Opaque");
  EXPECT_THAT(object.ToJson(), HasSubstr(R"("data":{"a":"bmV3","b":"eA=="})"));
}

TEST(Settings, Base64IsReadAsGoReadsIt) {
  struct Case {
    std::string text;
    bool fine;
  };
  for (const Case& c : std::vector<Case>{{"", true},
                                         {"eA==", true},
                                         {"eHg=", true},
                                         {"eHh4", true},
                                         {"eA\n==\n", true},
                                         {"eA", false},
                                         {"eA=", false},
                                         {"eA===", false},
                                         {"e A=", false},
                                         {"-_-_", false},
                                         {"====", false}}) {
    Bytes bytes;
    EXPECT_EQ(ReadBase64(c.text, bytes), c.fine) << c.text;
  }
}

struct SettingsCase {
  std::string name;
  std::string body;
  std::vector<std::string> want;  // beginnings
  friend void PrintTo(const SettingsCase& c, std::ostream* os) { *os << c.name; }
};
class SettingsFaults : public ::testing::TestWithParam<SettingsCase> {};

TEST_P(SettingsFaults, AreTold) {
  const std::vector<std::string> faults = FaultsOf(
      fmt::format("apiVersion: v1\nmetadata: {{name: s, namespace: d}}\n{}", GetParam().body));
  ASSERT_EQ(faults.size(), GetParam().want.size()) << ::testing::PrintToString(faults);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_THAT(faults[i], ::testing::StartsWith(GetParam().want[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kubernetes, SettingsFaults,
    ::testing::ValuesIn(std::vector<SettingsCase>{
        {"plain", "kind: ConfigMap\ndata: {a.b_c-D: x}\nbinaryData: {b: eA==}", {}},
        {"bad_key", "kind: ConfigMap\ndata: {\"a/b\": x}", {"data[a/b]: Invalid value: \"a/b\""}},
        {"dots",
         "kind: ConfigMap\ndata: {\"..a\": x}",
         {"data[..a]: Invalid value: \"..a\": must not start"}},
        {"in_both",
         "kind: ConfigMap\ndata: {a: x}\nbinaryData: {a: eA==}",
         {"data[a]: Invalid value: \"a\": duplicate of key present in binaryData"}},
        {"too_large",
         "kind: ConfigMap\ndata: {a: \"" + std::string(kMaxSettingsSize + 1, 'x') + "\"}",
         {"data: Too long"}},
        {"tls_without_key",
         "kind: Secret\ntype: kubernetes.io/tls\nstringData: {tls.crt: x}",
         {"data[tls.key]: Required value"}},
        {"basic_auth_needs_either",
         "kind: Secret\ntype: kubernetes.io/basic-auth",
         {"data[username]: Required value", "data[password]: Required value"}},
        {"docker_config_is_json",
         "kind: Secret\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{'}",
         {"data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\""}},
        {"token_without_account",
         "kind: Secret\ntype: kubernetes.io/service-account-token",
         {"metadata.annotations[kubernetes.io/service-account.name]: Required value"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Settings, WhatIsImmutableStays) {
  const std::string head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s, namespace: d}\n";
  EXPECT_THAT(FaultsOfChange(head + "immutable: true\ndata: {a: x}",
                             head + "immutable: true\ndata: {a: z}"),
              ElementsAre("data: Forbidden: field is immutable when `immutable` is set"));
  EXPECT_THAT(FaultsOfChange(head + "immutable: true\ndata: {a: x}", head + "data: {a: x}"),
              ElementsAre("immutable: Forbidden: field is immutable when `immutable` is set"));
  const std::string secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: d}\n";
  EXPECT_THAT(FaultsOfChange(secret, secret + "type: other"),
              ElementsAre("type: Invalid value: \"other\": field is immutable"));
}

// ---- Rules of described kinds

struct RuleCase {
  std::string name;
  std::string object;
  std::vector<std::string> want;  // beginnings, in order
  friend void PrintTo(const RuleCase& c, std::ostream* os) { *os << c.name; }
};
class DescribedFaults : public ::testing::TestWithParam<RuleCase> {};

TEST_P(DescribedFaults, AreTold) {
  const std::vector<std::string> faults = FaultsOf(GetParam().object);
  ASSERT_EQ(faults.size(), GetParam().want.size()) << ::testing::PrintToString(faults);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_THAT(faults[i], ::testing::StartsWith(GetParam().want[i]));
  }
}

std::string Service(const std::string& spec) {
  return "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: d}\nspec: " + spec;
}
std::string Claim(const std::string& spec) {
  return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: s, namespace: d}\nspec: " +
         spec;
}
std::string Volume(const std::string& spec) {
  return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: s}\nspec: " + spec;
}
std::string Network(const std::string& kind, const std::string& spec) {
  return "apiVersion: networking.k8s.io/v1\nkind: " + kind +
         "\nmetadata: {name: s, namespace: d}\nspec: " + spec;
}
std::string Webhook(const std::string& fields) {
  return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\n"
         "metadata: {name: s}\nwebhooks: [{" +
         fields + "}]";
}

INSTANTIATE_TEST_SUITE_P(
    Kubernetes, DescribedFaults,
    ::testing::ValuesIn(std::vector<RuleCase>{
        {"service", Service("{selector: {a: b}, ports: [{port: 80}]}"), {}},
        {"service_headless", Service("{clusterIP: None}"), {}},
        {"service_without_ports", Service("{selector: {a: b}}"), {"spec.ports: Required value"}},
        {"service_ports_need_names",
         Service("{ports: [{port: 80}, {port: 81, name: b}]}"),
         {"spec.ports[0].name: Required value"}},
        {"service_port_range",
         Service("{ports: [{port: 70000}]}"),
         {"spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535",
          "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535"}},
        {"service_port_zero",
         Service("{ports: [{targetPort: 80}]}"),
         {"spec.ports[0].port: Invalid value: 0: must be between 1 and 65535"}},
        {"service_ports_twice",
         Service("{ports: [{port: 80, name: a}, {port: 80, name: b}]}"),
         {"spec.ports[1]: Duplicate value: \"80/TCP\""}},
        {"service_protocol",
         Service("{ports: [{port: 80, protocol: HTTP}]}"),
         {"spec.ports[0].protocol: Unsupported value: \"HTTP\""}},
        {"service_type",
         Service("{type: Foo, ports: [{port: 80}]}"),
         {"spec.type: Unsupported value: \"Foo\""}},
        {"service_external_name",
         Service("{type: ExternalName}"),
         {"spec.externalName: Required value"}},
        {"service_node_port_of_cluster_ip",
         Service("{ports: [{port: 80, nodePort: 30080}]}"),
         {"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"}},
        {"service_target_port_name",
         Service("{ports: [{port: 80, targetPort: \"80a-\"}]}"),
         {"spec.ports[0].targetPort: Invalid value: \"80a-\""}},
        {"service_name",
         "apiVersion: v1\nkind: Service\nmetadata: {name: 1a, namespace: d}\nspec: "
         "{ports: [{port: 80}]}",
         {"metadata.name: Invalid value: \"1a\""}},
        {"claim",
         Claim("{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"),
         {}},
        {"claim_empty",
         Claim("{}"),
         {"spec.accessModes: Required value: at least 1 access mode is required",
          "spec.resources[storage]: Required value"}},
        {"claim_mode",
         Claim("{accessModes: [Foo], resources: {requests: {storage: 0}}}"),
         {"spec.accessModes: Unsupported value: \"Foo\"",
          "spec.resources.requests[storage]: Invalid value: 0: must be greater than zero"}},
        {"volume",
         Volume("{capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: "
                "{path: /a}}"),
         {}},
        {"volume_without_source",
         Volume("{capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce]}"),
         {"spec: Required value: must specify a volume type"}},
        {"volume_two_sources",
         Volume("{capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: a, path: "
                "/}, hostPath: {path: /a}}"),
         {"spec: Forbidden: may not specify more than 1 volume type"}},
        {"storage_class_without_provisioner",
         "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}",
         {"provisioner: Required value"}},
        {"csi_node",
         "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: "
         "{drivers: []}",
         {}},
        {"csi_node_drivers",
         "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: "
         "[{name: a, nodeID: x, topologyKeys: null}, {name: a, nodeID: \"\", topologyKeys: "
         "[\"a b\"]}]}",
         {"spec.drivers[1]: Duplicate value: \"a\"", "spec.drivers[1].nodeID: Required value",
          "spec.drivers[1].topologyKeys[0]: Invalid value"}},
        {"runtime_class",
         "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: "
         "s}\nhandler: Bad_Name",
         {"handler: Invalid value: \"Bad_Name\""}},
        {"ingress",
         Network("Ingress",
                 "{rules: [{host: \"*.a.example\", http: {paths: [{path: /, pathType: Prefix, "
                 "backend: {service: {name: s, port: {number: 80}}}}]}}]}"),
         {}},
        {"ingress_empty",
         Network("Ingress", "{}"),
         {"spec: Invalid value: either `defaultBackend` or `rules` must be specified"}},
        {"ingress_path",
         Network("Ingress",
                 "{rules: [{host: 10.0.0.1, http: {paths: [{path: a, backend: {service: "
                 "{name: s}}}]}}]}"),
         {"spec.rules[0].http.paths[0].pathType: Required value",
          "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name",
          "spec.rules[0].http.paths[0].backend.service.port: Required value",
          "spec.rules[0].http.paths[0].path: Invalid value: \"a\": must be an absolute path"}},
        {"network_policy",
         Network("NetworkPolicy",
                 "{podSelector: {}, ingress: [{from: "
                 "[{ipBlock: {cidr: 10.0.0.0/8}}]}]}"),
         {}},
        {"network_policy_peers",
         Network("NetworkPolicy",
                 "{podSelector: {}, egress: [{to: [{}, {ipBlock: {cidr: x}}], "
                 "ports: [{port: 80, endPort: 79}]}]}"),
         {"spec.egress[0].to[1].ipBlock.cidr: Invalid value: \"x\"",
          "spec.egress[0].ports[0].endPort: Invalid value: 79",
          "spec.egress[0].to[0]: Required value: must specify a peer"}},
        {"autoscaler",
         "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: s, "
         "namespace: "
         "d}\nspec: {maxReplicas: 2, minReplicas: 3, scaleTargetRef: {kind: Deployment, name: w}, "
         "metrics: [{type: Resource, pods: {metric: {name: a}, target: {type: Value}}}]}",
         {"spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`",
          "spec.metrics[0].pods: Forbidden", "spec.metrics[0].resource: Required value"}},
        {"webhook",
         Webhook("name: a.b.c, clientConfig: {url: https://x}, sideEffects: None, "
                 "admissionReviewVersions: [v1]"),
         {}},
        {"webhook_empty",
         Webhook("name: a.b"),
         {"webhooks[0].name: Invalid value: \"a.b\"", "webhooks[0].sideEffects: Required value",
          "webhooks[0].admissionReviewVersions: Required value",
          "webhooks[0].clientConfig: Required value"}},
        {"endpoint_slice",
         "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s, namespace: "
         "d}\naddressType: IPv4\nendpoints: [{addresses: [\"::1\"]}]\nports: [{port: 80}]",
         {"endpoints[0].addresses[0]: Invalid value: \"::1\": must be an IPv4 address"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(DescribedKinds, DefaultsAreKubernetess) {
  const Object service = WithDefaults(Service("{ports: [{port: 80}]}"));
  const FieldView spec = FieldView::Of(service)["spec"];
  EXPECT_EQ(spec["type"].text(), "ClusterIP");
  EXPECT_EQ(spec["sessionAffinity"].text(), "None");
  EXPECT_EQ(spec["internalTrafficPolicy"].text(), "Cluster");
  EXPECT_EQ(spec["ports"].item(0)["protocol"].text(), "TCP");
  EXPECT_EQ(spec["ports"].item(0)["targetPort"].number(), 80);
  const Object claim = WithDefaults(Claim("{}"));
  EXPECT_EQ(FieldView::Of(claim).At("status.phase").text(), "Pending");
  const Object policy = WithDefaults(Network("NetworkPolicy", "{podSelector: {}, egress: [{}]}"));
  EXPECT_EQ(FieldView::Of(policy).At("spec.policyTypes").size(), 2u);
  EXPECT_EQ(policy.metadata().generation, 1);
}

TEST(DescribedKinds, AStatusHasItsOwnDoor) {
  const Object stored = WithDefaults(Service("{ports: [{port: 80}]}"));
  Object update =
      Read(Service("{ports: [{port: 81}]}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}"));
  EXPECT_THAT(Messages(PrepareUpdate(update, stored, {}, {})), IsEmpty());
  EXPECT_FALSE(FieldView::Of(update)["status"].set());
  Object status =
      Read(Service("{ports: [{port: 82}]}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}"));
  EXPECT_THAT(Messages(PrepareStatus(status, stored, {}, {})), IsEmpty());
  EXPECT_EQ(FieldView::Of(status).At("spec.ports").item(0)["port"].number(), 80);
  EXPECT_EQ(FieldView::Of(status).At("status.loadBalancer.ingress").size(), 1u);
}

TEST(DescribedKinds, WhatMustNotChangeIsTold) {
  EXPECT_THAT(FaultsOfChange(Service("{clusterIP: 10.0.0.1, ports: [{port: 80}]}"),
                             Service("{clusterIP: 10.0.0.2, ports: [{port: 80}]}")),
              ElementsAre("spec.clusterIPs: Invalid value: \"10.0.0.2\": field is immutable"));
  // An update that says nothing keeps the address.
  EXPECT_THAT(FaultsOfChange(Service("{clusterIP: 10.0.0.1, ports: [{port: 80}]}"),
                             Service("{ports: [{port: 81}]}")),
              IsEmpty());
  const std::string head =
      "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}\n";
  EXPECT_THAT(FaultsOfChange(head + "provisioner: a", head + "provisioner: b"),
              ElementsAre("provisioner: Invalid value: \"b\": field is immutable"));
  EXPECT_THAT(FaultsOfChange(
                  Claim("{accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}"),
                  Claim("{accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}")),
              ElementsAre(HasSubstr("spec: Forbidden: spec is immutable after creation"),
                          HasSubstr("field can not be less than previous value")));
}

TEST(DescribedKinds, AGenerationCountsWishes) {
  const Object stored = WithDefaults(Network("NetworkPolicy", "{podSelector: {}}"));
  Object same = Read(Network("NetworkPolicy", "{podSelector: {}, policyTypes: [Ingress]}"));
  EXPECT_THAT(Messages(PrepareUpdate(same, stored, {}, {})), IsEmpty());
  EXPECT_EQ(same.metadata().generation, 1);
  Object other = Read(Network("NetworkPolicy", "{podSelector: {}, policyTypes: [Egress]}"));
  PrepareUpdate(other, stored, {}, {});
  EXPECT_EQ(other.metadata().generation, 2);
}

}  // namespace
}  // namespace dray::api::described_kinds_test
