// SPDX-License-Identifier: Apache-2.0
//
// The port of a scheduler that runs by itself: what it shows, to whom.
#include "plane/internal/process_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plane/plane_for_test.h"
#include "plane/remote_scheduler.h"
#include "testing/status_matchers.h"

namespace dray::plane {
namespace {

using internal::ProcessDoor;
using internal::Reviews;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

// An API server that knows two tokens, and that ann may read /metrics.
class Reviewer final : public client::HttpClient {
 public:
  StatusOr<client::HttpResponse> Send(const client::HttpRequest& request) override {
    const base::MutexLock lock(mutex_);
    asked_.push_back(request.target);
    if (away) return base::Unavailable("away");
    if (request.target.find("configmaps") != std::string::npos) {
      return client::HttpResponse{.status = 403, .body = "{}"};
    }
    if (request.target == "/apis/authentication.k8s.io/v1/tokenreviews") {
      if (request.body.find(R"("token":"anns")") != std::string::npos) {
        return client::HttpResponse{
            .status = 201,
            .body = R"({"status":{"authenticated":true,"user":{"username":"ann","uid":"7",
                        "groups":["ops"],"extra":{"a":["b"]}}}})"};
      }
      if (request.body.find(R"("token":"bobs")") != std::string::npos) {
        return client::HttpResponse{
            .status = 201,
            .body = R"({"status":{"authenticated":true,"user":{"username":"bob"}}})"};
      }
      return client::HttpResponse{.status = 201, .body = R"({"status":{"error":"no"}})"};
    }
    body_ = request.body;
    const bool allowed = request.body.find(R"("user":"ann")") != std::string::npos;
    return client::HttpResponse{.status = 201,
                                .body = allowed
                                            ? R"({"status":{"allowed":true}})"
                                            : R"({"status":{"allowed":false,"reason":"no role"}})"};
  }
  StatusOr<std::shared_ptr<client::LineStream>> Open(const client::HttpRequest&,
                                                     std::chrono::milliseconds,
                                                     std::chrono::milliseconds) override {
    return base::Unavailable("no streams");
  }
  void Close() override {}

  std::vector<std::string> Asked() {
    const base::MutexLock lock(mutex_);
    return std::exchange(asked_, {});
  }
  std::string body() {
    const base::MutexLock lock(mutex_);
    return body_;
  }
  std::atomic<bool> away = false;

 private:
  base::Mutex mutex_;
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  std::string body_ ABSL_GUARDED_BY(mutex_);
};

TEST(ReviewsTest, AnAnswerHoldsForAWhile) {
  Reviewer server;
  base::ManualClock clock;
  Reviews reviews(server, server, clock, {.token = std::chrono::seconds(5)});
  const auto ann = reviews.WhoHas("anns");
  ASSERT_THAT(ann, IsOk());
  EXPECT_EQ(ann->name, "ann");
  EXPECT_THAT(ann->groups, ElementsAre("ops"));
  EXPECT_EQ(ann->uid, "7");
  EXPECT_THAT(reviews.WhoHas("nobodys"),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("token")));
  EXPECT_EQ(server.Asked().size(), 2u);
  EXPECT_THAT(reviews.WhoHas("anns"), IsOk());
  EXPECT_FALSE(reviews.WhoHas("nobodys").ok());
  EXPECT_THAT(server.Asked(), IsEmpty());
  clock.Advance(std::chrono::seconds(5));
  EXPECT_THAT(reviews.WhoHas("anns"), IsOk());
  EXPECT_EQ(server.Asked().size(), 1u);

  EXPECT_THAT(reviews.May(*ann, "get", "/metrics"), IsOk());
  EXPECT_THAT(server.body(),
              AllOf(HasSubstr(R"("groups":["ops"])"), HasSubstr(R"("extra":{"a":["b"]})"),
                    HasSubstr(R"("nonResourceAttributes":{"path":"/metrics","verb":"get"})")));
  EXPECT_THAT(reviews.May({.name = "bob"}, "get", "/metrics"),
              StatusIs(StatusCode::kPermissionDenied,
                       "forbidden: User \"bob\" cannot get path \"/metrics\": no role"));
  EXPECT_EQ(server.Asked().size(), 2u);
  EXPECT_THAT(reviews.May(*ann, "get", "/metrics"), IsOk());
  EXPECT_THAT(server.Asked(), IsEmpty());
}

