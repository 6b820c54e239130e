// SPDX-License-Identifier: Apache-2.0
#include "console/handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/namespace.h"
#include "api/pod.h"
#include "console/console_for_test.h"
#include "testing/claim_builder.h"
#include "testing/pod_builder.h"
#include "testing/slice_builder.h"

namespace dray::console {
namespace {

using testing::AllocatedClaim;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kToken = "0123456789012345678901234567890123456789012";

// A stream as its reader sees it.
class Reader {
 public:
  explicit Reader(apiserver::Response response) : stream_(std::move(response.stream)) {
    if (stream_ == nullptr) return;
    stream_->Start([this] { ++wakes_; });
  }
  // Lines until one contains the text, or far too much time has gone by.
  std::string Until(std::string_view text) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end && !ended_) {
      std::vector<apiserver::Bytes> lines;
      ended_ = stream_->Pull(lines) == apiserver::StreamSource::State::kEnd;
      for (const auto& line : lines) {
        all_ += *line;
        if (line->find(text) != std::string::npos) return *line;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return "not seen, but: " + all_;
  }
  bool ended() const { return ended_; }

 private:
  std::unique_ptr<apiserver::StreamSource> stream_;
  std::atomic<int> wakes_ = 0;
  std::string all_;
  bool ended_ = false;
};

class LocalTest : public ::testing::Test {
 protected:
  explicit LocalTest(std::chrono::milliseconds patience = std::chrono::milliseconds(300)) {
    HandlerOptions options;
    options.door = {.token = std::string(kToken), .hosts = {"127.0.0.1:8080"}};
    options.version = "dray test";
    options.patience = patience;
    handler = std::make_unique<ConsoleHandler>(hub, desk, std::move(options));
    source.Put<api::ResourceSlice>(
        testing::Slice("s").OnNode("n1").With(testing::Device("a")).With(testing::Device("b")));
    hub.Start();
  }

