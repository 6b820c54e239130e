// SPDX-License-Identifier: Apache-2.0
//
// What a scheduler asks of the server for a pod, counted at the server: each request of each kind is pinned here, so
// that one more is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "api/resource_claim.h"
#include "base/mutex.h"
#include "client/server_for_test.h"
#include "plane/plane_for_test.h"
#include "plane/remote_scheduler.h"

namespace dray::plane {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

class RequestsTest : public ::testing::Test {
 protected:
  RequestsTest() {
    server_.set_intercept([this](const apiserver::Request& request) {
      Count(request);
      return std::nullopt;
    });
    for (api::Object& object : SmallCluster()) {
      if (auto* node = object.Mutable<api::Node>()) {
        node->status.allocatable["pods"] = *base::Quantity::Parse("110");
        node->status.allocatable["cpu"] = *base::Quantity::Parse("8");
      }
      if (auto* gpus = object.Mutable<api::DeviceClass>()) {
        gpus->spec.extended_resource_name = "example.com/gpu";
      }
      Store(std::move(object));
    }
  }
  void Store(api::Object object) {
    const auto stored = server_.local().Create(std::move(object));
    EXPECT_TRUE(stored.ok()) << stored.status();
  }
  void AddClaim(const std::string& name) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "default";
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu.example.com";
    Store(api::Object::Of(claim));
  }
  static api::Pod PodWith(const std::string& name, const std::string& claim) {
    api::Pod pod = PodFromTemplate(name);
    pod.spec.resource_claims.clear();
    if (!claim.empty()) pod.spec.resource_claims = {{.name = "gpu", .resource_claim_name = claim}};
    return pod;
  }
  void AddPod(const std::string& name, const std::string& claim) {
    Store(api::Object::Of(PodWith(name, claim)));
  }
  void Schedule() {
    RemoteSchedulerOptions options;
    options.leader_elect = false;
    options.access = server_.Access();
    auto scheduler = RemoteScheduler::Start(std::move(options), clock_);
    ASSERT_TRUE(scheduler.ok()) << scheduler.status();
    scheduler_ = *std::move(scheduler);
    ASSERT_TRUE(Until([&] { return scheduler_->Connection().ok() && watches_ >= 8; }));
  }
  // Ends it, so that what it has to tell is told.
  void End() { scheduler_ = nullptr; }

  static bool Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + seconds(30);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }
  bool Bound(const std::string& pod) {
    const auto& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
    return !(**server_.local().Find(kind, "default", pod)).As<api::Pod>()->spec.node_name.empty();
  }
  // Until the scheduler, too, knows that they are: then it has told.
  bool AwaitBound(int pods) {
    return Until([&] {
      for (int i = 0; i < pods; ++i) {
        if (!Bound("p" + std::to_string(i))) return false;
      }
      return scheduler_->statistics().bound >= static_cast<std::uint64_t>(pods);
    });
  }
  // Requests so far that are not of the beginning: "PUT resourceclaims/status" and how many.
  std::map<std::string, int> Requests() {
    const base::MutexLock lock(mutex_);
    return requests_;
  }

  const base::SystemClock clock_{};

 private:
  void Count(const apiserver::Request& request) {
    if (request.query.find("watch=true") != std::string::npos) {
      ++watches_;
      return;
    }
    // /api/v1/namespaces/NS/KIND/NAME/SUB or /apis/GROUP/VERSION/...
    std::string_view rest = request.path;
    const std::size_t at = rest.find("/namespaces/default/");
    if (at == rest.npos) return;  // lists of all, the version, what the server can
    rest.remove_prefix(at + std::string_view("/namespaces/default/").size());
    std::string kind(rest.substr(0, rest.find('/')));
    const std::size_t name = rest.find('/');
    const std::size_t sub = name == rest.npos ? rest.npos : rest.find('/', name + 1);
    if (sub != rest.npos) kind += rest.substr(sub);
    const base::MutexLock lock(mutex_);
    ++requests_[request.method + " " + kind];
  }

  base::Mutex mutex_;
  std::map<std::string, int> requests_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> watches_ = 0;

 protected:
  client::TestServer server_;
  std::unique_ptr<RemoteScheduler> scheduler_;
};

