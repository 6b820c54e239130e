// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "api/pod.h"
#include "api/resource_quota.h"
#include "fmt/format.h"
#include "registry/world_for_test.h"
#include "rest/api_error.h"
#include "store/memory/memory_store.h"
#include "store/store_for_test.h"
#include "testing/slice_builder.h"
#include "testing/status_matchers.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kQuotas = "/api/v1/namespaces/default/resourcequotas";

std::string Quota(std::string_view hard, std::string_view more = "") {
  return fmt::format(R"({{"metadata":{{"name":"q"}},"spec":{{"hard":{}{}}}}})", hard, more);
}
std::string Claim(std::string_view name, int count) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"devices":{{"requests":[{{"name":"r",)"
      R"("exactly":{{"deviceClassName":"gpu","count":{}}}}}]}}}}}})",
      name, count);
}
std::string Pod(std::string_view name, std::string_view more = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"containers":[{{"name":"a","image":"x"}}]{}}}}})",
      name, more);
}

std::string Used(World& world, std::string_view name) {
  const auto found = *world.registry().objects().Find(
      api::HubKind(api::TypeInfoOf<api::ResourceQuota>()), "default", "q");
  const base::Quantity* amount = found->object().As<api::ResourceQuota>()->status.used.Find(name);
  return amount == nullptr ? "none" : amount->ToString();
}

TEST(QuotaAdmission, ChargesDevicesOfAClassAndRefusesTooMany) {
  World world;
  const std::string name = "gpu.deviceclass.resource.k8s.io/devices";
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"gpu.deviceclass.resource.k8s.io/devices":"3"})")).status,
            201);
  EXPECT_EQ(world.Post(kClaims, Claim("a", 2)).status, 201);
  EXPECT_EQ(Used(world, name), "2");
  const Answer refused = world.Post(kClaims, Claim("b", 2));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text,
              HasSubstr("resourceclaims.resource.k8s.io \\\"b\\\" is forbidden: exceeded quota: q, "
                        "requested: gpu.deviceclass.resource.k8s.io/devices=2, used: "
                        "gpu.deviceclass.resource.k8s.io/devices=2, limited: "
                        "gpu.deviceclass.resource.k8s.io/devices=3"));
  EXPECT_EQ(world.Get(kClaims + "/b").status, 404);
  EXPECT_EQ(Used(world, name), "2");
  EXPECT_EQ(world.Post(kClaims, Claim("c", 1)).status, 201);
}

// Controllers over HTTP have a watch for each kind: a quota's new charge may be shown before the pod
// that it is for. Their sum then lacks a pod, and must not make room for another one.
TEST(QuotaAdmission, ASumThatLacksWhatIsThereIsRefused) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"pods":"2","count/pods":"2"})")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("a")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("b")).status, 201);
  ASSERT_EQ(Used(world, "pods"), "2");
  const auto count = [&](std::string_view pods) {
    return world.Ask({.method = "PATCH",
                      .path = kQuotas + "/q/status",
                      .body = fmt::format(R"({{"status":{{"used":{{"pods":"{0}","count/pods":)"
                                          R"("{0}"}}}}}})",
                                          pods),
                      .content_type = "application/merge-patch+json"});
  };
  const Answer refused = count("1");
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("status.used has 1 count/pods, and there are 2"));
  EXPECT_EQ(Used(world, "pods"), "2");
  EXPECT_EQ(world.Post(kPods, Pod("c")).status, 403);
  // More than there is may be said, for that lets nobody in; and what is true.
  EXPECT_EQ(count("3").status, 200);
  EXPECT_EQ(count("2").status, 200);
  ASSERT_EQ(world.Ask({.method = "DELETE", .path = kPods + "/b?gracePeriodSeconds=0"}).status, 200);
  EXPECT_EQ(count("1").status, 200);
  EXPECT_EQ(Used(world, "pods"), "1");
  EXPECT_EQ(world.Post(kPods, Pod("c")).status, 201);
}

