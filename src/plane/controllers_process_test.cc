// SPDX-License-Identifier: Apache-2.0
//
// A control plane without controllers, and controllers without a control plane, with the rights that
// their kubeconfig gives them and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/certificate_signing_request.h"
#include "api/config_map.h"
#include "api/lease.h"
#include "api/namespace.h"
#include "api/rbac.h"
#include "api/resource_quota.h"
#include "api/service_account.h"
#include "api/workloads.h"
#include "apiserver/requests_for_test.h"
#include "client/object_client.h"
#include "client/remote_cluster.h"
#include "plane/plane_for_test.h"
#include "plane/remote_controllers.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::plane {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Read(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class ControllersProcessTest : public ::testing::Test {
 protected:
  void Start(std::uint16_t port = 0) {
    plane_.StartWith(
        {.port = port, .controllers = false, .nodes = false, .objects = SmallCluster()});
  }
  client::ServerAccess AccessOf(const std::string& who) {
    auto access = client::LoadAccess({.kubeconfig = plane_.folder() + "/" + who + ".kubeconfig"});
    EXPECT_THAT(access, IsOk());
    return *std::move(access);
  }
  std::unique_ptr<RemoteControllers> Control(RemoteControllersOptions options = {}) {
    options.access = AccessOf("controllers");
    options.nodes = true;
    auto controllers = RemoteControllers::Start(std::move(options), clock_);
    EXPECT_THAT(controllers, IsOk());
    return *std::move(controllers);
  }
  template <typename T>
  std::optional<T> Find(std::string_view namespace_, std::string_view name) {
    const auto found =
        plane_.plane().cluster().Find(api::HubKind(api::TypeInfoOf<T>()), namespace_, name);
    EXPECT_THAT(found, IsOk());
    if (!found.ok() || !*found) return std::nullopt;
    return *(*found)->template As<T>();
  }
  // As kubectl would.
  void Apply(std::string_view yaml) {
    for (api::Object& object : testing::ObjectsFrom(yaml)) {
      const auto made = plane_.plane().cluster().Create(std::move(object));
      ASSERT_THAT(made, IsOk());
    }
  }
  int Running() {
    const auto pods = plane_.All<api::Pod>();
    return static_cast<int>(std::ranges::count_if(
        pods, [](const api::Pod& pod) { return pod.status.phase == api::kPodRunning; }));
  }

  const base::SystemClock clock_{};
  TestPlane plane_;
};

constexpr std::string_view kDeployment = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one-device}]
)";

TEST_F(ControllersProcessTest, RunAWorkloadAndCleanUpAfterIt) {
  Start();
  const auto controllers = Control();
  Apply(kDeployment);
  ASSERT_TRUE(plane_.Until([&] { return Running() == 3; })) << Running();
  EXPECT_EQ(plane_.All<api::ResourceClaim>().size(), 3u);
  ASSERT_THAT(plane_.plane().cluster().Delete(api::HubKind(api::TypeInfoOf<api::Deployment>()),
                                              "default", "web"),
              IsOk());
  EXPECT_TRUE(plane_.Until([&] {
    return plane_.All<api::Pod>().empty() && plane_.All<api::ReplicaSet>().empty() &&
           plane_.All<api::ResourceClaim>().empty();
  }));
}

TEST_F(ControllersProcessTest, NamespacesGetWhatTheyNeedAndGoWithAllThatIsInThem) {
  Start();
  const auto controllers = Control();
  Apply(R"(
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: team}
spec: {hard: {pods: "5", count/widgets.example.com: "5"}}
)");
  ASSERT_TRUE(plane_.Until([&] {
    const auto root = Find<api::ConfigMap>("team", "kube-root-ca.crt");
    return root && Find<api::ServiceAccount>("team", "default");
  }));
  EXPECT_EQ(*Find<api::ConfigMap>("team", "kube-root-ca.crt")->data.Find("ca.crt"),
            Read(plane_.folder() + "/pki/ca.crt"));
  // An object of a kind that somebody has defined, through the door that a client has.
  auto http = client::HttpClient::Create(AccessOf("admin"));
  ASSERT_THAT(http, IsOk());
  const std::string widgets = "/apis/example.com/v1/namespaces/team/widgets";
  ASSERT_TRUE(plane_.Until([&] {
    const auto made = (*http)->Send(
        {.method = "POST",
         .target = widgets,
         .body = R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}})"});
    return made.ok() && (made->status == 201 || made->status == 409);
  }));
  EXPECT_TRUE(plane_.Until([&] {
    const auto quota = Find<api::ResourceQuota>("team", "q");
    const auto* used = quota ? quota->status.used.Find("count/widgets.example.com") : nullptr;
    return used != nullptr && used->ToString() == "1";
  }));
  ASSERT_THAT(
      plane_.plane().cluster().Delete(api::HubKind(api::TypeInfoOf<api::Namespace>()), "", "team"),
      IsOk());
  EXPECT_TRUE(plane_.Until([&] { return !Find<api::Namespace>("", "team"); }));
  EXPECT_EQ((*http)->Send({.target = widgets + "/w"})->status, 404);
}

TEST_F(ControllersProcessTest, RolesThatGatherOthersAreWritten) {
  Start();
  const auto controllers = Control();
  Apply(R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: everything-of-mine}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {mine: "true"}}]}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: part, labels: {mine: "true"}}
rules: [{apiGroups: [example.com], resources: [widgets], verbs: [frobnicate]}]
)");
  EXPECT_TRUE(plane_.Until([&] {
    const auto role = Find<api::ClusterRole>("", "everything-of-mine");
    return role && role->rules.size() == 1;
  }));
}