TEST(ReviewsTest, WhatCouldNotBeAskedIsAskedAgain) {
  Reviewer server;
  base::ManualClock clock;
  Reviews reviews(server, server, clock, {});
  server.away = true;
  EXPECT_THAT(reviews.WhoHas("anns"), StatusIs(StatusCode::kUnavailable, HasSubstr("away")));
  EXPECT_THAT(reviews.May({.name = "ann"}, "get", "/metrics"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("away")));
  server.away = false;
  EXPECT_THAT(reviews.WhoHas("anns"), IsOk());
  EXPECT_THAT(reviews.May({.name = "ann"}, "get", "/metrics"), IsOk());
}

class ProcessDoorTest : public ::testing::Test {
 protected:
  void Start(ServingOptions options = {}) {
    options.address = "127.0.0.1";
    options.port = 0;
    registry_.Gauges({"something", "Of ours.", {}}).With({}).Set(1);
    auto door = ProcessDoor::Start(
        options, {.health = &health_, .metrics = &registry_, .config = R"({"a":1})"}, server_,
        server_, clock_, {});
    ASSERT_THAT(door, IsOk());
    door_ = *std::move(door);
  }
  client::HttpResponse Get(const std::string& path, const std::string& token = "") {
    auto http = client::HttpClient::Create({.url = door_->url(), .insecure = true, .token = token});
    EXPECT_THAT(http, IsOk());
    auto response = (*http)->Send({.target = path});
    EXPECT_THAT(response, IsOk());
    return response.ok() ? *response : client::HttpResponse();
  }

  base::ManualClock clock_{base::SystemClock().Now()};
  Reviewer server_;
  metrics::Registry registry_;
  std::atomic<bool> well_ = true;
  const registry::Health health_{
      {{.name = "ping", .check = [] { return Status(); }},
       {.name = "sync",
        .check = [this] { return well_ ? Status() : base::Unavailable("not yet"); },
        .only_ready = true}}};
  std::unique_ptr<ProcessDoor> door_;
};

TEST_F(ProcessDoorTest, HealthIsForAnybody) {
  Start();
  static_cast<void>(server_.Asked());
  for (const char* path : {"/healthz", "/livez", "/readyz"}) {
    const client::HttpResponse response = Get(path);
    EXPECT_EQ(response.status, 200) << path;
    EXPECT_EQ(response.body, "ok");
  }
  well_ = false;
  EXPECT_EQ(Get("/readyz").status, 500);
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_THAT(server_.Asked(), IsEmpty());
  // A single check tells why, and that is not for anybody.
  EXPECT_EQ(Get("/readyz/sync").status, 403);
  EXPECT_THAT(Get("/readyz/sync", "anns").body, HasSubstr("not yet"));
}

TEST_F(ProcessDoorTest, TheApiServerSaysWhoMayReadTheRest) {
  Start();
  EXPECT_EQ(Get("/metrics").status, 403);
  EXPECT_THAT(Get("/metrics").body,
              AllOf(HasSubstr(R"("kind":"Status")"), HasSubstr("system:anonymous")));
  EXPECT_EQ(Get("/metrics", "bobs").status, 403);
  EXPECT_EQ(Get("/metrics", "nobodys").status, 401);
  const client::HttpResponse metrics = Get("/metrics", "anns");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_THAT(metrics.body, HasSubstr("something 1"));
  EXPECT_EQ(Get("/configz", "anns").body, R"({"a":1})");
  EXPECT_EQ(Get("/elsewhere", "anns").status, 404);
}

TEST_F(ProcessDoorTest, WhoCannotAskLetsNobodyIn) {
  Start();
  server_.away = true;
  EXPECT_EQ(Get("/metrics", "anns").status, 401);
  EXPECT_EQ(Get("/metrics").status, 500);
  EXPECT_EQ(Get("/livez").status, 200);
}

