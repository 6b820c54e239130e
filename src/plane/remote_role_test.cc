// SPDX-License-Identifier: Apache-2.0
//
// A scheduler whose role, or whose server, does not give it everything that it asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/priority_class.h"
#include "client/server_for_test.h"
#include "logs/output_for_test.h"
#include "plane/internal/server_gates.h"
#include "plane/plane_for_test.h"
#include "plane/remote_scheduler.h"
#include "rest/openapi.h"
#include "testing/status_matchers.h"

namespace dray::plane {
namespace {

using internal::FitGates;
using internal::FittedGates;
using internal::SkewOf;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;

std::string OpenApi() { return *rest::OpenApiV3Json("resource.k8s.io", "v1"); }

// As a server that has never heard of it.
std::string Without(std::string document, std::string_view field) {
  const std::string name = "\"" + std::string(field) + "\":";
  for (std::size_t at = document.find(name); at != std::string::npos;
       at = document.find(name, at)) {
    document.replace(at + 1, field.size(), "x" + std::string(field.substr(1)));
  }
  return document;
}

TEST(ServerGates, AServerThatKnowsEveryFieldChangesNothing) {
  const FittedGates fitted = FitGates({}, OpenApi());
  EXPECT_EQ(fitted.gates, api::FeatureGates());
  EXPECT_THAT(fitted.notes, IsEmpty());
}

TEST(ServerGates, WhatTheServerDoesNotKnowIsNotReliedOn) {
  std::string old = OpenApi();
  for (const char* field : {"firstAvailable"}) old = Without(std::move(old), field);
  const FittedGates fitted = FitGates({}, old);
  api::FeatureGates wanted;
  wanted.Set(api::Gate::kDRAPrioritizedList, false);
  EXPECT_EQ(fitted.gates, wanted);
  EXPECT_THAT(fitted.notes,
              ElementsAre(AllOf(HasSubstr("DRAPrioritizedList is off, because the API server has "
                                          "no field firstAvailable of DeviceRequest"),
                                HasSubstr("nothing is done about "))));
  EXPECT_THAT(fitted.gates.CheckDependencies(), IsOk());
}

TEST(ServerGates, WhatCannotBeReadChangesNothingAndIsTold) {
  for (const char* text : {"", "{", "{}", R"({"components":{"schemas":{}}})"}) {
    const FittedGates fitted = FitGates({}, text);
    EXPECT_EQ(fitted.gates, api::FeatureGates());
    EXPECT_THAT(fitted.notes, ElementsAre(HasSubstr("cannot be read")));
  }
}

TEST(ServerGates, AnotherVersionIsTold) {
  EXPECT_EQ(SkewOf("v1.34.0"), "");
  EXPECT_EQ(SkewOf("v1.38.0-alpha.1+x"), "");
  EXPECT_EQ(SkewOf("unknown"), "");
  EXPECT_THAT(SkewOf("v1.33.4"), HasSubstr("Kubernetes v1.33.4; this was made for 1.34 to 1.38"));
  EXPECT_NE(SkewOf("v1.39.0"), "");
}

class RoleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    api::Namespace system;
    system.metadata.name = "kube-system";
    Store(api::Object::Of(system));
    for (api::Object object : SmallCluster()) {
      if (auto* node = object.Mutable<api::Node>()) {
        node->status.allocatable["cpu"] = *base::Quantity::Parse("32");
        node->status.allocatable["pods"] = *base::Quantity::Parse("110");
      }
      Store(std::move(object));
    }
    server_.set_intercept([this](const apiserver::Request& request) { return Refuse(request); });
  }
  void Store(api::Object object) {
    const auto stored = server_.local().Create(std::move(object));
    EXPECT_THAT(stored, IsOk());
  }
  std::optional<apiserver::Response> Refuse(const apiserver::Request& request) {
    const std::string kind = forbidden_;
    if (kind.empty() || request.method != "GET" || !request.path.ends_with("/" + kind)) {
      return std::nullopt;
    }
    apiserver::Response response;
    response.status = 403;
    response.headers.Add("Content-Type", "application/json");
    response.body = std::make_shared<const std::string>(
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":)"
        R"("Forbidden","message":"User \"system:kube-scheduler\" cannot list resource"})");
    return response;
  }
  std::unique_ptr<RemoteScheduler> Schedule() {
    RemoteSchedulerOptions options;
    options.access = server_.Access();
    options.log = &log_;
    options.fit_gates = true;
    auto scheduler = RemoteScheduler::Start(std::move(options), clock_);
    EXPECT_THAT(scheduler, IsOk());
    return *std::move(scheduler);
  }
  std::string Add(const std::string& name) {
    api::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = name;
    pod.spec.containers.push_back({.name = "c", .image = "i"});
    Store(api::Object::Of(pod));
    return name;
  }
  bool Bound(const std::string& name) {
    const auto found =
        server_.local().Find(api::HubKind(api::TypeInfoOf<api::Pod>()), "default", name);
    return found.ok() && *found && !(*found)->As<api::Pod>()->spec.node_name.empty();
  }
  static bool Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  std::string Logged() {
    log_.Flush(std::chrono::seconds(5));
    return logged_;
  }

  const base::SystemClock clock_{};
  std::string logged_;
  logs::Log log_{{}, clock_, std::make_unique<logs::StringOutput>(logged_)};
  client::TestServer server_;
  std::string forbidden_;  // set before requests come
};

