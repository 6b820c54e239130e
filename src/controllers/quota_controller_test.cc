// SPDX-License-Identifier: Apache-2.0
#include "controllers/quota_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/forwarding_cluster.h"
#include "api/lease.h"
#include "controllers/definitions_for_test.h"
#include "controllers/workloads_for_test.h"
#include "fmt/format.h"
#include "testing/objects_from.h"
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

TEST_F(QuotaTest, CountsObjectsOfKindsThatSomebodyDefines) {
  const std::string name = "count/gadgets.defs.example.com";
  const api::KindInfo& kind = Named("gadgets", "Gadget");
  scene_.Add(Quota("q", {name}));
  controller_->Sync();
  EXPECT_EQ(Used(name), "0");
  Define(scene_, "gadgets", "Gadget");
  AddCustom(scene_, kind, "a");
  AddCustom(scene_, kind, "b");
  controller_->Sync();
  EXPECT_EQ(Used(name), "2");
  ASSERT_TRUE(scene_.cluster().Delete(kind, "ns", "a").ok());
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_EQ(Used(name), "1");
  // Another that begins anew finds the same.
  Start();
  EXPECT_EQ(controller_->Sync(), 0u);
  // What was defined is defined no more, by force: nothing is left that could count.
  api::Object definition = *scene_.cluster().Stored(api::DefinitionKind(), "", FullName("gadgets"));
  ASSERT_TRUE(scene_.cluster().Delete(kind, "ns", "b").ok());
  definition.MutableMetadata().finalizers.clear();
  ASSERT_TRUE(scene_.cluster().Update(definition).ok());
  ASSERT_TRUE(scene_.cluster().Delete(api::DefinitionKind(), "", FullName("gadgets")).ok());
  controller_->Sync();
  EXPECT_EQ(Used(name), "0");
}

TEST_F(QuotaTest, CountsPortsLoadBalancersAndStorage) {
  const std::string gold = "gold.storageclass.storage.k8s.io/requests.storage";
  scene_.Add(Quota("q", {"services.nodeports", "services.loadbalancers", "requests.storage", gold,
                         "persistentvolumeclaims"}));
  const std::string_view manifests = R"(
apiVersion: v1
kind: Service
metadata: {name: s, namespace: ns}
spec: {type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: v, namespace: ns}
spec: {storageClassName: gold, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
)";
  for (api::Object& object : testing::ObjectsFrom(manifests)) {
    ASSERT_TRUE(scene_.cluster().Create(std::move(object)).ok());
  }
  controller_->Sync();
  EXPECT_EQ(Used("services.nodeports"), "1");
  EXPECT_EQ(Used("services.loadbalancers"), "1");
  EXPECT_EQ(Used("requests.storage"), "2Gi");
  EXPECT_EQ(Used(gold), "2Gi");
  EXPECT_EQ(Used("persistentvolumeclaims"), "1");
  const std::string_view changed = R"(
apiVersion: v1
kind: Service
metadata: {name: s, namespace: ns}
spec: {type: ClusterIP, ports: [{port: 80}]}
)";
  for (api::Object& object : testing::ObjectsFrom(changed)) {
    ASSERT_TRUE(scene_.cluster().Update(std::move(object)).ok());
  }
  controller_->Sync();
  EXPECT_EQ(Used("services.nodeports"), "0");
  EXPECT_EQ(Used("services.loadbalancers"), "0");
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

// Between what the controller has seen and its write somebody charges the quota for one more pod, as
// admission does, in one transaction. The sum that the controller wanted to write is out of date
// then: written over the charge, it would let one pod too many in.
class ChargedInBetween final : public api::ForwardingCluster {
 public:
  explicit ChargedInBetween(Scene& scene) : ForwardingCluster(scene.cluster()), scene_(scene) {}

  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    if (object.As<api::ResourceQuota>() != nullptr && pods_left > 0) {
      --pods_left;
      Charge(fmt::format("late-{}", pods_left));
    }
    auto stored = ForwardingCluster::UpdateStatus(std::move(object));
    const auto quota = scene_.Get<api::ResourceQuota>("q");
    const base::Quantity* used = quota.status.used.Find("pods");
    EXPECT_GE(used == nullptr ? 0 : used->AsInt64().value_or(-1),
              static_cast<std::int64_t>(scene_.All<api::Pod>().size()))
        << "less is said to be used than there is";
    return stored;
  }
  void Charge(std::string_view pod) {
    scene_.Add(PodNamed(pod));
    auto quota = scene_.Get<api::ResourceQuota>("q");
    quota.status.used["pods"] += base::Quantity::FromInt(1);
    scene_.PutStatus(quota);
  }

  int pods_left = 0;

 private:
  Scene& scene_;
};

TEST_F(QuotaTest, AChargeThatComesInBetweenIsNotOverwritten) {
  ChargedInBetween cluster(scene_);
  QuotaController controller(cluster, scene_.clock(), api::FeatureGates());
  scene_.Add(Quota("q", {"pods"}));
  cluster.Charge("a");
  cluster.Charge("b");
  controller.Sync();
  scene_.Delete<api::Pod>("a");  // what nobody but the controller takes off
  cluster.pods_left = 8;
  for (int i = 0; i < 20; ++i) {
    controller.Sync();
    scene_.clock().Advance(1s);
  }
  EXPECT_EQ(cluster.pods_left, 0);
  EXPECT_EQ(Used("pods"), "9");
  EXPECT_EQ(controller.Sync(), 0u);
}

