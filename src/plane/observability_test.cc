// SPDX-License-Identifier: Apache-2.0
//
// What a control plane says of itself: logs, the audit log, health.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/http_client.h"
#include "client/kubeconfig.h"
#include "fmt/format.h"
#include "logs/output_for_test.h"
#include "plane/internal/commit_watch.h"
#include "plane/internal/loop.h"
#include "plane/internal/slow_decisions.h"
#include "plane/plane_for_test.h"
#include "store/memory/memory_store.h"

namespace dray::plane {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class LogTest : public ::testing::Test {
 protected:
  std::string Text() {
    EXPECT_TRUE(log_.Flush(30s));
    return std::exchange(text_, {});
  }

  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  std::string text_;
  logs::Log log_{{}, clock_, std::make_unique<logs::StringOutput>(text_)};
};

using CommitWatchTest = LogTest;
TEST_F(CommitWatchTest, ASlowCommitIsHeldAgainstTheDiskForTenSeconds) {
  internal::CommitWatch watch(clock_, log_.For("store"), 1s);
  EXPECT_TRUE(watch.Health().ok());
  watch.OnCommit({.transactions = 1, .changes = 1, .wrote = 10ms});
  EXPECT_TRUE(watch.Health().ok());
  EXPECT_EQ(watch.Longest(), 10ms);
  EXPECT_EQ(Text(), "");
  watch.OnCommit({.transactions = 17, .changes = 20, .wrote = 2500ms, .waiting = 3});
  EXPECT_EQ(Text(),
            "W0115 08:00:00.000000       0 store] \"Slow disk: a commit took long\" took=\"2.5s\" "
            "transactions=17 changes=20 waiting=3\n");
  clock_.Advance(9s);
  watch.OnCommit({.transactions = 1, .changes = 1, .wrote = 20ms});
  EXPECT_EQ(std::string(base::Message(watch.Health())),
            "the disk is slow: a commit of the last 10 seconds took 2.5s; all writes wait for it");
  clock_.Advance(1s);
  EXPECT_TRUE(watch.Health().ok());
  EXPECT_EQ(watch.Longest(), 20ms);
}

TEST_F(CommitWatchTest, ACommitThatDoesNotComeBackIsSeenMeanwhile) {
  internal::CommitWatch watch(clock_, log_.For("store"), 1s);
  watch.OnBegin();
  EXPECT_TRUE(watch.Health().ok());
  clock_.Advance(60s);
  EXPECT_EQ(watch.Longest(), 60s);
  EXPECT_FALSE(watch.Health().ok());
  watch.OnCommit({.transactions = 1, .changes = 1, .wrote = 60s});
  EXPECT_FALSE(watch.Health().ok());
  clock_.Advance(10s);
  EXPECT_TRUE(watch.Health().ok());
}

// Reads are answered all the same, so that nothing else would show it.
TEST_F(CommitWatchTest, ADiskThatTakesNothingIsToldUntilItDoes) {
  internal::CommitWatch watch(clock_, log_.For("store"), 0s);
  watch.OnCommit({.ok = false, .transactions = 2, .wrote = 1ms});
  EXPECT_EQ(std::string(base::Message(watch.Health())),
            "the disk did not take the last commit: it is full, or fails. Writes are refused");
  watch.OnCommit({.ok = false, .transactions = 1, .wrote = 1ms});
  EXPECT_EQ(Text(),
            "W0115 08:00:00.000000       0 store] \"A commit failed: writes are refused\" "
            "transactions=2\n");
  clock_.Advance(60s);
  EXPECT_FALSE(watch.Health().ok());
  watch.OnCommit({.transactions = 1, .wrote = 1ms});
  EXPECT_TRUE(watch.Health().ok());
}

TEST_F(CommitWatchTest, WhatIsSlowIsForTheOperatorToSay) {
  internal::CommitWatch strict(clock_, log_.For("store"), 20ms);
  internal::CommitWatch patient(clock_, log_.For("store"), 0s);
  for (internal::CommitWatch* watch : {&strict, &patient}) {
    watch->OnCommit({.transactions = 1, .changes = 1, .wrote = 20ms});
  }
  EXPECT_FALSE(strict.Health().ok());
  EXPECT_THAT(Text(), HasSubstr("Slow disk"));
  patient.OnCommit({.transactions = 1, .changes = 1, .wrote = 60s});
  EXPECT_TRUE(patient.Health().ok());
  EXPECT_EQ(Text(), "");
}

// Waits as long as it is told to.
class Stuck final : public internal::Worker {
 public:
  explicit Stuck(std::shared_future<void> go, std::promise<void>& began)
      : go_(std::move(go)), began_(began) {}
  bool Work() override {
    if (!std::exchange(told_, true)) began_.set_value();
    go_.wait();
    return false;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override { return std::nullopt; }

 private:
  std::shared_future<void> go_;
  std::promise<void>& began_;
  bool told_ = false;
};

TEST(LoopAge, IsThatOfThePieceOfWorkUnderWay) {
  const auto store = store::MakeMemoryStore();
  base::ManualClock clock;
  std::promise<void> go;
  std::promise<void> began;
  const internal::Loop loop(*store, clock, [&](const auto& /*ring*/) {
    return std::make_unique<Stuck>(go.get_future().share(), began);
  });
  began.get_future().wait();
  clock.Advance(31s);
  EXPECT_EQ(loop.TurnAge(), 31s);
  go.set_value();
  while (loop.TurnAge() != 0s) std::this_thread::yield();
}

using SlowDecisionsTest = LogTest;
TEST_F(SlowDecisionsTest, SayWhatTookSoLong) {
  using scheduler::Phase;
  using Code = scheduler::PluginStatus::Code;
  internal::SlowDecisions slow({log_.For("scheduler"), 100ms}, nullptr);
  slow.OnPhase("p", Phase::kPreFilter, Code::kSuccess, 1ms);
  slow.OnPhase("p", Phase::kFilter, Code::kSuccess, 20ms);
  slow.OnDecision({.pod = "ns/quick", .node = "n", .took = 21ms, .nodes = 3, .steps = 7});
  EXPECT_EQ(Text(), "");
  slow.OnPhase("p", Phase::kFilter, Code::kUnschedulable, 250ms);
  slow.OnPhase("p", Phase::kBind, Code::kSuccess, 9s);  // of another pod
  slow.OnDecision(
      {.pod = "ns/slow", .took = 300ms, .explaining = 40ms, .nodes = 5000, .steps = 12345});
  EXPECT_EQ(Text(),
            "I0115 08:00:00.000000       0 scheduler] \"Slow scheduling decision\" pod=\"ns/slow\" "
            "node=\"\" took=\"300ms\" phases=\"Filter 250ms, explaining 40ms\" nodes=5000 "
            "steps=12345\n");
}

// With -v 4 every decision is told, quick or slow.
TEST_F(SlowDecisionsTest, AllAreToldToWhoWantsToKnow) {
  logs::Log chatty({.verbosity = 4}, clock_, std::make_unique<logs::StringOutput>(text_));
  internal::SlowDecisions decisions({chatty.For("scheduler"), 100ms}, nullptr);
  decisions.OnPhase("p", scheduler::Phase::kFilter, scheduler::PluginStatus::Code::kSuccess, 2ms);
  decisions.OnDecision({.pod = "ns/a", .node = "n", .took = 3ms, .nodes = 3, .steps = 7});
  decisions.OnDecision({.pod = "ns/b", .took = 1ms, .nodes = 3, .steps = 1});
  decisions.OnDecision({.pod = "ns/slow", .took = 200ms});
  EXPECT_TRUE(chatty.Flush(30s));
  EXPECT_EQ(text_,
            "I0115 08:00:00.000000       0 scheduler] \"Scheduling decision\" pod=\"ns/a\" "
            "node=\"n\" took=\"3ms\" phases=\"Filter 2ms\" nodes=3 steps=7\n"
            "I0115 08:00:00.000000       0 scheduler] \"Scheduling decision\" pod=\"ns/b\" "
            "node=\"\" took=\"1ms\" phases=\"\" nodes=3 steps=1\n"
            "I0115 08:00:00.000000       0 scheduler] \"Slow scheduling decision\" "
            "pod=\"ns/slow\" node=\"\" took=\"200ms\" phases=\"\" nodes=0 steps=0\n");
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ServedTest : public ::testing::Test {
 protected:
  client::HttpResponse Get(const std::string& target) {
    auto access = client::LoadAccess({.kubeconfig = plane_.folder() + "/admin.kubeconfig"});
    EXPECT_TRUE(access.ok()) << access.status();
    auto http = client::HttpClient::Create(*access, {});
    EXPECT_TRUE(http.ok()) << http.status();
    auto answer = (*http)->Send({.target = target});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : client::HttpResponse();
  }

  TestPlane plane_;
};

TEST_F(ServedTest, HealthShowsEachCheckWhereItBelongs) {
  plane_.StartWith({.objects = SmallCluster()});
  ASSERT_TRUE(plane_.Until([&] { return Get("/readyz").status == 200; }));
  EXPECT_EQ(Get("/livez?verbose").body, "[+]ping ok\n[+]store ok\nlivez check passed\n");
  EXPECT_EQ(Get("/readyz?verbose").body,
            "[+]ping ok\n[+]store ok\n[+]store-reachable ok\n[+]shutdown ok\n[+]scheduler ok\n"
            "[+]controllers ok\n[+]request-queues ok\nreadyz check passed\n");
  EXPECT_EQ(
      Get("/healthz?verbose").body,
      "[+]ping ok\n[+]store ok\n[+]store-reachable ok\n[+]stored-objects ok\n[+]scheduler-loop ok\n"
      "[+]controllers-loop ok\n[+]disk ok\n[+]request-queues ok\nhealthz check passed\n");
  const std::string metrics = plane_.plane().Metrics();
  EXPECT_THAT(metrics, HasSubstr("kubernetes_healthcheck{name=\"disk\",type=\"healthz\"} 1\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("kubernetes_healthcheck{name=\"disk\",type=\"livez\"}")));
  EXPECT_THAT(metrics, HasSubstr("dray_request_queue_oldest_seconds{queue=\"writes\"} 0\n"));
}

// A disk that is full costs events, not requests.
TEST_F(ServedTest, AnAuditLogThatCannotBeWrittenIsToldAndHoldsUpNobody) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  std::string text;
  const base::SystemClock clock;
  logs::Log log({}, clock, std::make_unique<logs::StringOutput>(text));
  PlaneOptions options{.objects = SmallCluster()};
  options.log = &log;
  options.audit.path = "/dev/full";
  options.audit.policy = {.rules = {{.level = audit::Level::kMetadata}}};
  plane_.StartWith(std::move(options));
  EXPECT_EQ(Get("/version").status, 200);
  ASSERT_TRUE(plane_.Until([&] { return Get("/healthz").status == 500; }));
  EXPECT_THAT(Get("/healthz/audit-log").body, HasSubstr("No space left on device"));
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_THAT(plane_.plane().Metrics(),
              Not(HasSubstr("apiserver_audit_error_total{plugin=\"log\"} 0\n")));
  plane_.Stop();
  EXPECT_TRUE(log.Flush(30s));
  EXPECT_THAT(text, HasSubstr("audit] \"Audit events could not be written\""));
}

// What counts as slow is the operator's to say: here every commit does.
TEST_F(ServedTest, FromWhenOnHealthComplainsCanBeSet) {
  PlaneOptions options{.objects = SmallCluster()};
  options.health.slow_commit = 1ns;
  plane_.StartWith(std::move(options));
  ASSERT_TRUE(plane_.Until([&] { return Get("/healthz").status == 500; }));
  EXPECT_THAT(Get("/healthz/disk").body, HasSubstr("the disk is slow"));
  EXPECT_EQ(Get("/livez").status, 200);
  options = PlaneOptions{.objects = SmallCluster()};
  options.health = {.slow_commit = 0s, .stuck_loop = 0s, .stuck_request = 0s};
  plane_.StartWith(std::move(options));
  EXPECT_EQ(Get("/healthz").status, 200);
}

// Each pod's decision is a record of its own, with where it went.
TEST_F(ServedTest, DecisionsAreInALogOfVerbosityFour) {
  for (const int verbosity : {3, 4}) {
    std::string text;
    const base::SystemClock clock;
    logs::Log log({.verbosity = verbosity}, clock, std::make_unique<logs::StringOutput>(text));
    PlaneOptions options{.objects = SmallCluster()};
    options.log = &log;
    options.slow_decision = 0s;
    plane_.StartWith(std::move(options));
    const std::string first = fmt::format("a{}", verbosity);
    const std::string second = fmt::format("b{}", verbosity);
    plane_.Create(PodFromTemplate(first));
    plane_.Create(PodFromTemplate(second));
    ASSERT_TRUE(plane_.Await(first, "Running"));
    ASSERT_TRUE(plane_.Await(second, "Running"));
    plane_.Stop();
    EXPECT_TRUE(log.Flush(30s));
    for (const std::string& pod : {first, second}) {
      const std::string record =
          "scheduler] \"Scheduling decision\" pod=\"default/" + pod + "\" node=\"node-";
      if (verbosity < 4) {
        EXPECT_THAT(text, Not(HasSubstr("Scheduling decision")));
      } else {
        EXPECT_THAT(text, HasSubstr(record));
      }
    }
  }
}

TEST_F(ServedTest, WritesOfClientsAreInTheAuditLog) {
  PlaneOptions options{.objects = SmallCluster()};
  options.audit.path = plane_.folder() + "/audit.log";
  const std::string path = options.audit.path;
  plane_.StartWith(std::move(options));
  auto access = client::LoadAccess({.kubeconfig = plane_.folder() + "/admin.kubeconfig"});
  ASSERT_TRUE(access.ok());
  auto http = client::HttpClient::Create(*access, {});
  ASSERT_TRUE(http.ok());
  const auto made = (*http)->Send({.method = "POST",
                                   .target = "/api/v1/namespaces",
                                   .body = R"({"metadata":{"name":"audited"}})",
                                   .content_type = "application/json"});
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->status, 201) << made->body;
  plane_.Stop();
  const std::string text = ReadFile(path);
  EXPECT_THAT(text, HasSubstr(R"("verb":"create","user":{"username":"kubernetes-admin")"));
  EXPECT_THAT(
      text,
      HasSubstr(R"("objectRef":{"resource":"namespaces","name":"audited","apiVersion":"v1"})"));
  EXPECT_THAT(text, HasSubstr(R"("sourceIPs":["127.0.0.1"])"));
  // What the parts of this process write is no request.
  EXPECT_THAT(text, Not(HasSubstr("kube-controller-manager")));
}

// Who was not let in, and who has taken everything away, are in it by default.
TEST_F(ServedTest, WhoWasNotLetInAndCopiesOfEverythingAreInTheAuditLog) {
  PlaneOptions options{.objects = SmallCluster()};
  options.audit.path = plane_.folder() + "/audit.log";
  const std::string path = options.audit.path;
  plane_.StartWith(std::move(options));
  EXPECT_EQ(Get("/snapshot").status, 200);
  auto stranger = client::LoadAccess({.kubeconfig = plane_.folder() + "/admin.kubeconfig"});
  ASSERT_TRUE(stranger.ok());
  stranger->certificate.clear();
  stranger->key.clear();
  stranger->token = "hush";
  auto http = client::HttpClient::Create(*stranger, {});
  ASSERT_TRUE(http.ok()) << http.status();
  const auto refused = (*http)->Send({.target = "/api/v1/nodes"});
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->status, 401);
  plane_.Stop();
  const std::string text = ReadFile(path);
  EXPECT_THAT(text, HasSubstr(R"("requestURI":"/snapshot","verb":"get",)"
                              R"("user":{"username":"kubernetes-admin")"));
  EXPECT_THAT(text, HasSubstr(R"("requestURI":"/api/v1/nodes","verb":"list","user":{},)"));
  EXPECT_THAT(text, HasSubstr("Authentication failed, attempted: bearer"));
  EXPECT_THAT(text, Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace dray::plane