// Kubernetes's own role for its scheduler does not let it read priority classes.
TEST_F(RoleTest, WhatItCanDoWithoutIsToldAndTakenForEmpty) {
  for (const char* kind :
       {"priorityclasses", "devicetaintrules", "namespaces", "poddisruptionbudgets"}) {
    forbidden_ = kind;
    const auto scheduler = Schedule();
    const std::string pod = Add(std::string("without-") + kind);
    EXPECT_TRUE(Until([&] { return Bound(pod); })) << kind;
    EXPECT_THAT(scheduler->Connection(), IsOk());
    EXPECT_THAT(Logged(), AllOf(HasSubstr("A kind may not be read"), HasSubstr(kind),
                                HasSubstr("cannot list resource")));
  }
}

// By what it does not see it would give devices and nodes twice.
TEST_F(RoleTest, NothingIsDecidedWithoutNodesPodsAndClaims) {
  for (const char* kind : {"nodes", "pods", "resourceclaims"}) {
    forbidden_ = kind;
    const auto scheduler = Schedule();
    const std::string pod = Add(std::string("without-") + kind);
    EXPECT_TRUE(Until([&] { return !scheduler->Connection().ok(); })) << kind;
    EXPECT_THAT(std::string(base::Message(scheduler->Connection())),
                HasSubstr(std::string("cannot list ") + kind));
    EXPECT_FALSE(Bound(pod));
  }
}

// What a pod costs the API server.
class WritesTest : public RoleTest {
 protected:
  void SetUp() override {
    RoleTest::SetUp();
    server_.set_intercept([this](const apiserver::Request& request) { return Count(request); });
  }
  std::optional<apiserver::Response> Count(const apiserver::Request& request) {
    if (request.method == "GET" || request.path.find("/leases") != std::string::npos) {
      return std::nullopt;
    }
    // "PUT resourceclaims/status": the kind, and what of it.
    std::vector<std::string> parts;
    std::istringstream path(request.path);
    for (std::string part; std::getline(path, part, '/');) parts.push_back(part);
    const auto at = std::ranges::find(parts, "namespaces");
    std::string what = request.method;
    if (at != parts.end() && parts.end() - at > 2) what += " " + *(at + 2);
    if (at != parts.end() && parts.end() - at > 4) what += "/" + *(at + 4);
    const base::MutexLock lock(mutex_);
    ++writes_[what];
    return std::nullopt;
  }
  std::map<std::string, int> Writes() {
    const base::MutexLock lock(mutex_);
    return std::exchange(writes_, {});
  }
  // So many pods, one after the other, and what they took.
  std::map<std::string, int> RunPods(const std::function<void(const std::string&)>& add) {
    const auto scheduler = Schedule();
    EXPECT_TRUE(Until([&] { return scheduler->leading(); }));
    // Of who leads there is one event.
    EXPECT_TRUE(Until([&] { return Writes().contains("POST events"); }));
    for (int i = 0; i < kPods; ++i) {
      const std::string name = "p" + std::to_string(i);
      add(name);
      EXPECT_TRUE(Until([&] { return Bound(name); })) << name;
    }
    int events = 0;
    std::map<std::string, int> all;
    EXPECT_TRUE(Until([&] {
      for (const auto& [what, count] : Writes()) all[what] += count;
      events = all["POST events"];
      return events >= kPods;
    }));
    return all;
  }