// A cluster in which some objects, by name, cannot be read: they are there, and not told.
class HalfRead final : public api::ForwardingCluster {
 public:
  explicit HalfRead(api::Cluster& cluster) : ForwardingCluster(cluster) {}
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override {
    return std::make_unique<HalfWatch>(inner().Watch(kinds, selection), unread);
  }
  std::set<std::string> unread;

 private:
  class HalfWatch final : public api::ObjectWatch {
   public:
    HalfWatch(std::unique_ptr<api::ObjectWatch> watch, const std::set<std::string>& unread)
        : watch_(std::move(watch)), unread_(unread) {}
    std::optional<api::Change> Next() override {
      // One that can be read again comes as if it were new.
      for (auto it = held_.begin(); it != held_.end(); ++it) {
        if (unread_.contains(it->first)) continue;
        api::Change change = std::move(it->second);
        held_.erase(it);
        return change;
      }
      while (auto change = watch_->Next()) {
        const std::string& name = change->object.metadata().name;
        if (!unread_.contains(name)) return change;
        if (change->kind == api::Change::Kind::kDeleted) {
          held_.erase(name);
        } else {
          held_.insert_or_assign(name, *std::move(change));
        }
      }
      return std::nullopt;
    }
    Status Stale() const override {
      return held_.empty() ? Status() : base::MakeStatus(StatusCode::kDataLoss, "cannot be read");
    }
    std::vector<api::UnreadableObject> Unreadable() const override {
      std::vector<api::UnreadableObject> all;
      for (const auto& [name, change] : held_) {
        all.push_back({&api::HubKind(*change.object.kind().hub), "ns", name});
      }
      return all;
    }

   private:
    const std::unique_ptr<api::ObjectWatch> watch_;
    const std::set<std::string>& unread_;
    std::map<std::string, api::Change> held_;
  };
};

class UnreadQuotaTest : public QuotaTest {
 protected:
  void SetUp() override {
    scene_.Add(Quota("q", {"pods", "count/pods", "requests.cpu", "count/configmaps"}));
    for (const char* name : {"a", "b", "c"}) scene_.Add(Asking(name, "cpu", "2"));
    Restart();
    EXPECT_EQ(Used("requests.cpu"), "6");
  }
  void Restart() {
    controller_ = std::make_unique<QuotaController>(half_, scene_.clock(), api::FeatureGates());
    controller_->Sync();
  }

  HalfRead half_{scene_.cluster()};
};

TEST_F(UnreadQuotaTest, WhatCannotBeReadStillTakesWhatItTook) {
  half_.unread = {"b"};
  Restart();
  EXPECT_EQ(Used("pods"), "3");
  EXPECT_EQ(Used("count/pods"), "3");
  EXPECT_EQ(Used("requests.cpu"), "6");
  EXPECT_EQ(Used("count/configmaps"), "0");
  // Others come and go as ever.
  scene_.Delete<api::Pod>("a");
  controller_->Sync();
  EXPECT_EQ(Used("pods"), "2");
  EXPECT_EQ(Used("requests.cpu"), "4");
  scene_.Add(Asking("d", "cpu", "1"));
  controller_->Sync();
  EXPECT_EQ(Used("requests.cpu"), "5");
  // It can be read again, and is counted once.
  half_.unread = {};
  controller_->Sync();
  EXPECT_EQ(Used("count/pods"), "3");
  EXPECT_EQ(Used("requests.cpu"), "5");
}

TEST_F(UnreadQuotaTest, WhatIsGoneIsTakenOffThoughNobodyTells) {
  half_.unread = {"b"};
  Restart();
  scene_.Delete<api::Pod>("b");
  controller_->Sync();
  EXPECT_EQ(Used("requests.cpu"), "6") << "nobody has told";
  scene_.clock().Advance(1min);
  controller_->Sync();
  EXPECT_EQ(Used("requests.cpu"), "4");
  EXPECT_EQ(Used("pods"), "2");
}

TEST_F(UnreadQuotaTest, OfWhatTakesNothingOnlyTheNumberCounts) {
  scene_.Add(Quota("leases", {"count/leases.coordination.k8s.io", "requests.cpu"}));
  api::Lease lease;
  lease.metadata.namespace_ = "ns";
  lease.metadata.name = "lease";
  scene_.Add(lease);
  controller_->Sync();
  scene_.Delete<api::Pod>("a");  // and nobody has counted yet
  half_.unread = {"lease"};
  Restart();
  EXPECT_EQ(Used("count/leases.coordination.k8s.io", "leases"), "1");
  EXPECT_EQ(Used("requests.cpu", "leases"), "4");
}

TEST_F(UnreadQuotaTest, ANewQuotaKnowsHowManyThereAre) {
  half_.unread = {"a", "b"};
  Restart();
  scene_.Add(Quota("new", {"pods", "count/pods", "requests.cpu"}));
  controller_->Sync();
  EXPECT_EQ(Used("count/pods", "new"), "3");
  EXPECT_EQ(Used("pods", "new"), "3");
  EXPECT_EQ(Used("requests.cpu", "new"), "2") << "what the others ask for nobody knows";
}

}  // namespace
}  // namespace dray::controllers