TEST_F(ProcessDoorTest, PathsCanBeOpenedToAnybody) {
  Start({.always_allow = {"/metrics", "/readyz*"}});
  EXPECT_EQ(Get("/metrics").status, 200);
  EXPECT_EQ(Get("/readyz/sync").status, 200);
  EXPECT_EQ(Get("/livez").status, 403);
}

TEST_F(ProcessDoorTest, ItsCertificateCanBeGiven) {
  const auto authority = *apiserver::MakeAuthority("mine", clock_.Now(), std::chrono::hours(24));
  const auto pair = *apiserver::MakeCertificate(authority,
                                                {.use = apiserver::CertificateSpec::Use::kServer,
                                                 .common_name = "scheduler",
                                                 .hosts = {"127.0.0.1"}},
                                                clock_.Now());
  Start({.certificate = pair});
  auto http = client::HttpClient::Create({.url = door_->url(), .authority = authority.certificate});
  ASSERT_THAT(http, IsOk());
  const auto response = (*http)->Send({.target = "/livez"});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->status, 200);
}

// Certificates are short-lived and renewed in their files; whoever comes after that sees the new one.
TEST_F(ProcessDoorTest, ItsCertificateIsReadAgain) {
  const auto make = [&](const apiserver::KeyPair& authority) {
    return *apiserver::MakeCertificate(authority,
                                       {.use = apiserver::CertificateSpec::Use::kServer,
                                        .common_name = "scheduler",
                                        .hosts = {"127.0.0.1"}},
                                       clock_.Now());
  };
  const auto first = *apiserver::MakeAuthority("first", clock_.Now(), std::chrono::hours(24));
  const auto second = *apiserver::MakeAuthority("second", clock_.Now(), std::chrono::hours(24));
  const auto trusts = [&](const apiserver::KeyPair& authority) {
    auto http =
        client::HttpClient::Create({.url = door_->url(), .authority = authority.certificate});
    return (*http)->Send({.target = "/livez"}).ok();
  };
  const auto soon = [&](const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return done();
  };
  base::Mutex mutex;
  StatusOr<apiserver::KeyPair> file = make(first);
  int read = 0;
  const auto put = [&](StatusOr<apiserver::KeyPair> content) {
    const base::MutexLock lock(mutex);
    file = std::move(content);
    read = 0;
  };
  const auto looked_at = [&] {
    const base::MutexLock lock(mutex);
    return read >= 2;
  };
  Start({.certificate = *file,
         .reload =
             [&] {
               const base::MutexLock lock(mutex);
               ++read;
               return file;
             },
         .reload_every = std::chrono::milliseconds(5)});
  EXPECT_TRUE(trusts(first));
  EXPECT_FALSE(trusts(second));
  put(make(second));
  EXPECT_TRUE(soon([&] { return trusts(second); }));
  EXPECT_FALSE(trusts(first));
  // A key that does not fit, between two writes, and a file that is gone: it stays as it was.
  apiserver::KeyPair torn = make(first);
  torn.key = make(first).key;
  put(torn);
  EXPECT_TRUE(soon(looked_at));
  EXPECT_TRUE(trusts(second));
  put(base::Unavailable("gone"));
  EXPECT_TRUE(soon(looked_at));
  EXPECT_TRUE(trusts(second));
  put(make(first));
  EXPECT_TRUE(soon([&] { return trusts(first); }));
  // It reads until its end.
  door_ = nullptr;
}

// With a control plane and a scheduler that is not in it.
class ServingSchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override { plane_.StartWith({.scheduler = false, .objects = SmallCluster()}); }
  std::unique_ptr<RemoteScheduler> Schedule(RemoteSchedulerOptions options = {}) {
    auto access = client::LoadAccess({.kubeconfig = plane_.folder() + "/scheduler.kubeconfig"});
    EXPECT_THAT(access, IsOk());
    options.access = *std::move(access);
    options.serving.emplace();
    options.serving->address = "127.0.0.1";
    options.serving->port = 0;
    options.serving->always_allow.push_back("/metrics");
    options.serving->always_allow.push_back("/configz");
    auto scheduler = RemoteScheduler::Start(std::move(options), clock_);
    EXPECT_THAT(scheduler, IsOk());
    return *std::move(scheduler);
  }
  static client::HttpResponse Get(const RemoteScheduler& scheduler, const std::string& path) {
    auto http = client::HttpClient::Create({.url = scheduler.serving(), .insecure = true});
    EXPECT_THAT(http, IsOk());
    auto response = (*http)->Send({.target = path});
    EXPECT_THAT(response, IsOk());
    return response.ok() ? *response : client::HttpResponse();
  }

  const base::SystemClock clock_{};
  TestPlane plane_;
};