TEST(QuotaAdmission, APodSaysWhatItTakesOfWhatIsLimited) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"limits.cpu":"4","requests.memory":"1Gi"})")).status,
            201);
  const Answer refused = world.Post(kPods, Pod("p"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(
      refused.text,
      HasSubstr("pods \\\"p\\\" is forbidden: failed quota: q: must specify limits.cpu for: "
                "a; requests.memory for: a"));
  // Limits are requests, too.
  EXPECT_EQ(
      world
          .Post(kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x",)"
                       R"("resources":{"limits":{"cpu":"1","memory":"1Mi"}}}]}})")
          .status,
      201);
  EXPECT_EQ(Used(world, "limits.cpu"), "1");
}

TEST(QuotaAdmission, ADryRunChargesNothing) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"pods":"1"})")).status, 201);
  EXPECT_EQ(world.Post(kPods + "?dryRun=All", Pod("p")).status, 201);
  EXPECT_EQ(Used(world, "pods"), "none");
  EXPECT_EQ(world.Post(kPods, Pod("p")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("q")).status, 403);
}

TEST(QuotaAdmission, ScopesCountSomePodsOnly) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"pods":"1"})", R"(,"scopes":["Terminating"])")).status,
            201);
  EXPECT_EQ(world.Post(kPods, Pod("a")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("b")).status, 201);
  EXPECT_EQ(Used(world, "pods"), "none");
  EXPECT_EQ(world.Post(kPods, Pod("c", R"(,"activeDeadlineSeconds":5)")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("d", R"(,"activeDeadlineSeconds":5)")).status, 403);
}

TEST(QuotaAdmission, APodThatComesIntoAScopeIsChargedThere) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"pods":"1"})", R"(,"scopes":["Terminating"])")).status,
            201);
  ASSERT_EQ(world.Post(kPods, Pod("a")).status, 201);
  ASSERT_EQ(world.Post(kPods, Pod("b")).status, 201);
  const auto limit = [&](const std::string& pod) {
    return world.Ask({.method = "PATCH",
                      .path = kPods + "/" + pod,
                      .body = R"({"spec":{"activeDeadlineSeconds":5}})",
                      .content_type = "application/merge-patch+json"});
  };
  EXPECT_EQ(limit("a").status, 200);
  EXPECT_EQ(Used(world, "pods"), "1");
  const Answer refused = limit("b");
  EXPECT_EQ(refused.status, 403) << refused.text;
}

// A pod that asks to be near pods of other namespaces can keep those from being scheduled; the scope
// with a limit of none is how that is forbidden.
TEST(QuotaAdmission, AffinityAcrossNamespacesCanBeForbidden) {
  World world;
  ASSERT_EQ(
      world.Post(kQuotas, Quota(R"({"pods":"0"})", R"(,"scopes":["CrossNamespacePodAffinity"])"))
          .status,
      201);
  const auto near = [](std::string_view term) {
    return fmt::format(
        R"(,"affinity":{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":)"
        R"([{{"topologyKey":"zone","labelSelector":{{"matchLabels":{{"a":"b"}}}}{}}}]}}}})",
        term);
  };
  EXPECT_EQ(world.Post(kPods, Pod("a")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("b", near(""))).status, 201);
  const Answer named = world.Post(kPods, Pod("c", near(R"(,"namespaces":["other"])")));
  EXPECT_EQ(named.status, 403) << named.text;
  EXPECT_THAT(named.text, HasSubstr("exceeded quota: q, requested: pods=1"));
  EXPECT_EQ(world.Post(kPods, Pod("d", near(R"(,"namespaceSelector":{})"))).status, 403);
}

