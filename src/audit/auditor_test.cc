// SPDX-License-Identifier: Apache-2.0
//
// The parts that no request through the API shows: see registry/audit_test.cc for the rest.
#include "audit/auditor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "logs/output_for_test.h"

namespace dray::audit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A stream that listens.
class Listener final : public apiserver::StreamSource {
 public:
  explicit Listener(std::string& heard) : heard_(heard) {}
  void Start(std::function<void()>) override {}
  State Pull(std::vector<apiserver::Bytes>&) override { return State::kWait; }
  std::size_t Receive(std::string_view bytes) override {
    heard_ += bytes.substr(0, 2);
    return 2;
  }

 private:
  std::string& heard_;
};

class AuditorTest : public ::testing::Test {
 protected:
  void Open(Level level) {
    Policy policy{.rules = {{.level = level}}};
    policy.omit_stages.Add(Stage::kRequestReceived);
    auditor_ = std::make_unique<Auditor>(std::move(policy), clock_, writer_);
  }
  std::string Text() {
    EXPECT_TRUE(writer_.Flush(std::chrono::seconds(30)));
    return text_;
  }

  std::string text_;
  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000, 5'000)};
  logs::LineWriter writer_{std::make_unique<logs::StringOutput>(text_)};
  std::unique_ptr<Auditor> auditor_;
};

TEST_F(AuditorTest, WhatNobodyAnswersEndsInAPanic) {
  Open(Level::kMetadata);
  auditor_->Begin({.path = "/x", .user = {}}, {.verb = "get", .path = "/x"})->Dropped();
  EXPECT_THAT(Text(), HasSubstr(R"("stage":"Panic")"));
  EXPECT_THAT(text_, HasSubstr(R"("responseStatus":{"metadata":{},"code":500})"));
}

TEST_F(AuditorTest, AStreamThatListensHearsItsClient) {
  Open(Level::kMetadata);
  std::string heard;
  const auto stream =
      Audited(std::make_unique<Listener>(heard), auditor_->Begin({.path = "/x"}, {.verb = "get"}));
  // It is full after two.
  EXPECT_EQ(stream->Receive("hello"), 2u);
  EXPECT_EQ(heard, "he");
}

TEST_F(AuditorTest, BodiesWithTokensAreNobodysBusiness) {
  Open(Level::kRequestResponse);
  const auto trail = auditor_->Begin({.path = "/x"}, {.verb = "create",
                                                      .is_resource = true,
                                                      .resource = "serviceaccounts",
                                                      .subresource = "token"});
  trail->ReadBody(R"({"hush":1})", "application/json");
  apiserver::Response response;
  response.body = std::make_shared<const std::string>(R"({"status":{"token":"hush"}})");
  trail->Answered(response);
  EXPECT_THAT(Text(), HasSubstr(R"("code":200)"));
  EXPECT_THAT(text_, Not(HasSubstr("hush")));
}

// A message may repeat what was sent: at every level that would be in the log.
TEST_F(AuditorTest, WhatIsWrongWithASecretIsNobodysBusiness) {
  Open(Level::kMetadata);
  for (const std::string_view resource : {"secrets", "configmaps"}) {
    for (const int code : {400, 404, 422}) {
      SCOPED_TRACE(fmt::format("{} {}", resource, code));
      const auto trail = auditor_->Begin(
          {.path = "/x"}, {.verb = "create", .is_resource = true, .resource = resource});
      apiserver::Response response;
      response.status = code;
      response.body = std::make_shared<const std::string>(
          R"({"kind":"Status","status":"Failure","message":"data: got \"hush\"",)"
          R"("reason":"Invalid","details":{"causes":[{"message":"hush"}]}})");
      trail->Answered(response);
      EXPECT_THAT(Text(), HasSubstr(R"("reason":"Invalid")"));
      EXPECT_EQ(text_.find("hush") == text_.npos, resource == "secrets" && code != 404) << text_;
      text_.clear();
    }
  }
}

TEST_F(AuditorTest, TheRequestBeganWhenItsFirstByteCame) {
  Open(Level::kMetadata);
  auditor_
      ->Begin({.path = "/x", .receiving = std::chrono::seconds(3)}, {.verb = "get", .path = "/x"})
      ->Answered({});
  EXPECT_THAT(Text(), HasSubstr(R"("requestReceivedTimestamp":"2027-01-15T07:59:57.000005Z",)"
                                R"("stageTimestamp":"2027-01-15T08:00:00.000005Z")"));
}

