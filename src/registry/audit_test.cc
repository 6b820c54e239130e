// SPDX-License-Identifier: Apache-2.0
//
// What is written down of each verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/server.h"
#include "audit/auditor.h"
#include "fmt/format.h"
#include "logs/output_for_test.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr std::string_view kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"}]}})";

class AuditTest : public ::testing::Test {
 protected:
  void Open(audit::Policy policy, HandlerOptions handling = {}) {
    clock_.SetNow(base::Time::FromUnix(1'800'000'000));
    auditor_ = std::make_unique<audit::Auditor>(std::move(policy), clock_, writer_);
    handling.auditor = auditor_.get();
    world_ = std::make_unique<World>(RegistryOptions{}, nullptr, std::move(handling));
    Events();
  }
  void OpenAt(audit::Level level) {
    audit::Policy policy{.rules = {{.level = level}}};
    policy.omit_stages.Add(audit::Stage::kRequestReceived);
    Open(std::move(policy));
  }
  // Those since the last call, by line.
  std::vector<std::string> Events() {
    EXPECT_TRUE(writer_.Flush(std::chrono::seconds(30)));
    std::vector<std::string> lines;
    std::size_t end = 0;
    while ((end = text_.find('\n')) != std::string::npos) {
      lines.push_back(text_.substr(0, end));
      text_.erase(0, end + 1);
    }
    return lines;
  }
  // The only one.
  std::string Event() {
    const std::vector<std::string> events = Events();
    EXPECT_EQ(events.size(), 1u);
    return events.empty() ? std::string() : events.front();
  }

  std::string text_;
  base::ManualClock clock_;
  logs::LineWriter writer_{std::make_unique<logs::StringOutput>(text_)};
  std::unique_ptr<audit::Auditor> auditor_;
  std::unique_ptr<World> world_;
};

// The same for all: who, from where, when.
std::string Expected(std::string_view uri, std::string_view verb, std::string_view object,
                     std::string_view status, std::string_view decision = "allow") {
  return fmt::format(
      R"({{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"some-id",)"
      R"("stage":"ResponseComplete","requestURI":"{}","verb":"{}",)"
      R"("user":{{"username":"admin","groups":["system:masters"]}},"sourceIPs":["10.0.0.1"],)"
      R"("objectRef":{{{}}},"responseStatus":{{"metadata":{{}},{}}},)"
      R"("requestReceivedTimestamp":"2027-01-15T08:00:00.000000Z",)"
      R"("stageTimestamp":"2027-01-15T08:00:00.000000Z",)"
      R"("annotations":{{"authorization.k8s.io/decision":"{}","authorization.k8s.io/reason":""}}}})",
      uri, verb, object, status, decision);
}

TEST_F(AuditTest, EachVerbAtLevelMetadata) {
  Open(audit::DefaultPolicy());
  const std::string pod = R"("resource":"pods","namespace":"default","name":"p","apiVersion":"v1")";

  ASSERT_EQ(world_->Post(kPods, std::string(kPod)).status, 201);
  EXPECT_EQ(Event(), Expected(kPods, "create", pod, R"("code":201)"));

  ASSERT_EQ(
      world_
          ->Post(kPods + "?dryRun=All",
                 R"({"metadata":{"name":"q"},"spec":{"containers":[{"name":"a","image":"x"}]}})")
          .status,
      201);
  EXPECT_EQ(Event(),
            Expected(kPods + "?dryRun=All", "create",
                     R"("resource":"pods","namespace":"default","name":"q","apiVersion":"v1")",
                     R"("code":201)"));

  ASSERT_EQ(world_
                ->Ask({.method = "PATCH",
                       .path = kPods + "/p",
                       .body = R"({"metadata":{"labels":{"a":"b"}}})",
                       .content_type = "application/merge-patch+json"})
                .status,
            200);
  EXPECT_EQ(Event(), Expected(kPods + "/p", "patch", pod, R"("code":200)"));

  ASSERT_EQ(world_
                ->Ask({.method = "PATCH",
                       .path = kPods + "/p?fieldManager=m",
                       .body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})",
                       .content_type = "application/apply-patch+yaml"})
                .status,
            200);
  EXPECT_EQ(Event(), Expected(kPods + "/p?fieldManager=m", "patch", pod, R"("code":200)"));