TEST(QuotaAdmission, ObjectsOfEveryKindCanBeLimited) {
  World world;
  ASSERT_EQ(world
                .Post(kQuotas, Quota(R"({"count/deployments.apps":"1","resourcequotas":"1",)"
                                     R"("count/resourceclaimtemplates.resource.k8s.io":"0"})"))
                .status,
            201);
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const auto deployment = [](std::string_view name) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},)"
        R"("template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"a",)"
        R"("image":"x"}}]}}}}}}}})",
        name);
  };
  EXPECT_EQ(world.Post(deployments, deployment("one")).status, 201);
  EXPECT_EQ(Used(world, "count/deployments.apps"), "1");
  const Answer refused = world.Post(deployments, deployment("two"));
  EXPECT_EQ(refused.status, 403) << refused.text;
  EXPECT_THAT(refused.text,
              HasSubstr("deployments.apps \\\"two\\\" is forbidden: exceeded quota: q, requested: "
                        "count/deployments.apps=1, used: count/deployments.apps=1, limited: "
                        "count/deployments.apps=1"));
  EXPECT_EQ(world
                .Post("/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
                      R"({"metadata":{"name":"t"},"spec":{"spec":{"devices":{"requests":[)"
                      R"({"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}})")
                .status,
            403);
  const Answer second =
      world.Post(kQuotas, R"({"metadata":{"name":"r"},"spec":{"hard":{"pods":"1"}}})");
  EXPECT_EQ(second.status, 201) << second.text;  // none was there to count the first one
  EXPECT_EQ(world.Post(kQuotas, R"({"metadata":{"name":"s"},"spec":{"hard":{"pods":"1"}}})").status,
            403);
}

// The controller's sum of a quota's version is right because of this order.
TEST(QuotaAdmission, AWatchTellsTheObjectBeforeItsCharge) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"pods":"5"})")).status, 201);
  auto watch = world.store().WatchFrom("/registry/", world.store().revision(), [] {});
  ASSERT_TRUE(watch.ok());
  ASSERT_EQ(world.Post(kPods, Pod("a")).status, 201);
  const auto events = (*watch)->Next(10);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_THAT((*events)[0].entry->key, HasSubstr("pods"));
  EXPECT_THAT((*events)[1].entry->key, HasSubstr("resourcequotas"));
}

// Many creators at once: exactly as many get through as the quota has, and it says so.
// What is there when a quota comes, or comes to limit something more, counts from the first moment on,
// also where no controller has summed it up yet.
TEST(QuotaAdmission, WhatWasThereBeforeCounts) {
  World world;
  ASSERT_EQ(world.Post(kPods, Pod("a")).status, 201);
  ASSERT_EQ(world.Post(kClaims, Claim("a", 2)).status, 201);
  const Answer made = world.Post(kQuotas, Quota(R"({"pods":"2"})"));
  ASSERT_EQ(made.status, 201);
  EXPECT_EQ(Used(world, "pods"), "1");
  // Nobody manages it: it is the server's.
  EXPECT_THAT(made.text, Not(HasSubstr("f:status")));
  EXPECT_EQ(world.Post(kPods, Pod("b")).status, 201);
  EXPECT_EQ(world.Post(kPods, Pod("c")).status, 403);
  const auto limit = [&](std::string_view hard) {
    return world
        .Ask({.method = "PATCH",
              .path = kQuotas + "/q",
              .body = fmt::format(R"({{"spec":{{"hard":{}}}}})", hard),
              .content_type = "application/merge-patch+json"})
        .status;
  };
  ASSERT_EQ(limit(R"({"count/resourceclaims.resource.k8s.io":"2","pods":"3"})"), 200);
  EXPECT_EQ(Used(world, "pods"), "2");
  EXPECT_EQ(Used(world, "count/resourceclaims.resource.k8s.io"), "1");
  EXPECT_EQ(world.Post(kClaims, Claim("b", 1)).status, 201);
  EXPECT_EQ(world.Post(kClaims, Claim("c", 1)).status, 403);
  ASSERT_EQ(limit(R"({"gpu.deviceclass.resource.k8s.io/devices":"3"})"), 200);
  EXPECT_EQ(Used(world, "gpu.deviceclass.resource.k8s.io/devices"), "3");
}

const std::string kServices = "/api/v1/namespaces/default/services";
const std::string kVolumeClaims = "/api/v1/namespaces/default/persistentvolumeclaims";