// One event, without a name, in Kubernetes's words.
TEST_F(AuditorTest, WhoWasNotLetInIsNobody) {
  Open(Level::kMetadata);
  apiserver::Request request{.path = "/api/v1/pods", .query = "limit=5"};
  request.user = {.name = "", .groups = {}};
  request.headers.Add("Authorization", "Bearer hush");
  request.audit_id = "id";
  request.remote = "10.0.0.1:5";
  auditor_->Refused(request,
                    {.verb = "list", .is_resource = true, .version = "v1", .resource = "pods"}, 401,
                    Attempted(request.headers, false));
  EXPECT_EQ(
      Text(),
      R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id",)"
      R"("stage":"ResponseStarted","requestURI":"/api/v1/pods?limit=5","verb":"list","user":{},)"
      R"("sourceIPs":["10.0.0.1"],"objectRef":{"resource":"pods","apiVersion":"v1"},)"
      R"("responseStatus":{"metadata":{},"message":"Authentication failed, attempted: bearer",)"
      R"("code":401},"requestReceivedTimestamp":"2027-01-15T08:00:00.000005Z",)"
      R"("stageTimestamp":"2027-01-15T08:00:00.000005Z"})"
      "\n");
  EXPECT_EQ(auditor_->counts().levels[1], 1u);
}

TEST_F(AuditorTest, RulesForSomeUsersAreNotForNobody) {
  auditor_ =
      std::make_unique<Auditor>(Policy{.rules = {{.level = Level::kRequest, .users = {"u"}},
                                                 {.level = Level::kRequest, .user_groups = {"g"}},
                                                 {.level = Level::kNone, .verbs = {"list"}},
                                                 {.level = Level::kMetadata}}},
                                clock_, writer_);
  apiserver::Request request{.path = "/x"};
  request.user = {.name = "", .groups = {}};
  auditor_->Refused(request, {.verb = "list", .path = "/x"}, 401, "no");
  EXPECT_EQ(Text(), "");
  auditor_->Refused(request, {.verb = "get", .path = "/x"}, 401, "no");
  EXPECT_THAT(Text(), HasSubstr(R"("level":"Metadata")"));
}

TEST(Attempted, SaysHow) {
  apiserver::Headers none;
  EXPECT_EQ(Attempted(none, false), "Authentication failed, no credentials provided");
  EXPECT_EQ(Attempted(none, true), "Authentication failed, attempted: x509");
  apiserver::Headers basic;
  basic.Add("Authorization", "basic YTpi");
  EXPECT_EQ(Attempted(basic, true), "Authentication failed, attempted: basic, x509");
  apiserver::Headers odd;
  odd.Add("Authorization", "Negotiate hush");
  EXPECT_EQ(Attempted(odd, false), "Authentication failed, no credentials provided");
}

TEST_F(AuditorTest, WhatClientsSayOfThemselvesIsCutAndQuoted) {
  Open(Level::kMetadata);
  apiserver::Request request{.path = "/x"};
  request.headers.Add("User-Agent", std::string(5'000, 'u'));
  request.user.name = "a\"b\n";
  request.user.extra = {{"scopes", {"x", "y"}}, {"none", {}}};
  auditor_->Begin(request, {.verb = "get", .path = "/x"})->Answered({});
  EXPECT_THAT(Text(), HasSubstr("\"" + std::string(1024, 'u') + "...TRUNCATED\""));
  EXPECT_THAT(text_, HasSubstr(R"("username":"a\"b\n")"));
  EXPECT_THAT(text_, HasSubstr(R"("extra":{"scopes":["x","y"]})"));
}

TEST_F(AuditorTest, ManyThreadsLeaveWholeLines) {
  Open(Level::kMetadata);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 200; ++i) {
        auditor_->Begin({.path = "/x"}, {.verb = "get", .path = "/x"})->Answered({});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = Text();
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, text.npos);
    EXPECT_TRUE(text.substr(at, end - at).ends_with("}"));
    at = end + 1;
  }
  EXPECT_EQ(lines, 800u);
  EXPECT_EQ(auditor_->counts().events, 800u);
}

}  // namespace
}  // namespace dray::audit