  const std::string now = world_->Get(kPods + "/p").text;
  EXPECT_THAT(Events(), IsEmpty());
  ASSERT_EQ(world_->Ask({.method = "PUT", .path = kPods + "/p", .body = now}).status, 200);
  const rest::DocumentNode tree = *rest::ReadTree(now);
  const rest::DocumentNode& metadata = *rest::FindIn(tree, "metadata");
  const std::string identified = fmt::format(
      R"("resource":"pods","namespace":"default","name":"p","uid":"{}","apiVersion":"v1",)"
      R"("resourceVersion":"{}")",
      rest::TextIn(metadata, "uid"), rest::TextIn(metadata, "resourceVersion"));
  EXPECT_EQ(Event(), Expected(kPods + "/p", "update", identified, R"("code":200)"));

  ASSERT_EQ(world_->Post(kPods + "/p/binding", R"({"target":{"name":"n"}})").status, 201);
  EXPECT_EQ(Event(), Expected(kPods + "/p/binding", "create", pod + R"(,"subresource":"binding")",
                              R"("status":"Success","code":201)"));

  ASSERT_EQ(world_
                ->Ask({.method = "PATCH",
                       .path = kPods + "/p/status",
                       .body = R"({"status":{"phase":"Running"}})",
                       .content_type = "application/merge-patch+json"})
                .status,
            200);
  EXPECT_EQ(Event(), Expected(kPods + "/p/status", "patch", pod + R"(,"subresource":"status")",
                              R"("code":200)"));

  ASSERT_EQ(world_->Ask({.method = "DELETE", .path = kPods + "/p?gracePeriodSeconds=0"}).status,
            200);
  EXPECT_EQ(Event(), Expected(kPods + "/p?gracePeriodSeconds=0", "delete", pod, R"("code":200)"));

  ASSERT_EQ(world_->Ask({.method = "DELETE", .path = kClaims}).status, 200);
  EXPECT_EQ(Event(), Expected(kClaims, "deletecollection",
                              R"("resource":"resourceclaims","namespace":"default",)"
                              R"("apiGroup":"resource.k8s.io","apiVersion":"v1")",
                              R"("code":200)"));
}

TEST_F(AuditTest, WhatIsRefusedSaysWhy) {
  Open(audit::DefaultPolicy());
  EXPECT_EQ(world_->Ask({.method = "DELETE", .path = kPods + "/none"}).status, 404);
  EXPECT_EQ(
      Event(),
      Expected(kPods + "/none", "delete",
               R"("resource":"pods","namespace":"default","name":"none","apiVersion":"v1")",
               R"("status":"Failure","message":"pods \"none\" not found","reason":"NotFound",)"
               R"("details":{"name":"none","kind":"pods"},"code":404)"));

  EXPECT_EQ(world_->Post(kPods, R"({"metadata":{"name":"Q"},"spec":{"containers":[]}})").status,
            422);
  EXPECT_THAT(Event(), HasSubstr(R"("reason":"Invalid","details":{"name":"Q")"));

  // What cannot be read has no object.
  EXPECT_EQ(world_->Post(kPods, "{").status, 400);
  EXPECT_THAT(
      Event(),
      HasSubstr(
          R"("objectRef":{"resource":"pods","namespace":"default","apiVersion":"v1"},"responseStatus":{"metadata":{},"status":"Failure")"));

  EXPECT_EQ(world_
                ->Ask({.method = "DELETE",
                       .path = kPods + "/p",
                       .user = {"eve", {"dray:viewers", "system:authenticated"}}})
                .status,
            403);
  const std::string forbidden = Event();
  EXPECT_THAT(
      forbidden,
      HasSubstr(R"("user":{"username":"eve","groups":["dray:viewers","system:authenticated"]})"));
  EXPECT_THAT(forbidden, HasSubstr(R"("reason":"Forbidden")"));
  EXPECT_THAT(forbidden, HasSubstr(R"("code":403)"));
  EXPECT_THAT(forbidden, HasSubstr(R"("authorization.k8s.io/decision":"forbid")"));
}