std::string Service(std::string_view name, std::string_view type, std::string_view more = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"type":"{}","ports":)"
                     R"([{{"name":"a","port":80}},{{"name":"b","port":81}}]{}}}}})",
                     name, type, more);
}
std::string VolumeClaim(std::string_view name, std::string_view storage,
                        std::string_view more = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"accessModes":["ReadWriteOnce"],)"
                     R"("resources":{{"requests":{{"storage":"{}"}}}}{}}}}})",
                     name, storage, more);
}
int Patch(World& world, const std::string& path, std::string_view patch) {
  return world
      .Ask({.method = "PATCH",
            .path = path,
            .body = std::string(patch),
            .content_type = "application/merge-patch+json"})
      .status;
}

// A service can become one of another type later.
TEST(QuotaAdmission, ServicesTakePortsOnNodesAndLoadBalancers) {
  World world;
  ASSERT_EQ(world
                .Post(kQuotas, Quota(R"({"services.nodeports":"3","services.loadbalancers":"1",)"
                                     R"("services":"4"})"))
                .status,
            201);
  EXPECT_EQ(world.Post(kServices, Service("plain", "ClusterIP")).status, 201);
  EXPECT_EQ(world.Post(kServices, Service("a", "NodePort")).status, 201);
  EXPECT_EQ(Used(world, "services.nodeports"), "2");
  const Answer refused = world.Post(kServices, Service("b", "NodePort"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr("exceeded quota: q, requested: services.nodeports=2, used: "
                                      "services.nodeports=2, limited: services.nodeports=3"));
  EXPECT_EQ(Patch(world, kServices + "/plain", R"({"spec":{"type":"NodePort"}})"), 403);
  EXPECT_EQ(world
                .Post(kServices, Service("balanced", "LoadBalancer",
                                         R"(,"allocateLoadBalancerNodePorts":false)"))
                .status,
            201);
  EXPECT_EQ(Used(world, "services.loadbalancers"), "1");
  EXPECT_EQ(Used(world, "services.nodeports"), "2");
  EXPECT_EQ(Patch(world, kServices + "/a", R"({"spec":{"type":"LoadBalancer"}})"), 403);
  EXPECT_EQ(Patch(world, kServices + "/a", R"({"spec":{"type":"ClusterIP"}})"), 200);
  EXPECT_EQ(Used(world, "services.nodeports"), "0");
  EXPECT_EQ(Patch(world, kServices + "/plain", R"({"spec":{"type":"NodePort"}})"), 200);
  EXPECT_EQ(Used(world, "services"), "3");
}

TEST(QuotaAdmission, ClaimsForVolumesTakeStorageOfTheirClass) {
  World world;
  const std::string gold = "gold.storageclass.storage.k8s.io/requests.storage";
  ASSERT_EQ(world
                .Post(kQuotas, Quota(R"({"requests.storage":"10Gi","persistentvolumeclaims":"3",)"
                                     R"("gold.storageclass.storage.k8s.io/requests.storage":"4Gi",)"
                                     R"("gold.storageclass.storage.k8s.io/)"
                                     R"(persistentvolumeclaims":"1"})"))
                .status,
            201);
  const std::string of_gold = R"(,"storageClassName":"gold")";
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("a", "5Gi", of_gold)).status, 403);
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("a", "3Gi", of_gold)).status, 201);
  EXPECT_EQ(Used(world, gold), "3Gi");
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("b", "1Mi", of_gold)).status, 403);
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("b", "8Gi")).status, 403);
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("b", "6Gi")).status, 201);
  EXPECT_EQ(Used(world, "requests.storage"), "9Gi");
  // It grows.
  const auto grow = [&](std::string_view name, std::string_view to) {
    return Patch(
        world, fmt::format("{}/{}", kVolumeClaims, name),
        fmt::format(R"({{"spec":{{"resources":{{"requests":{{"storage":"{}"}}}}}}}})", to));
  };
  EXPECT_EQ(grow("b", "8Gi"), 403);
  EXPECT_EQ(grow("a", "5Gi"), 403);
  EXPECT_EQ(grow("b", "7Gi"), 200);
  EXPECT_EQ(Used(world, "requests.storage"), "10Gi");
}