// As kube-scheduler. A finalizer and an allocation cannot be one: an update of the object keeps the status as it is,
// one of the status keeps the finalizers.
TEST_F(RequestsTest, APodWithAClaimTakesFour) {
  Schedule();
  for (int i = 0; i < 6; ++i) {
    const std::string name = std::to_string(i);
    AddClaim("c" + name);
    AddPod("p" + name, "c" + name);
  }
  ASSERT_TRUE(AwaitBound(6));
  End();
  EXPECT_THAT(Requests(),
              ElementsAre(Pair("POST events", 6), Pair("POST pods/binding", 6),
                          Pair("PUT resourceclaims", 6), Pair("PUT resourceclaims/status", 6)));
}

TEST_F(RequestsTest, APodWhoseClaimIsAllocatedTakesThree) {
  Schedule();
  AddClaim("c");
  for (int i = 0; i < 4; ++i) {
    AddPod("p" + std::to_string(i), "c");
    ASSERT_TRUE(AwaitBound(i + 1));
  }
  End();
  EXPECT_THAT(Requests(),
              ElementsAre(Pair("POST events", 4), Pair("POST pods/binding", 4),
                          Pair("PUT resourceclaims", 1), Pair("PUT resourceclaims/status", 4)));
}

TEST_F(RequestsTest, APodWithoutClaimsTakesTwo) {
  Schedule();
  for (int i = 0; i < 6; ++i) AddPod("p" + std::to_string(i), "");
  ASSERT_TRUE(AwaitBound(6));
  End();
  EXPECT_THAT(Requests(), ElementsAre(Pair("POST events", 6), Pair("POST pods/binding", 6)));
}

// The special claim is made with its finalizer.
TEST_F(RequestsTest, APodWithExtendedResourcesTakesFive) {
  Schedule();
  for (int i = 0; i < 4; ++i) {
    api::Pod pod = PodWith("p" + std::to_string(i), "");
    auto& resources = pod.spec.containers[0].resources;
    resources.requests["example.com/gpu"] = *base::Quantity::Parse("1");
    resources.limits["example.com/gpu"] = *base::Quantity::Parse("1");
    Store(api::Object::Of(pod));
  }
  ASSERT_TRUE(AwaitBound(4));
  End();
  EXPECT_THAT(Requests(), ElementsAre(Pair("POST events", 4), Pair("POST pods/binding", 4),
                                      Pair("POST resourceclaims", 4), Pair("PUT pods/status", 4),
                                      Pair("PUT resourceclaims/status", 4)));
}

// Its condition and an event; and once that is said, nothing.
TEST_F(RequestsTest, APodThatHasToWaitTakesTwo) {
  Schedule();
  api::Pod pod = PodWith("big", "");
  pod.spec.containers[0].resources.requests["cpu"] = *base::Quantity::Parse("64");
  Store(api::Object::Of(pod));
  ASSERT_TRUE(Until([&] { return Requests().contains("PUT pods/status"); }));
  ASSERT_TRUE(Until([&] { return Requests().contains("POST events"); }));
  // Whoever begins anew tells in an event what the pod's status says already.
  End();
  EXPECT_THAT(Requests(), ElementsAre(Pair("POST events", 1), Pair("PUT pods/status", 1)));
  Schedule();
  ASSERT_TRUE(Until([&] { return Requests()["POST events"] == 2; }));
  End();
  EXPECT_THAT(Requests(), ElementsAre(Pair("POST events", 2), Pair("PUT pods/status", 1)));
}

}  // namespace
}  // namespace dray::plane