  static apiserver::Request WithToken(apiserver::Request request) {
    request.headers.Add("Authorization", "Bearer " + std::string(kToken));
    return request;
  }
  apiserver::Response Get(std::string_view what, std::string_view query = "") {
    for (;;) {
      auto response =
          AskOf(*handler, WithToken(GetOf("/console/api/v1/" + std::string(what), query)));
      if (response.status != 503) return response;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  apiserver::Response Post(std::string_view what, std::string_view body) {
    Get("fleet");
    return AskOf(*handler, WithToken(PostOf("/console/api/v1/" + std::string(what), body)));
  }
  std::string Epoch() { return JsonOf(BodyOf(Get("fleet"))).Find("epoch")->value.text; }
  std::string Rev() { return JsonOf(BodyOf(Get("fleet"))).Find("rev")->value.text; }
  Reader Stream() { return Reader(Get("stream", "epoch=" + Epoch() + "&from=" + Rev())); }

  base::SystemClock clock;
  SourceForTest source;
  DeskForTest desk;
  Hub hub{source, desk, clock, {.gather = std::chrono::milliseconds(5)}};
  std::unique_ptr<ConsoleHandler> handler;
};

TEST_F(LocalTest, TheFleetIsShown) {
  const auto response = Get("fleet");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Find("Cache-Control"), "no-store");
  const auto fleet = JsonOf(BodyOf(response));
  EXPECT_EQ(fleet.Find("devices")->value.Find("state")->value.items.size(), 2U);
  EXPECT_THAT(BodyOf(Get("info")), HasSubstr(R"("mode":"local")"));
  EXPECT_EQ(Get("nothing").status, 404);
  EXPECT_EQ(Get("plan").status, 405);
}

TEST_F(LocalTest, NobodyIsToldAnythingWithoutTheToken) {
  EXPECT_EQ(AskOf(*handler, GetOf("/console/api/v1/fleet")).status, 401);
  EXPECT_EQ(AskOf(*handler, GetOf("/console/api/v1/info")).status, 401);
  EXPECT_EQ(AskOf(*handler, GetOf("/console/")).status, 200);
  EXPECT_EQ(AskOf(*handler, GetOf("/api/v1/pods")).status, 401);
  EXPECT_EQ(AskOf(*handler, WithToken(GetOf("/api/v1/pods"))).status, 404);
}

TEST_F(LocalTest, AChangeComesAsALine) {
  Reader reader = Stream();
  source.Put<api::ResourceClaim>(AllocatedClaim("c").Exclusive("a"));
  const std::string line = reader.Until("\"d\":");
  EXPECT_THAT(line, HasSubstr("\"d\":[[0,1,0,0]]"));
  EXPECT_THAT(line, HasSubstr(R"("c":[{"namespace":"ns","name":"c")"));
  EXPECT_THAT(reader.Until("\"beat\""), HasSubstr("\"rev\":"));
}

TEST_F(LocalTest, ARevisionThatIsTooOldOrOfAnotherProcessIsReset) {
  Get("fleet");
  Reader old(Get("stream", "epoch=" + Epoch() + "&from=0"));
  EXPECT_THAT(old.Until("reset"), HasSubstr("\"reset\":true"));
  Reader other(Get("stream", "epoch=other&from=" + Rev()));
  EXPECT_THAT(other.Until("reset"), HasSubstr("\"reset\":true"));
  EXPECT_TRUE(other.ended());
  Reader future(Get("stream", "epoch=" + Epoch() + "&from=999999999"));
  EXPECT_THAT(future.Until("reset"), HasSubstr("\"reset\":true"));
}

TEST_F(LocalTest, ClassesThatChangeReset) {
  Reader reader = Stream();
  api::DeviceClass any;
  any.metadata.name = "any";
  source.Put(any);
  EXPECT_THAT(reader.Until("reset"), HasSubstr("\"reset\":true"));
}

// Whoever does not read has one line waiting, however much happens, and then hears what is.
TEST_F(LocalTest, ASlowReaderGetsTheNewestStateAndNotEveryState) {
  Reader reader = Stream();
  for (int i = 0; i < 300; ++i) {
    const AllocatedClaim claim = AllocatedClaim("c").Exclusive("a");
    if (i % 2 == 0) {
      source.Put<api::ResourceClaim>(claim);
    } else {
      source.Remove<api::ResourceClaim>(claim);
    }
    if (i % 30 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(8));
  }
  source.Put<api::ResourceClaim>(AllocatedClaim("last").Exclusive("b"));
  std::vector<std::string> lines;
  const std::string line = reader.Until("\"last\"");
  EXPECT_THAT(line, HasSubstr("[1,1,0,0]"));
}

TEST_F(LocalTest, ALostServerIsTold) {
  Reader reader = Stream();
  source.SetStale(base::Unavailable("connection refused"));
  EXPECT_THAT(reader.Until("lost"), HasSubstr("connection refused"));
  source.SetStale({});
  // What is there stays as it was.
  EXPECT_EQ(Get("fleet").status, 200);
}

TEST_F(LocalTest, ClaimsThatMayNotBeReadAreUnknownAndNotFree) {
  source.Withhold(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()));
  Get("fleet");
  hub.Wake();
  std::string body;
  for (int i = 0; i < 60000 && body.find("\"claims\":true") == std::string::npos; ++i) {
    body = BodyOf(Get("fleet"));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(body, HasSubstr("\"state\":[6,6]"));
  EXPECT_THAT(BodyOf(Get("info")), HasSubstr("resourceclaims is forbidden"));
}

// Long enough that another request comes in between, however busy the machine is.
class PatientTest : public LocalTest {
 protected:
  PatientTest() : LocalTest(std::chrono::seconds(3)) {}
};

TEST_F(PatientTest, OnePlanAtATimeAndInTime) {
  EXPECT_THAT(BodyOf(Post("plan", "{}")), HasSubstr("\"objects\":1"));
  EXPECT_EQ(Post("plan", "[]").status, 422);
  desk.held = true;
  const auto first = std::make_shared<ResponderForTest>();
  handler->Handle(WithToken(PostOf("/console/api/v1/plan", "{}")), first);
  int status = 0;
  for (int i = 0; i < 100 && status != 429; ++i) status = Post("plan", "{}").status;
  EXPECT_EQ(status, 429);
  // The first one ends by itself when its time is over.
  EXPECT_EQ(first->Take().status, 200);
  desk.held = false;
}

TEST_F(LocalTest, SimulationsRunAndAreForgotten) {
  desk.held = true;
  EXPECT_EQ(BodyOf(Post("simulations", R"({"scenario": "a.yaml", "seed": 3})")), R"({"id":"s1"})");
  EXPECT_EQ(Post("simulations", R"({"scenario": "a.yaml"})").status, 202);
  EXPECT_EQ(Post("simulations", R"({"scenario": "a.yaml"})").status, 429);
  std::string body;
  for (int i = 0; i < 60000 && body.find("0.5") == std::string::npos; ++i) {
    body = BodyOf(Get("simulations/s1"));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(body, HasSubstr(R"("seed":3,"policy":"first-fit","state":"running","progress":0.5)"));
  EXPECT_EQ(AskOf(*handler, WithToken([] {
              auto request = GetOf("/console/api/v1/simulations/s2");
              request.method = "DELETE";
              return request;
            }()))
                .status,
            200);
  EXPECT_EQ(Get("simulations/s2").status, 404);
  desk.held = false;
  for (int i = 0; i < 60000 && body.find("\"result\"") == std::string::npos; ++i) {
    body = BodyOf(Get("simulations/s1"));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(body, HasSubstr(R"("result":{"pods":1})"));
  EXPECT_EQ(Get("simulations/s7").status, 404);
}

TEST_F(LocalTest, ExpressionsAreTriedOnTheFleet) {
  const std::string body =
      BodyOf(Post("cel", R"({"expression": "device.name == 'a'", "derived": false})"));
  EXPECT_THAT(body, HasSubstr(R"("counts":{"match":1,"noMatch":1,"error":0})"));
  EXPECT_THAT(body, HasSubstr(R"("match":"AQ==")"));
}

// --- Several people.

class AllowForTest final : public api::Authorizer {
 public:
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override {
    const base::MutexLock lock(mutex_);
    return {.allowed = allow_(request)};
  }
  void Set(std::function<bool(const api::AuthorizationRequest&)> allow) {
    const base::MutexLock lock(mutex_);
    allow_ = std::move(allow);
  }

 private:
  mutable base::Mutex mutex_;
  std::function<bool(const api::AuthorizationRequest&)> allow_ ABSL_GUARDED_BY(mutex_);
};

class NextForTest final : public apiserver::Handler {
 public:
  void Handle(apiserver::Request, std::shared_ptr<apiserver::Responder> responder) override {
    responder->Send({.status = 299});
  }
};

class ServedTest : public ::testing::Test {
 protected:
  ServedTest() {
    allow.Set([](const api::AuthorizationRequest& asked) {
      if (asked.user.name == "root") return true;
      // Ann reads her namespace, and what is no namespace's.
      if (asked.user.name != "ann") return false;
      return asked.namespace_ == "ann" || asked.resource == "nodes" ||
             asked.resource == "resourceslices" || asked.resource == "namespaces";
    });
    HandlerOptions options;
    options.door.scheme = "https";
    options.authorizer = &allow;
    options.next = &next;
    handler = std::make_unique<ConsoleHandler>(hub, desk, std::move(options));
    for (const char* name : {"ann", "bob"}) {
      api::Namespace space;
      space.metadata.name = name;
      source.Put(space);
    }
    source.Put<api::ResourceSlice>(
        testing::Slice("s").OnNode("n1").With(testing::Device("a")).With(testing::Device("b")));
    source.Put(ClaimIn("ann", "of-ann", "a"));
    source.Put(ClaimIn("bob", "of-bob", "b"));
    api::Pod pod = testing::Pod("pod-of-bob");
    pod.metadata.namespace_ = "bob";
    source.Put(pod);
    hub.Start();
  }

  static api::ResourceClaim ClaimIn(std::string_view space, std::string_view name,
                                    std::string_view device) {
    api::ResourceClaim claim = AllocatedClaim(name).Exclusive(device);
    claim.metadata.namespace_ = space;
    claim.metadata.uid = std::string(space) + "-" + std::string(name);
    claim.status.reserved_for.push_back(
        {.resource = "pods", .name = "pod-of-" + std::string(space)});
    return claim;
  }
  apiserver::Response Ask(std::string_view user, apiserver::Request request) {
    request.user = {.name = std::string(user), .groups = {"system:authenticated"}};
    for (;;) {
      auto response = AskOf(*handler, request);
      if (response.status != 503) return response;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  std::string Get(std::string_view user, std::string_view what, std::string_view query = "") {
    return BodyOf(Ask(user, GetOf("/console/api/v1/" + std::string(what), query)));
  }

  base::SystemClock clock;
  SourceForTest source;
  DeskForTest desk;
  AllowForTest allow;
  NextForTest next;
  Hub hub{source, desk, clock, {.gather = std::chrono::milliseconds(5)}};
  std::unique_ptr<ConsoleHandler> handler;
};

TEST_F(ServedTest, EverybodySeesWhatTheyMayRead) {
  EXPECT_THAT(Get("root", "holders"), HasSubstr("of-bob"));
  const std::string holders = Get("ann", "holders");
  EXPECT_THAT(holders, HasSubstr("of-ann"));
  EXPECT_THAT(holders, Not(HasSubstr("bob")));
  // In use is in use; by whom is not told.
  const std::string fleet = Get("ann", "fleet");
  EXPECT_THAT(fleet, HasSubstr("\"state\":[1,1]"));
  EXPECT_THAT(fleet, HasSubstr("\"hidden\":{\"claims\":true}"));
  const std::string device = Get("ann", "device", "id=1");
  EXPECT_THAT(device, HasSubstr("\"hidden\":1"));
  for (const std::string& text :
       {fleet, device, Get("ann", "namespaces"), Get("ann", "search", "q=bob"),
        Get("ann", "claim", "namespace=bob&name=of-bob"),
        Get("ann", "claim", "namespace=(hidden)&name=claim-1"), Get("ann", "history")}) {
    EXPECT_THAT(text, Not(HasSubstr("of-bob")));
    EXPECT_THAT(text, Not(HasSubstr("pod-of-bob")));
  }
  EXPECT_THAT(Get("ann", "info"), HasSubstr("\"user\":\"ann\""));
}

TEST_F(ServedTest, PlansAreMadeOfWhatOneMayRead) {
  const std::string body = BodyOf(Ask("ann", PostOf("/console/api/v1/plan", "{}")));
  EXPECT_THAT(body, Not(HasSubstr("bob/")));
  EXPECT_THAT(body, HasSubstr("ann/of-ann"));
  // That the device is in use is in it.
  EXPECT_THAT(body, HasSubstr("(hidden)/claim-1"));
  EXPECT_THAT(BodyOf(Ask("root", PostOf("/console/api/v1/plan", "{}"))), HasSubstr("bob/of-bob"));
}

TEST_F(ServedTest, WhoMayReadNothingSeesNothing) {
  const std::string fleet = Get("eve", "fleet");
  EXPECT_THAT(fleet, HasSubstr("\"state\":[]"));
  EXPECT_THAT(Get("eve", "info"), HasSubstr("you may not list resourceclaims"));
}

TEST_F(ServedTest, LinesOfOthersDoNotCome) {
  const auto fleet = JsonOf(Get("ann", "fleet"));
  Reader reader(
      Ask("ann", GetOf("/console/api/v1/stream", "epoch=" + fleet.Find("epoch")->value.text +
                                                     "&from=" + fleet.Find("rev")->value.text)));
  api::Pod pod = testing::Pod("secret");
  pod.metadata.namespace_ = "bob";
  source.Put(pod);
  source.Remove(ClaimIn("bob", "of-bob", "b"));
  const std::string line = reader.Until("\"d\":");
  EXPECT_THAT(line, HasSubstr("\"d\":[[1,0,0,0]]"));
  EXPECT_THAT(line, Not(HasSubstr("bob")));
  EXPECT_THAT(line, Not(HasSubstr("secret")));
}

TEST_F(ServedTest, RightsThatAreTakenAwayEndAStream) {
  const auto fleet = JsonOf(Get("ann", "fleet"));
  Reader reader(
      Ask("ann", GetOf("/console/api/v1/stream", "epoch=" + fleet.Find("epoch")->value.text +
                                                     "&from=" + fleet.Find("rev")->value.text)));
  allow.Set([](const api::AuthorizationRequest&) { return false; });
  EXPECT_THAT(reader.Until("reset"), HasSubstr("your permissions have changed"));
}

TEST_F(ServedTest, WhatIsNotOursIsHandedOn) {
  EXPECT_EQ(Ask("ann", GetOf("/api/v1/pods")).status, 299);
  EXPECT_EQ(Ask("ann", GetOf("/consoles")).status, 299);
  EXPECT_EQ(AskOf(*handler, GetOf("/console/api/v1/fleet")).status, 401);
}

TEST_F(ServedTest, SimulationsAreOnesOwn) {
  EXPECT_EQ(Ask("ann", PostOf("/console/api/v1/simulations", R"({"text": "x"})")).status, 202);
  EXPECT_EQ(Ask("root", GetOf("/console/api/v1/simulations/s1")).status, 404);
  EXPECT_EQ(Get("root", "simulations"), R"({"simulations":[]})");
}

}  // namespace
}  // namespace dray::console