TEST_F(AuditTest, BothAreNamedWhenOneSpeaksForAnother) {
  Open(audit::DefaultPolicy());
  apiserver::Headers headers;
  headers.Add("Impersonate-User", "bob");
  headers.Add("Impersonate-Group", "system:masters");
  headers.Add("User-Agent", "kubectl/v1.38");
  headers.Add("X-Forwarded-For", "192.0.2.7, nonsense");
  headers.Add("Authorization", "Bearer hush-hush");
  ASSERT_EQ(
      world_->Ask({.method = "POST", .path = kPods, .body = std::string(kPod), .headers = headers})
          .status,
      201);
  const std::string event = Event();
  EXPECT_THAT(
      event,
      HasSubstr(
          R"("user":{"username":"admin","groups":["system:masters"]},)"
          R"("impersonatedUser":{"username":"bob","groups":["system:masters","system:authenticated"]},)"
          R"("sourceIPs":["192.0.2.7","10.0.0.1"],"userAgent":"kubectl/v1.38")"));
  EXPECT_THAT(event, Not(HasSubstr("hush")));
  // Who may not is named, too; nobody was spoken for.
  EXPECT_EQ(world_
                ->Ask({.method = "POST",
                       .path = kPods,
                       .body = std::string(kPod),
                       .user = {"eve", {"dray:viewers"}},
                       .headers = headers})
                .status,
            403);
  const std::string refused = Event();
  EXPECT_THAT(refused, HasSubstr(R"("username":"eve")"));
  EXPECT_THAT(refused, Not(HasSubstr("impersonatedUser")));
}

TEST_F(AuditTest, ANameThatWasMadeIsKnownFromTheAnswer) {
  Open(audit::DefaultPolicy());
  const Answer made = world_->Post(
      kPods,
      R"({"metadata":{"generateName":"g-"},"spec":{"containers":[{"name":"a","image":"x"}]}})");
  ASSERT_EQ(made.status, 201);
  const rest::DocumentNode json = made.Json();
  const std::string name(rest::TextIn(*rest::FindIn(json, "metadata"), "name"));
  EXPECT_THAT(Event(), HasSubstr("\"name\":\"" + name + "\""));
}

TEST_F(AuditTest, BodiesAreWrittenDownFromLevelRequestOn) {
  OpenAt(audit::Level::kRequest);
  ASSERT_EQ(world_->Post(kPods, std::string(kPod)).status, 201);
  std::string event = Event();
  EXPECT_THAT(event, HasSubstr(R"("level":"Request")"));
  EXPECT_THAT(event, HasSubstr(R"("requestObject":)" + std::string(kPod)));
  EXPECT_THAT(event, Not(HasSubstr("responseObject")));
  world_->Get(kPods + "/p");
  EXPECT_THAT(Event(), Not(HasSubstr("requestObject")));
  // YAML is written down as JSON.
  world_->Ask({.method = "PATCH",
               .path = kPods + "/p?fieldManager=m",
               .body = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {x: z}}\n",
               .content_type = "application/apply-patch+yaml"});
  EXPECT_THAT(
      Event(),
      HasSubstr(
          R"("requestObject":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"x":"z"}}})"));
}

TEST_F(AuditTest, AnswersAreWrittenDownAtLevelRequestResponse) {
  audit::Policy policy{.rules = {{.level = audit::Level::kRequestResponse}},
                       .omit_managed_fields = true};
  Open(policy);
  const Answer made = world_->Post(kPods, std::string(kPod));
  ASSERT_THAT(made.text, HasSubstr("managedFields"));
  const std::vector<std::string> events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0], HasSubstr(R"("stage":"RequestReceived")"));
  EXPECT_THAT(events[0], Not(HasSubstr("responseStatus")));
  EXPECT_THAT(events[1], HasSubstr(R"("stage":"ResponseComplete")"));
  EXPECT_THAT(events[1], HasSubstr(R"("responseObject":{)"));
  EXPECT_THAT(events[1], HasSubstr(R"("phase":"Pending")"));
  EXPECT_THAT(events[1], Not(HasSubstr("managedFields")));
  for (const std::string& event : events) EXPECT_TRUE(rest::ReadTree(event).ok()) << event;
}

TEST_F(AuditTest, AWatchBeginsAndEnds) {
  OpenAt(audit::Level::kMetadata);
  Answer watch = world_->Get(kPods + "?watch=true");
  ASSERT_NE(watch.stream, nullptr);
  EXPECT_THAT(Event(), HasSubstr(R"("stage":"ResponseStarted")"));
  watch.stream = nullptr;
  EXPECT_THAT(Event(), HasSubstr(R"("stage":"ResponseComplete")"));
}

TEST_F(AuditTest, PathsThatAreNoResourceHaveAMethodForAVerb) {
  OpenAt(audit::Level::kMetadata);
  world_->Get("/version");
  const std::string event = Event();
  EXPECT_THAT(event, HasSubstr(R"("requestURI":"/version","verb":"get")"));
  EXPECT_THAT(event, Not(HasSubstr("objectRef")));
}