TEST_F(ServingSchedulerTest, TellsHowItIsAndWhatItDoes) {
  RemoteSchedulerOptions options;
  options.config.profiles.front().scheduler_name = "gpus";
  options.config.profiles.push_back({.scheduler_name = "others"});
  const auto scheduler = Schedule(std::move(options));
  EXPECT_EQ(scheduler->lease(), "kube-system/gpus");
  ASSERT_TRUE(plane_.Until([&] { return scheduler->leading(); }));
  // Each of its profiles has its pods.
  for (const char* name : {"gpus", "others"}) {
    api::Pod pod = PodFromTemplate(name);
    pod.spec.scheduler_name = name;
    plane_.Create(pod);
    ASSERT_TRUE(plane_.Await(name, api::kPodRunning)) << name;
  }
  EXPECT_TRUE(plane_.Until([&] { return Get(*scheduler, "/readyz").status == 200; }));
  EXPECT_EQ(Get(*scheduler, "/livez").body, "ok");
  EXPECT_TRUE(plane_.Until([&] {
    return Get(*scheduler, "/metrics")
               .body.find(
                   R"(scheduler_schedule_attempts_total{result="scheduled",profile="others"} 1)") !=
           std::string::npos;
  })) << Get(*scheduler, "/metrics").body;
  EXPECT_THAT(Get(*scheduler, "/metrics").body,
              AllOf(HasSubstr(R"(leader_election_master_status{name="gpus"} 1)"),
                    HasSubstr(R"(rest_client_requests_total{code="201",host="127.0.0.1:)"),
                    HasSubstr("process_cpu_seconds_total")));
  EXPECT_THAT(Get(*scheduler, "/configz").body,
              AllOf(HasSubstr(R"({"componentconfig":{"apiVersion":"kubescheduler)"),
                    HasSubstr(R"("resourceName":"gpus")")));
  EXPECT_TRUE(plane_.AwaitEvent("gpus", "LeaderElection"));
}

// Who waits for the lease is as ready as who has it.
TEST_F(ServingSchedulerTest, WhoWaitsIsReady) {
  const auto first = Schedule(RemoteSchedulerOptions{{.identity = "first"}});
  ASSERT_TRUE(plane_.Until([&] { return first->leading(); }));
  const auto second = Schedule(RemoteSchedulerOptions{{.identity = "second"}});
  ASSERT_TRUE(plane_.Until([&] { return second->leader() == "first"; }));
  EXPECT_EQ(Get(*second, "/readyz").status, 200);
  EXPECT_THAT(Get(*second, "/metrics").body,
              HasSubstr(R"(leader_election_master_status{name="default-scheduler"} 0)"));
}

// kube-scheduler beside it goes on as if it were not there.
TEST_F(ServingSchedulerTest, TheLeaseOfKubeSchedulerIsLeftAlone) {
  const auto scheduler = Schedule();
  ASSERT_TRUE(plane_.Until([&] { return scheduler->leading(); }));
  std::vector<std::string> names;
  for (const api::Lease& lease : plane_.All<api::Lease>()) {
    if (lease.metadata.namespace_ == "kube-system") names.push_back(lease.metadata.name);
  }
  // The controllers of the server have one, too.
  EXPECT_THAT(names, ElementsAre("default-scheduler", "dray-controllers"));
}

TEST(SchedulerLease, ANameThatNoLeaseCanHaveIsTold) {
  const base::SystemClock clock;
  RemoteSchedulerOptions options;
  options.access.url = "https://127.0.0.1:1";
  options.config.profiles.front().scheduler_name = "My Scheduler";
  EXPECT_THAT(RemoteScheduler::Start(std::move(options), clock),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"My Scheduler\" cannot be")));
}

}  // namespace
}  // namespace dray::plane