  static constexpr int kPods = 6;
  base::Mutex mutex_;
  std::map<std::string, int> writes_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(WritesTest, APodWithAClaimTakesFour) {
  const auto writes = RunPods([&](const std::string& name) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "default";
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu.example.com";
    Store(api::Object::Of(claim));
    api::Pod pod = PodFromTemplate(name);
    pod.spec.resource_claims = {{.name = "gpu", .resource_claim_name = name}};
    Store(api::Object::Of(pod));
  });
  const std::map<std::string, int> expected = {{"PUT resourceclaims", kPods},
                                               {"PUT resourceclaims/status", kPods},
                                               {"POST pods/binding", kPods},
                                               {"POST events", kPods}};
  EXPECT_EQ(writes, expected);
}

TEST_F(WritesTest, APodWithExtendedResourcesTakesFive) {
  api::DeviceClass fpga;
  fpga.metadata.name = "fpga";
  fpga.spec.extended_resource_name = "example.com/fpga";
  Store(api::Object::Of(fpga));
  const auto writes = RunPods([&](const std::string& name) {
    api::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = name;
    api::Container& container = pod.spec.containers.emplace_back();
    container.name = "c";
    container.image = "i";
    container.resources.requests["example.com/fpga"] = *base::Quantity::Parse("1");
    container.resources.limits["example.com/fpga"] = *base::Quantity::Parse("1");
    Store(api::Object::Of(pod));
  });
  const std::map<std::string, int> expected = {{"POST resourceclaims", kPods},
                                               {"PUT resourceclaims/status", kPods},
                                               {"PUT pods/status", kPods},
                                               {"POST pods/binding", kPods},
                                               {"POST events", kPods}};
  EXPECT_EQ(writes, expected);
}

// It waits, and says so once, however often it is tried.
TEST_F(WritesTest, APodThatWaitsIsToldOnce) {
  const auto scheduler = Schedule();
  ASSERT_TRUE(Until([&] { return scheduler->leading(); }));
  ASSERT_TRUE(Until([&] { return Writes().contains("POST events"); }));
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = "waits";
  pod.spec.containers.push_back({.name = "c", .image = "i"});
  pod.spec.node_selector["nowhere"] = "true";
  Store(api::Object::Of(pod));
  std::map<std::string, int> all;
  ASSERT_TRUE(Until([&] {
    for (const auto& [what, count] : Writes()) all[what] += count;
    return all.contains("POST events") && all.contains("PUT pods/status");
  }));
  // Changes that do not help it make it be tried again, and nothing new be written.
  const std::uint64_t before = scheduler->statistics().attempts;
  for (int i = 0; i < 3; ++i) {
    api::Node node;
    node.metadata.name = "new-" + std::to_string(i);
    node.status.allocatable["cpu"] = *base::Quantity::Parse("1");
    node.status.allocatable["pods"] = *base::Quantity::Parse("1");
    node.spec.unschedulable = true;
    Store(api::Object::Of(node));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const auto& [what, count] : Writes()) all[what] += count;
  EXPECT_LE(all["PUT pods/status"],
            1 + static_cast<int>(scheduler->statistics().attempts - before));
  EXPECT_EQ(all.count("POST pods/binding"), 0u);
}

}  // namespace
}  // namespace dray::plane