TEST(QuotaAdmission, ClaimsForVolumesHaveAScopeOfTheirOwn) {
  World world;
  ASSERT_EQ(
      world
          .Post(kQuotas, Quota(R"({"persistentvolumeclaims":"1"})",
                               R"(,"scopeSelector":{"matchExpressions":[{"scopeName":)"
                               R"("VolumeAttributesClass","operator":"In","values":["fast"]}]})"))
          .status,
      201);
  const std::string fast = R"(,"volumeAttributesClassName":"fast")";
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("a", "1Gi")).status, 201);
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("b", "1Gi", fast)).status, 201);
  EXPECT_EQ(world.Post(kVolumeClaims, VolumeClaim("c", "1Gi", fast)).status, 403);
  EXPECT_EQ(Patch(world, kVolumeClaims + "/a", R"({"spec":{"volumeAttributesClassName":"fast"}})"),
            403);
  EXPECT_EQ(Used(world, "persistentvolumeclaims"), "1");
}

TEST(QuotaAdmission, HoldsUnderConcurrency) {
  World world;
  ASSERT_EQ(world.Post(kQuotas, Quota(R"({"pods":"20"})")).status, 201);
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 10; ++i) {
          const int status = world.Post(kPods, Pod(fmt::format("p-{}-{}", t, i))).status;
          (status == 201 ? made : refused) += 1;
          EXPECT_TRUE(status == 201 || status == 403) << status;
        }
      });
    }
  }
  EXPECT_EQ(made, 20);
  EXPECT_EQ(refused, 20);
  EXPECT_EQ(Used(world, "pods"), "20");
}

