// SPDX-License-Identifier: Apache-2.0
#include "rbac/node_authorizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/pod.h"
#include "api/resource_slice.h"
#include "rbac/pod_references.h"
#include "testing/objects_from.h"

namespace dray::rbac {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team}
spec:
  nodeName: n1
  serviceAccountName: runner
  imagePullSecrets: [{name: pull}]
  initContainers:
  - {name: i, image: x, envFrom: [{secretRef: {name: from}}, {configMapRef: {name: settings}}]}
  containers:
  - name: c
    image: x
    env:
    - {name: A, valueFrom: {secretKeyRef: {name: env, key: k}}}
    - {name: B, valueFrom: {configMapKeyRef: {name: map, key: k}}}
  volumes:
  - {name: s, secret: {secretName: volume}}
  - {name: m, configMap: {name: files}}
  - {name: p, persistentVolumeClaim: {claimName: disk}}
  - {name: e, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}
  - {name: j, projected: {sources: [{secret: {name: projected}}, {configMap: {name: root}}]}}
  - {name: d, csi: {driver: x, nodePublishSecretRef: {name: csi}}}
  - {name: a, azureFile: {secretName: azure, shareName: s}}
  - {name: r, rbd: {monitors: [m], image: i, secretRef: {name: rbd}}}
  resourceClaims:
  - {name: shared, resourceClaimName: gpus}
  - {name: own, resourceClaimTemplateName: t}
status:
  resourceClaimStatuses: [{name: own, resourceClaimName: web-own-x}]
  extendedResourceClaimStatus: {resourceClaimName: web-extended, requestMappings: []}
)";

constexpr std::string_view kOthers = R"(
apiVersion: v1
kind: Pod
metadata: {name: elsewhere, namespace: team}
spec: {nodeName: n2, containers: [{name: c, image: x}], imagePullSecrets: [{name: theirs}]}
---
apiVersion: v1
kind: Pod
metadata: {name: mirror, namespace: team, annotations: {kubernetes.io/config.mirror: x}}
spec: {nodeName: n1, containers: [{name: c, image: x}], imagePullSecrets: [{name: mirrored}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: mine}
spec: {driver: d.example.com, nodeName: n1, pool: {name: p, generation: 1, resourceSliceCount: 1}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: yours}
spec: {driver: d.example.com, nodeName: n2, pool: {name: q, generation: 1, resourceSliceCount: 1}}
)";