// A machine that joins: approved through the part of the object that is for that, and signed.
TEST_F(ControllersProcessTest, CertificatesAreApprovedAndSignedForWhoMayHaveThem) {
  Start();
  const std::string pki = plane_.folder() + "/pki/";
  RemoteControllersOptions options;
  options.signer = apiserver::KeyPair{Read(pki + "ca.crt"), Read(pki + "ca.key")};
  const auto controllers = Control(std::move(options));
  client::ServerAccess joining = AccessOf("admin");
  auto http = client::HttpClient::Create(joining);
  ASSERT_THAT(http, IsOk());
  const client::ObjectClient client(**http, "test");
  api::CertificateSigningRequest request;
  request.metadata.name = "join";
  request.spec.request.data = std::string(apiserver::kNodeRequest);
  request.spec.signer_name = std::string(api::kSignerKubeletClient);
  request.spec.usages = {"digital signature", "client auth"};
  ASSERT_THAT(client.Create(api::Object::Of(request)), IsOk());
  EXPECT_TRUE(plane_.Until([&] {
    const auto found = Find<api::CertificateSigningRequest>("", "join");
    return found && !found->status.certificate.data.empty();
  }));
  const auto found = Find<api::CertificateSigningRequest>("", "join");
  EXPECT_NE(api::FindCondition(*found, api::kCertificateApproved), nullptr);
}

TEST_F(ControllersProcessTest, OfTwoOneWorksAndTheOtherGoesOnAfterIt) {
  Start();
  auto first = Control(RemoteControllersOptions{{.identity = "first"}});
  ASSERT_TRUE(plane_.Until([&] { return first->leading(); }));
  const auto second = Control(RemoteControllersOptions{{.identity = "second"}});
  ASSERT_TRUE(plane_.Until([&] { return second->leader() == "first"; }));
  EXPECT_FALSE(second->leading());
  EXPECT_EQ(first->lease(), "kube-system/dray-controllers");
  first = nullptr;
  Apply(kDeployment);
  EXPECT_TRUE(plane_.Until([&] { return Running() == 3; }));
  EXPECT_TRUE(second->leading());
  EXPECT_THAT(second->Health(), IsOk());
}

TEST_F(ControllersProcessTest, GoOnAfterTheServerWasAway) {
  Start();
  const auto controllers = Control(RemoteControllersOptions{{.leader_elect = false}});
  EXPECT_EQ(controllers->lease(), "");
  Apply(kDeployment);
  ASSERT_TRUE(plane_.Until([&] { return Running() == 3; }));
  const std::string& url = plane_.plane().url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  plane_.Stop();
  EXPECT_TRUE(plane_.Until([&] { return !controllers->Connection().ok(); }));
  Start(port);
  ASSERT_THAT(plane_.plane().cluster().Delete(api::HubKind(api::TypeInfoOf<api::Deployment>()),
                                              "default", "web"),
              IsOk());
  EXPECT_TRUE(plane_.Until([&] { return plane_.All<api::Pod>().empty(); }));
  EXPECT_TRUE(plane_.Until([&] { return controllers->Connection().ok(); }));
}

// Two that do the same by different rules undo each other's work.
TEST_F(ControllersProcessTest, AClusterThatHasKubernetessIsLeftAlone) {
  Start();
  api::Lease lease;
  lease.metadata.namespace_ = "kube-system";
  lease.metadata.name = "kube-controller-manager";
  lease.spec.holder_identity = "somebody";
  ASSERT_THAT(plane_.plane().cluster().Create(api::Object::Of(lease)), IsOk());
  RemoteControllersOptions options;
  options.access = AccessOf("controllers");
  EXPECT_THAT(RemoteControllers::Start(std::move(options), clock_),
              StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("held by \"somebody\""),
                                                              HasSubstr("dray's own API server"))));
}

TEST_F(ControllersProcessTest, HealthAndMetricsAreServed) {
  Start();
  RemoteControllersOptions options;
  options.serving.emplace();
  options.serving->address = "127.0.0.1";
  options.serving->port = 0;
  options.serving->client_authority = AccessOf("admin").authority;
  const auto controllers = Control(std::move(options));
  auto http = client::HttpClient::Create({.url = controllers->serving(), .insecure = true});
  ASSERT_THAT(http, IsOk());
  ASSERT_TRUE(plane_.Until([&] {
    return controllers->leading() && (*http)->Send({.target = "/readyz"})->status == 200;
  }));
  EXPECT_THAT((*http)->Send({.target = "/readyz?verbose"})->body, HasSubstr("informer-sync ok"));
  EXPECT_EQ((*http)->Send({.target = "/metrics"})->status, 403);
  auto known = AccessOf("admin");
  auto admin = client::HttpClient::Create({.url = controllers->serving(),
                                           .insecure = true,
                                           .certificate = known.certificate,
                                           .key = known.key});
  ASSERT_THAT(admin, IsOk());
  Apply(kDeployment);
  ASSERT_TRUE(plane_.Until([&] { return Running() == 3; }));
  const std::string metrics = (*admin)->Send({.target = "/metrics"})->body;
  EXPECT_THAT(metrics,
              AllOf(HasSubstr(R"(leader_election_master_status{name="dray-controllers"} 1)"),
                    HasSubstr(R"(workqueue_adds_total{name="replicaset-controller"})"),
                    HasSubstr("rest_client_requests_total")));
}

}  // namespace
}  // namespace dray::plane