// On a disk: a creation does not wait until the one before it is durable, and nobody is told that
// others were in the way.
TEST(QuotaAdmission, CreationsAtOnceShareTheDisk) {
  constexpr int kRoom = 150;
  constexpr int kCreated = 200;
  const store::TempFolder folder;
  const base::SystemClock clock;
  base::SystemRandomSource random;
  std::atomic<int> commits = 0;
  auto store =
      *store::OpenSqliteStore({.path = folder.File("store.db"),
                               .on_commit = [&](const store::CommitReport&) { ++commits; }});
  Registry registry(*store, clock, random, {});
  const auto create = [&](api::Object object, Registry::Done done) {
    registry.Create(std::move(object), "default", {}, std::move(done));
  };
  const auto create_now = [&](api::Object object) {
    std::promise<Status> promise;
    create(std::move(object), [&](const auto& result) { promise.set_value(result.status()); });
    return promise.get_future().get();
  };
  api::Namespace space;
  space.metadata.name = "default";
  EXPECT_THAT(create_now(api::Object::Of(space)), dray::testing::IsOk());
  api::ResourceQuota quota;
  quota.metadata.name = "q";
  quota.spec.hard["pods"] = dray::testing::ToQuantity(std::to_string(kRoom));
  EXPECT_THAT(create_now(api::Object::Of(quota)), dray::testing::IsOk());
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  std::latch done(kCreated);
  for (int i = 0; i < kCreated; ++i) {
    api::Pod pod;
    pod.metadata.name = fmt::format("p-{}", i);
    pod.spec.containers.push_back({.name = "c", .image = "i"});
    create(api::Object::Of(pod), [&](const StatusOr<api::Object>& result) {
      const int code = result.ok() ? 201 : rest::FromStatus(result.status()).code;
      EXPECT_TRUE(code == 201 || code == 403) << result.status();
      (code == 201 ? made : refused) += 1;
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(made, kRoom);
  EXPECT_EQ(refused, kCreated - kRoom);
  EXPECT_LT(commits, kRoom / 2);
}

// A store that others write to, and in which something is under way that may never be done.
class StoreInDoubt final : public store::Store {
 public:
  void Commit(store::Transaction transaction, store::CommitFn done) override {
    store_->Commit(std::move(transaction), std::move(done));
  }
  store::EarlyWrites* early() const override { return nullptr; }
  void Current(store::ReadyFn ready) override { ready({}); }
  void WaitFor(store::Revision, store::ReadyFn ready) override { ready({}); }
  store::EntryPtr Find(std::string_view key) const override { return store_->Find(key); }
  store::EntryPtr FindPending(std::string_view key) const override {
    return pending != nullptr && pending->key == key ? pending : Find(key);
  }
  StatusOr<store::RangeResult> Range(std::string_view prefix,
                                     const store::RangeOptions& options) const override {
    return store_->Range(prefix, options);
  }
  StatusOr<std::unique_ptr<store::Watch>> WatchFrom(std::string_view prefix, store::Revision from,
                                                    std::function<void()> wake,
                                                    std::string_view topic) override {
    return store_->WatchFrom(prefix, from, std::move(wake), topic);
  }
  void SetTopics(std::string, store::TopicFn) override {}
  void Attach(const store::Entry&, std::shared_ptr<const void>) override {}
  store::Revision revision() const override { return store_->revision(); }
  store::Revision oldest_revision() const override { return store_->oldest_revision(); }
  Status Health() const override { return {}; }

  store::EntryPtr pending;

 private:
  std::unique_ptr<store::Store> store_ = store::MakeMemoryStore();
};

// The last place is taken by a write that is not done yet: nobody is refused for it, and should it never
// be done, whoever came after it has paid.
TEST(QuotaAdmission, WhatIsNotDoneYetNeitherRefusesNorPays) {
  StoreInDoubt store;
  const base::SystemClock clock;
  base::SystemRandomSource random;
  Registry registry(store, clock, random, {});
  const auto create = [&](api::Object object) {
    std::promise<Status> promise;
    registry.Create(std::move(object), "default", {},
                    [&](const auto& result) { promise.set_value(result.status()); });
    return promise.get_future().get();
  };
  api::Namespace space;
  space.metadata.name = "default";
  ASSERT_THAT(create(api::Object::Of(space)), dray::testing::IsOk());
  api::ResourceQuota quota;
  quota.metadata.name = "q";
  quota.spec.hard["pods"] = dray::testing::ToQuantity("1");
  ASSERT_THAT(create(api::Object::Of(quota)), dray::testing::IsOk());
  const auto found =
      *registry.objects().Find(api::HubKind(api::TypeInfoOf<api::ResourceQuota>()), "default", "q");
  api::Object full = found->object();
  full.Mutable<api::ResourceQuota>()->status.used["pods"] = dray::testing::ToQuantity("1");
  store::Transaction last;
  Objects::Put(last, std::move(full), std::nullopt);
  const std::string key = last.operations[0].key;
  const store::EntryPtr stored = store.Find(key);
  store.pending = std::make_shared<const store::Entry>(
      store::Entry{.key = key,
                   .value = last.operations[0].value,
                   .created = stored->created,
                   .modified = {stored->modified.value + 1'000'000}});
  api::Pod pod;
  pod.metadata.name = "p";
  pod.spec.containers.push_back({.name = "c", .image = "i"});
  ASSERT_THAT(create(api::Object::Of(pod)), dray::testing::IsOk());
  EXPECT_GT(store.Find(key)->modified, stored->modified);
  EXPECT_THAT(*store.Find(key)->value, HasSubstr(R"("used":{"pods":"1"})"));
  // What is there refuses.
  store.pending = nullptr;
  pod.metadata.name = "another";
  EXPECT_EQ(rest::FromStatus(create(api::Object::Of(pod))).code, 403);
}

TEST(AdminAccess, NeedsANamespaceThatAllowsIt) {
  World world;
  const std::string body =
      R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":)"
      R"({"deviceClassName":"gpu","adminAccess":true}}]}}})";
  const Answer refused = world.Post(kClaims, body);
  EXPECT_EQ(refused.status, 422) << refused.text;
  ASSERT_EQ(
      world
          .Ask({.method = "PATCH",
                .path = "/api/v1/namespaces/default",
                .body = R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})",
                .content_type = "application/merge-patch+json"})
          .status,
      200);
  EXPECT_EQ(world.Post(kClaims, body).status, 201);
}

}  // namespace
}  // namespace dray::registry