class Stored final : public NodeObjects {
 public:
  Stored() : objects_(testing::ObjectsFrom(std::string(kPod) + "---" + std::string(kOthers))) {}
  std::vector<api::Object> PodsOn(std::string_view node, std::string_view space) const override {
    std::vector<api::Object> pods;
    for (const api::Object& object : objects_) {
      const auto* pod = object.As<api::Pod>();
      if (pod == nullptr || pod->spec.node_name != node || pod->metadata.namespace_ != space) {
        continue;
      }
      pods.push_back(object);
    }
    return pods;
  }
  std::optional<api::Object> Find(std::string_view group, std::string_view resource,
                                  std::string_view space, std::string_view name) const override {
    for (const api::Object& object : objects_) {
      if (object.kind().group == group && object.kind().plural == resource &&
          object.metadata().namespace_ == space && object.metadata().name == name) {
        return object;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<api::Object> objects_;
};

TEST(PodReferences, AreAllThatAPodNames) {
  const auto objects = testing::ObjectsFrom(std::string(kPod));
  const PodReferences found = ReferencesOf(*objects.front().As<api::Pod>());
  EXPECT_THAT(found.secrets,
              ElementsAre("azure", "csi", "env", "from", "projected", "pull", "rbd", "volume"));
  EXPECT_THAT(found.config_maps, ElementsAre("files", "map", "root", "settings"));
  EXPECT_THAT(found.volume_claims, ElementsAre("disk", "web-e"));
  EXPECT_THAT(found.resource_claims, ElementsAre("gpus", "web-extended", "web-own-x"));
  EXPECT_THAT(found.service_accounts, ElementsAre("runner"));
}

struct NodeCase {
  std::string name;
  api::AuthorizationRequest request;
  bool allowed;
  std::string reason = {};
  friend void PrintTo(const NodeCase& c, std::ostream* os) { *os << c.name; }
};
class NodeTest : public ::testing::TestWithParam<NodeCase> {};

const api::UserInfo kNode{"system:node:n1", {"system:nodes", "system:authenticated"}};

TEST_P(NodeTest, MayDoWhatIsItsOwn) {
  api::AuthorizationRequest request = GetParam().request;
  if (request.user.name.empty()) request.user = kNode;
  const auto decision = AuthorizeNode(request, Stored());
  ASSERT_TRUE(decision.has_value());
  EXPECT_EQ(decision->allowed, GetParam().allowed);
  EXPECT_EQ(decision->reason, GetParam().reason);
}

api::AuthorizationRequest Ask(std::string verb, std::string group, std::string resource,
                              std::string name = {}, std::string space = {},
                              std::string fields = {}) {
  const std::size_t slash = resource.find('/');
  return {.user = {},
          .verb = std::move(verb),
          .api_group = std::move(group),
          .resource = resource.substr(0, slash),
          .subresource = slash == resource.npos ? "" : resource.substr(slash + 1),
          .namespace_ = std::move(space),
          .name = std::move(name),
          .field_selector = std::move(fields)};
}
const std::string kUnrelated = "no relationship found between node 'n1' and this object";
const std::string kGroup = "resource.k8s.io";

INSTANTIATE_TEST_SUITE_P(
    Nodes, NodeTest,
    ::testing::ValuesIn(std::vector<NodeCase>{
        {"secret_of_its_pod", Ask("get", "", "secrets", "env", "team"), true},
        {"watch_of_a_secret", Ask("watch", "", "secrets", "env", "team"), true},
        {"secret_of_another_namespace", Ask("get", "", "secrets", "env", "other"), false,
         kUnrelated},
        {"secret_of_another_node", Ask("get", "", "secrets", "theirs", "team"), false, kUnrelated},
        {"secret_that_only_a_mirror_names", Ask("get", "", "secrets", "mirrored", "team"), false,
         kUnrelated},
        {"all_secrets", Ask("list", "", "secrets", "", "team"), false, "No Object name found"},
        {"secrets_everywhere", Ask("list", "", "secrets"), false,
         "can only read namespaced object of this type"},
        {"no_writing_of_secrets", Ask("update", "", "secrets", "env", "team"), false,
         "can only read resources of this type"},
        {"config_map", Ask("get", "", "configmaps", "files", "team"), true},
        {"other_config_map", Ask("get", "", "configmaps", "x", "team"), false, kUnrelated},
        {"volume_claim", Ask("get", "", "persistentvolumeclaims", "disk", "team"), true},
        {"ephemeral_claim", Ask("get", "", "persistentvolumeclaims", "web-e", "team"), true},
        {"all_volume_claims", Ask("list", "", "persistentvolumeclaims", "", "team"), false,
         "can only get individual resources of this type"},
        {"volume_of_nobody", Ask("get", "", "persistentvolumes", "v"), false, kUnrelated},
        {"all_volumes", Ask("list", "", "persistentvolumes"), false,
         "can only get individual resources of this type"},
        {"claim", Ask("get", kGroup, "resourceclaims", "gpus", "team"), true},
        {"special_claim", Ask("get", kGroup, "resourceclaims", "web-extended", "team"), true},
        {"other_claim", Ask("get", kGroup, "resourceclaims", "x", "team"), false, kUnrelated},
        {"claim_is_not_written", Ask("update", kGroup, "resourceclaims", "gpus", "team"), false,
         "can only get individual resources of this type"},
        {"claims_status", Ask("get", kGroup, "resourceclaims/status", "gpus", "team"), false,
         "cannot get subresource"},
        {"token", Ask("create", "", "serviceaccounts/token", "runner", "team"), true},
        {"token_of_another", Ask("create", "", "serviceaccounts/token", "boss", "team"), false,
         kUnrelated},
        {"account_is_not_written", Ask("update", "", "serviceaccounts", "runner", "team"), false,
         "can only create tokens for individual service accounts"},
        {"its_node", Ask("get", "", "nodes", "n1"), true},
        {"its_node_by_selector", Ask("list", "", "nodes", "n1"), true},
        {"other_node", Ask("get", "", "nodes", "n2"), false,
         "node 'n1' cannot read 'n2', only its own Node object"},
        {"all_nodes", Ask("list", "", "nodes"), false,
         "node 'n1' cannot read all nodes, only its own Node object"},
        {"registers", Ask("create", "", "nodes"), true},
        {"reports", Ask("patch", "", "nodes/status", "n1"), true},
        {"deletes_no_node", Ask("delete", "", "nodes", "n1"), false},
        {"its_pods", Ask("watch", "", "pods", "", "", "spec.nodeName=n1"), true},
        {"pods_of_another", Ask("watch", "", "pods", "", "", "spec.nodeName=n2"), false,
         "can only list/watch pods with spec.nodeName field selector"},
        {"pods_not_of_another", Ask("watch", "", "pods", "", "", "spec.nodeName!=n2"), false,
         "can only list/watch pods with spec.nodeName field selector"},
        {"all_pods", Ask("list", "", "pods"), false,
         "can only list/watch pods with spec.nodeName field selector"},
        {"its_pod", Ask("get", "", "pods", "web", "team"), true},
        {"pod_elsewhere", Ask("get", "", "pods", "elsewhere", "team"), false, kUnrelated},
        {"pod_that_is_gone", Ask("get", "", "pods", "gone", "team"), true},
        {"makes_no_pods", Ask("create", "", "pods", "", "team"), false},
        {"binds_no_pods", Ask("create", "", "pods/binding", "web", "team"), false},
        {"runs_nothing_in_pods", Ask("create", "", "pods/exec", "web", "team"), false},
        {"pod_status", Ask("patch", "", "pods/status", "web", "team"), true},
        {"its_lease", Ask("update", "coordination.k8s.io", "leases", "n1", "kube-node-lease"),
         true},
        {"a_new_lease", Ask("create", "coordination.k8s.io", "leases", "", "kube-node-lease"),
         true},
        {"other_lease", Ask("get", "coordination.k8s.io", "leases", "n2", "kube-node-lease"), false,
         "can only access node lease with the same name as the requesting node"},
        {"leader_lease", Ask("get", "coordination.k8s.io", "leases", "n1", "kube-system"), false,
         "can only access leases in the \"kube-node-lease\" system namespace"},
        {"its_csi_node", Ask("update", "storage.k8s.io", "csinodes", "n1"), true},
        {"other_csi_node", Ask("update", "storage.k8s.io", "csinodes", "n2"), false,
         "can only access CSINode with the same name as the requesting node"},
        {"its_slice", Ask("update", kGroup, "resourceslices", "mine"), true},
        {"other_slice", Ask("delete", kGroup, "resourceslices", "yours"), false, kUnrelated},
        {"its_slices",
         Ask("deletecollection", kGroup, "resourceslices", "", "", "spec.nodeName=n1"), true},
        {"all_slices", Ask("list", kGroup, "resourceslices"), false,
         "can only list/watch/deletecollection resourceslices with nodeName field selector"},
        {"services", Ask("list", "", "services"), true},
        {"csr", Ask("create", "certificates.k8s.io", "certificatesigningrequests"), true},
        {"no_approval",
         Ask("update", "certificates.k8s.io", "certificatesigningrequests/approval", "x"), false},
        {"no_roles", Ask("get", "rbac.authorization.k8s.io", "clusterroles", "admin"), false},
        {"no_name",
         {.user = {"eve", {"system:nodes"}}, .verb = "get", .resource = "nodes", .name = "n1"},
         false,
         "unknown node for user \"eve\""},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Nodes, OthersAreNotJudged) {
  EXPECT_FALSE(
      AuthorizeNode({.user = {"system:node:n1", {"dev"}}, .verb = "get", .resource = "nodes"},
                    Stored())
          .has_value());
}

}  // namespace
}  // namespace dray::rbac