// A page whose answer comes later is a request as any other.
TEST_F(AuditTest, WhatIsAnsweredLaterIsWrittenDownThen) {
  HandlerOptions handling;
  handling.later = [](const apiserver::Request& request, const auto& send) {
    if (request.path != "/snapshot") return false;
    send(apiserver::Response());
    return true;
  };
  Open(audit::DefaultPolicy(), std::move(handling));
  EXPECT_EQ(world_->Get("/snapshot").status, 200);
  EXPECT_THAT(Event(), HasSubstr(R"("requestURI":"/snapshot","verb":"get",)"
                                 R"("user":{"username":"admin",)"));
  const Answer refused = world_->Ask({.path = "/snapshot", .user = {"v", {std::string(kViewers)}}});
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(Event(), AllOf(HasSubstr(R"("username":"v")"), HasSubstr(R"("code":403)")));
  EXPECT_EQ(world_->Get("/other").status, 404);
}

TEST_F(AuditTest, WhoWasNotLetInIsWrittenDownWithWhatTheyWanted) {
  Open(audit::DefaultPolicy());
  apiserver::Request request{.method = "DELETE", .path = kPods, .query = "limit=1"};
  request.user = {.name = "", .groups = {}};
  request.audit_id = "some-id";
  request.headers.Add("Authorization", "Bearer hush");
  world_->handler().Refused({.code = 401, .request = &request});
  EXPECT_THAT(Event(),
              AllOf(HasSubstr(R"("stage":"ResponseStarted","requestURI":")" + kPods +
                              R"(?limit=1","verb":"deletecollection","user":{},)"),
                    HasSubstr(R"("objectRef":{"resource":"pods","namespace":"default",)"),
                    HasSubstr(R"("message":"Authentication failed, attempted: bearer","code":401)"),
                    Not(HasSubstr("hush"))));
  // What nobody has looked at is no request.
  world_->handler().Refused({.code = 400, .message = "malformed"});
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(AuditTest, WhoeverSendsTooMuchIsWrittenDown) {
  Open(audit::DefaultPolicy());
  apiserver::Request request{.method = "POST", .path = kPods};
  request.user = {.name = "ann", .groups = {"g"}};
  request.audit_id = "some-id";
  world_->handler().Refused(
      {.code = 413, .message = "Request entity too large: limit is 3145728", .request = &request});
  EXPECT_THAT(Event(), AllOf(HasSubstr(R"("stage":"ResponseComplete","requestURI":")" + kPods +
                                       R"(","verb":"create","user":{"username":"ann",)"),
                             HasSubstr(R"("message":"Request entity too large: limit is 3145728",)"
                                       R"("code":413)")));
}

TEST_F(AuditTest, TheDefaultPolicyLeavesReadsLeasesAndQuestionsOut) {
  Open(audit::DefaultPolicy());
  world_->Get(kPods);
  world_->Get("/healthz");
  world_->Post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", R"({"spec":{}})");
  world_->Post("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
               R"({"metadata":{"name":"l"},"spec":{}})");
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(auditor_->counts().levels[0], 4u);
  EXPECT_EQ(auditor_->counts().levels[1], 2u);  // the namespaces of every world
  EXPECT_EQ(auditor_->counts().events, 2u);
}

TEST_F(AuditTest, PoliciesHaveTheirSay) {
  OpenAt(audit::Level::kMetadata);
  const std::string group = "/apis/admissionregistration.k8s.io/v1/";
  EXPECT_EQ(world_
                ->Post(group + "validatingadmissionpolicies",
                       R"({"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[)"
                       R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],)"
                       R"("resources":["pods"]}]},"validations":[{"expression":"false",)"
                       R"("message":"no"}],"auditAnnotations":[{"key":"k","valueExpression":)"
                       R"("'it is ' + object.metadata.name"}]}})")
                .status,
            201);
  EXPECT_EQ(world_
                ->Post(group + "validatingadmissionpolicybindings",
                       R"({"metadata":{"name":"b"},"spec":{"policyName":"p",)"
                       R"("validationActions":["Audit"]}})")
                .status,
            201);
  Events();
  EXPECT_EQ(world_->Post(kPods, std::string(kPod)).status, 201);
  const std::string event = Event();
  EXPECT_THAT(event, HasSubstr(R"("p/k":"it is p")"));
  EXPECT_THAT(event, HasSubstr(R"("validation.policy.admission.k8s.io/validation_failure":)"));
}

}  // namespace
}  // namespace dray::registry
