// SPDX-License-Identifier: Apache-2.0
#include "controllers/quota_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "controllers/quota_scopes.h"
#include "controllers/workloads_for_test.h"
#include "testing/slice_builder.h"

namespace dray::controllers {
namespace {

using testing::ToQuantity;
using namespace std::chrono_literals;

class QuotaTest : public ::testing::Test {
 protected:
  void Start() {
    controller_ =
        std::make_unique<QuotaController>(scene_.cluster(), scene_.clock(), api::FeatureGates());
  }
  void SetUp() override { Start(); }
  api::ResourceQuota Quota(std::string_view name, std::vector<std::string> names) {
    api::ResourceQuota quota;
    quota.metadata.namespace_ = "ns";
    quota.metadata.name = name;
    for (const std::string& resource : names) quota.spec.hard[resource] = ToQuantity("100");
    return quota;
  }
  std::string Used(std::string_view resource, std::string_view quota = "q") {
    const auto stored = scene_.Get<api::ResourceQuota>(quota);
    const base::Quantity* used = stored.status.used.Find(resource);
    return used != nullptr ? used->ToString() : "-";
  }
  api::Pod Asking(std::string_view name, std::string_view resource, std::string_view amount) {
    api::Pod pod = PodNamed(name);
    auto& container = pod.spec.containers[0].resources;
    container.requests[resource] = ToQuantity(amount);
    container.limits[resource] = ToQuantity(amount);
    return pod;
  }
  void AddClass(std::string_view name, std::optional<std::string> extended = std::nullopt) {
    api::DeviceClass made;
    made.metadata.name = name;
    made.spec.extended_resource_name = std::move(extended);
    scene_.Add(made);
  }
  Scene scene_;
  std::unique_ptr<QuotaController> controller_;
};

TEST_F(QuotaTest, CountsPodsAndWhatTheyAskFor) {
  scene_.Add(Quota("q", {"pods", "requests.cpu", "count/pods", "limits.cpu"}));
  scene_.Add(Asking("a", "cpu", "500m"));
  scene_.Add(Asking("b", "cpu", "2"));
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_EQ(Used("pods"), "2");
  EXPECT_EQ(Used("requests.cpu"), "2500m");
  EXPECT_EQ(Used("limits.cpu"), "2500m");
  EXPECT_EQ(Used("count/pods"), "2");
  EXPECT_EQ(*scene_.Get<api::ResourceQuota>("q").status.hard.Find("pods"), ToQuantity("100"));
  EXPECT_EQ(controller_->Sync(), 0u);

  scene_.SetPhase("a", api::kPodSucceeded);
  controller_->Sync();
  EXPECT_EQ(Used("pods"), "1");
  EXPECT_EQ(Used("requests.cpu"), "2");
  EXPECT_EQ(Used("count/pods"), "2");
  scene_.Delete<api::Pod>("b");
  controller_->Sync();
  EXPECT_EQ(Used("requests.cpu"), "0");
  EXPECT_EQ(Used("count/pods"), "1");
}

TEST_F(QuotaTest, CountsClaimsAndTheirDevices) {
  AddClass("gpu.example.com");
  scene_.Add(Quota("q", {"count/resourceclaims.resource.k8s.io",
                         "gpu.example.com.deviceclass.resource.k8s.io/devices"}));
  api::ResourceClaim claim = ClaimNamed("c");
  claim.spec.devices.requests[0].exactly->count = 3;
  scene_.Add(claim);
  controller_->Sync();
  EXPECT_EQ(Used("count/resourceclaims.resource.k8s.io"), "1");
  EXPECT_EQ(Used("gpu.example.com.deviceclass.resource.k8s.io/devices"), "3");
  scene_.Delete<api::ResourceClaim>("c");
  controller_->Sync();
  EXPECT_EQ(Used("gpu.example.com.deviceclass.resource.k8s.io/devices"), "0");
}

// KEP-5004's adjusted table: what a pod is charged with as an extended resource is not charged a
// second time for the claim that serves it.
TEST_F(QuotaTest, AnExtendedResourceIsChargedOnceForPodAndClaim) {
  AddClass("gpu", "example.com/gpu");
  scene_.Add(Quota("q", {"requests.example.com/gpu", "gpu.deviceclass.resource.k8s.io/devices"}));
  const api::Pod pod = scene_.Add(Asking("a", "example.com/gpu", "2"));
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "2");
  api::ResourceClaim claim = ClaimNamed("special");
  claim.metadata.annotations[api::kExtendedResourceClaimAnnotation] = "true";
  claim.metadata.owner_references = {{.api_version = "v1",
                                      .kind = "Pod",
                                      .name = "a",
                                      .uid = pod.metadata.uid,
                                      .controller = true}};
  claim.spec.devices.requests[0].exactly->device_class_name = "gpu";
  claim.spec.devices.requests[0].exactly->count = 2;
  scene_.Add(claim);
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "2");
  EXPECT_EQ(Used("gpu.deviceclass.resource.k8s.io/devices"), "2");
  // A claim of its own right adds up.
  api::ResourceClaim own = ClaimNamed("own");
  own.spec.devices.requests[0].exactly->device_class_name = "gpu";
  scene_.Add(own);
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "3");
  // The pod has ended: the claim counts in full until it goes, too.
  scene_.SetPhase("a", api::kPodSucceeded);
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "3");
  scene_.Delete<api::ResourceClaim>("special");
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "1");
}

