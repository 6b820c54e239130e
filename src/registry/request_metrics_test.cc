// SPDX-License-Identifier: Apache-2.0
#include "registry/request_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Dropped final : public apiserver::Responder {
 public:
  void Send(apiserver::Response) override {}
};

// A stream that listens, and that is only long.
class Listener final : public apiserver::StreamSource {
 public:
  explicit Listener(std::string& heard) : heard_(heard) {}
  void Start(std::function<void()>) override {}
  State Pull(std::vector<apiserver::Bytes>&) override { return State::kWait; }
  bool Finite() const override { return true; }
  std::size_t Receive(std::string_view bytes) override {
    heard_ += bytes.substr(0, 2);
    return 2;
  }

 private:
  std::string& heard_;
};

class Kept final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override { kept = std::move(response); }
  apiserver::Response kept;
};

class RequestMetricsTest : public ::testing::Test {
 protected:
  metrics::Registry metrics_;
  World world_{{}, &metrics_};
};

TEST_F(RequestMetricsTest, CountsByWhatWasAskedAndAnswered) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  world_.Get(pods);
  world_.Get(pods + "/none");
  world_.Get("/apis/resource.k8s.io/v1beta1/resourceclaims");
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr("apiserver_request_total{verb=\"LIST\",dry_run=\"\",group=\"\","
                              "version=\"v1\",resource=\"pods\",subresource=\"\","
                              "scope=\"namespace\",component=\"apiserver\",code=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("verb=\"GET\",dry_run=\"\",group=\"\",version=\"v1\","
                              "resource=\"pods\",subresource=\"\",scope=\"resource\","
                              "component=\"apiserver\",code=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("group=\"resource.k8s.io\",version=\"v1beta1\","
                              "resource=\"resourceclaims\",subresource=\"\",scope=\"cluster\""));
  EXPECT_THAT(text, HasSubstr("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0"));
}

TEST_F(RequestMetricsTest, WordsOfClientsAreNoLabels) {
  world_.Get("/api/v1/namespaces/default/secretplans");
  world_.Get("/apis/evil.example.com/v9/things");
  world_.Get("/api/v1/namespaces/default/pods/p/secretpart");
  world_.Ask({.method = "BREW", .path = "/api/v1/pods"});
  const std::string text = metrics_.Text();
  for (const std::string_view word : {"secret", "evil", "things", "BREW"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string(word))));
  }
  EXPECT_THAT(text, HasSubstr("verb=\"OTHER\""));
}

TEST_F(RequestMetricsTest, AnApplyAndADryRunAreNamed) {
  const Answer applied =
      world_.Ask({.method = "PATCH",
                  .path = "/api/v1/namespaces/x?fieldManager=m&dryRun=All",
                  .body = "{apiVersion: v1, kind: Namespace, metadata: {name: x}}",
                  .content_type = "application/apply-patch+yaml"});
  EXPECT_EQ(applied.status, 201) << applied.text;
  EXPECT_THAT(metrics_.Text(), HasSubstr("verb=\"APPLY\",dry_run=\"All\""));
}

TEST_F(RequestMetricsTest, AWatchIsUnderWayUntilItEnds) {
  const std::string running =
      "apiserver_longrunning_requests{verb=\"WATCH\",group=\"\",version=\"v1\",resource="
      "\"namespaces\",subresource=\"\",scope=\"cluster\",component=\"apiserver\"} ";
  {
    const Answer watch = world_.Get("/api/v1/namespaces?watch=true");
    ASSERT_NE(watch.stream, nullptr);
    EXPECT_THAT(metrics_.Text(), HasSubstr(running + "1\n"));
    EXPECT_EQ(world_.Events(*watch.stream).size(), 2u);
  }
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr(running + "0\n"));
  EXPECT_THAT(text, HasSubstr("apiserver_watch_events_total{group=\"\",version=\"v1\",resource="
                              "\"namespaces\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("apiserver_request_duration_seconds_count{verb=\"WATCH\"")));
}

TEST(RequestMetrics, AStreamThatListensHearsItsClient) {
  metrics::Registry registry;
  base::ManualClock clock;
  RequestMetrics metrics(registry, clock);
  const auto kept = std::make_shared<Kept>();
  std::string heard;
  apiserver::Response response;
  response.status = 101;
  response.stream = std::make_unique<Listener>(heard);
  metrics.Observe(kept, {.verb = "CONNECT"})->Send(std::move(response));
  ASSERT_NE(kept->kept.stream, nullptr);
  // It is full after two.
  EXPECT_EQ(kept->kept.stream->Receive("hello"), 2u);
  EXPECT_EQ(heard, "he");
  EXPECT_TRUE(kept->kept.stream->Finite());
}

TEST(RequestMetrics, ARequestThatIsForgottenIsAFailure) {
  metrics::Registry registry;
  base::ManualClock clock;
  RequestMetrics metrics(registry, clock);
  metrics.Observe(std::make_shared<Dropped>(), {.verb = "GET"});
  EXPECT_THAT(registry.Text(), HasSubstr("code=\"500\"} 1\n"));
}

TEST(RequestMetrics, TimeIsMeasuredFromTheRequestToItsAnswer) {
  metrics::Registry registry;
  base::ManualClock clock;
  RequestMetrics metrics(registry, clock);
  const auto responder =
      metrics.Observe(std::make_shared<Dropped>(), {.verb = "POST", .mutating = true});
  clock.Advance(std::chrono::seconds(2));
  EXPECT_THAT(registry.Text(),
              HasSubstr("apiserver_current_inflight_requests{request_kind=\"mutating\"} 1\n"));
  responder->Send({.status = 201});
  EXPECT_THAT(registry.Text(),
              HasSubstr("apiserver_current_inflight_requests{request_kind=\"mutating\"} 0\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("scope=\"\",component=\"apiserver\"} 2\n"));
}

}  // namespace
}  // namespace dray::registry