TEST_F(QuotaTest, AClassThatGetsANameIsCountedUnderIt) {
  AddClass("gpu.example.com");
  scene_.Add(Quota("q", {"requests.example.com/gpu"}));
  scene_.Add(ClaimNamed("c"));
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "0");
  auto changed = scene_.Get<api::DeviceClass>("gpu.example.com", "");
  changed.spec.extended_resource_name = "example.com/gpu";
  scene_.Put(changed);
  controller_->Sync();
  EXPECT_EQ(Used("requests.example.com/gpu"), "1");
}

TEST_F(QuotaTest, CountsObjectsOfEveryKind) {
  scene_.Add(Quota("q", {"count/deployments.apps", "count/jobs.batch", "resourcequotas"}));
  scene_.Add(DeploymentNamed("d", 1));
  scene_.Add(JobNamed("j"));
  scene_.Add(JobNamed("k"));
  controller_->Sync();
  EXPECT_EQ(Used("count/deployments.apps"), "1");
  EXPECT_EQ(Used("count/jobs.batch"), "2");
  EXPECT_EQ(Used("resourcequotas"), "1");
}

TEST_F(QuotaTest, ScopesChooseThePodsThatCount) {
  auto scoped = Quota("q", {"pods"});
  scoped.spec.scopes = {std::string(api::kQuotaScopeBestEffort)};
  scene_.Add(scoped);
  scene_.Add(PodNamed("a"));
  scene_.Add(Asking("b", "cpu", "1"));
  controller_->Sync();
  EXPECT_EQ(Used("pods"), "1");
}

TEST_F(QuotaTest, EachQuotaAndNamespaceCountsForItself) {
  scene_.Add(Quota("q", {"pods"}));
  auto other = Quota("q", {"pods"});
  other.metadata.namespace_ = "other";
  scene_.Add(other);
  scene_.Add(PodNamed("a"));
  controller_->Sync();
  EXPECT_EQ(Used("pods"), "1");
  EXPECT_TRUE(scene_.Get<api::ResourceQuota>("q", "other").status.used.Find("pods")->IsZero());
}

TEST_F(QuotaTest, AChangedQuotaIsCountedAnew) {
  scene_.Add(Quota("q", {"pods"}));
  scene_.Add(Asking("a", "cpu", "1"));
  controller_->Sync();
  auto changed = scene_.Get<api::ResourceQuota>("q");
  changed.spec.hard["requests.cpu"] = ToQuantity("4");
  scene_.Put(changed);
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_EQ(Used("requests.cpu"), "1");
}

TEST_F(QuotaTest, ARestartWritesNothing) {
  AddClass("gpu.example.com");
  scene_.Add(Quota("q", {"pods", "requests.cpu", "count/resourceclaims.resource.k8s.io"}));
  scene_.Add(Asking("a", "cpu", "1"));
  scene_.Add(ClaimNamed("c"));
  controller_->Sync();
  Start();
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST(QuotaScopes, FitOrDoNot) {
  struct Case {
    api::ScopedResourceSelectorRequirement requirement;
    bool plain;      // no deadline, no priority, requests something
    bool important;  // a deadline, the class "high", best effort
  };
  const Case cases[] = {
      {{.scope_name = "Terminating"}, false, true},
      {{.scope_name = "NotTerminating"}, true, false},
      {{.scope_name = "BestEffort"}, false, true},
      {{.scope_name = "NotBestEffort"}, true, false},
      {{.scope_name = "PriorityClass", .operator_ = "Exists"}, false, true},
      {{.scope_name = "PriorityClass", .operator_ = "DoesNotExist"}, true, false},
      {{.scope_name = "PriorityClass", .operator_ = "In", .values = {"high"}}, false, true},
      {{.scope_name = "PriorityClass", .operator_ = "NotIn", .values = {"high"}}, true, false},
      {{.scope_name = "CrossNamespacePodAffinity"}, false, false},
      {{.scope_name = "Unheard"}, false, false},
  };
  api::Pod plain = PodNamed("a");
  plain.status.qos_class = "Burstable";
  api::Pod important = PodNamed("b");
  important.status.qos_class = "BestEffort";
  important.spec.active_deadline_seconds = 0;
  important.spec.priority_class_name = "high";
  for (const Case& c : cases) {
    api::ResourceQuotaSpec quota;
    quota.scope_selector.emplace().match_expressions.push_back(c.requirement);
    EXPECT_EQ(InScope(quota, plain), c.plain) << c.requirement.scope_name;
    EXPECT_EQ(InScope(quota, important), c.important) << c.requirement.scope_name;
  }
  api::Pod abroad = PodNamed("c");
  auto& term = abroad.spec.affinity.emplace().pod_affinity.emplace().required.emplace_back();
  term.namespaces = {"elsewhere"};
  api::ResourceQuotaSpec quota;
  quota.scopes = {std::string(api::kQuotaScopeCrossNamespacePodAffinity)};
  EXPECT_TRUE(InScope(quota, abroad));
}

}  // namespace
}  // namespace dray::controllers
