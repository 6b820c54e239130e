// SPDX-License-Identifier: Apache-2.0
//
// HTTP/2: many requests and watches of one client on one connection.
#include "apiserver/http2_client_for_test.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/http2_server_for_test.h"
#include "base/mutex.h"

namespace dray::apiserver {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class Http2Test : public Http2ServerTest {};

TEST_F(Http2Test, WhoCanSpeaksIt) {
  StartTls(Echo);
  const ClientTls tls = Tls();
  EXPECT_EQ(TestClient(port(), tls, 0, TestClient::kBoth).Protocol(), "h2");
  EXPECT_EQ(TestClient(port(), tls, 0, TestClient::kHttp2).Protocol(), "h2");
  EXPECT_EQ(TestClient(port(), tls, 0, TestClient::kHttp1).Protocol(), "http/1.1");
  EXPECT_EQ(TestClient(port(), tls).Get("/x").status, 200);
}

TEST_F(Http2Test, WhereItIsOffNobodyIsOffered) {
  StartTls(Echo, {.http2 = false});
  EXPECT_EQ(TestClient(port(), Tls(), 0, TestClient::kBoth).Protocol(), "http/1.1");
}

TEST_F(Http2Test, ARequestIsAnswered) {
  StartTls(Echo);
  Http2Client client(port(), Tls());
  const Http2Answer answer = client.Get("/a/b?c=d");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /a/b?c=d as ann: ");
  EXPECT_EQ(answer.head.at("content-type"), "text/plain");
  EXPECT_EQ(answer.head.at("content-length"), std::to_string(answer.body.size()));
  EXPECT_EQ(answer.head.at("audit-id").size(), 36U);
  EXPECT_THAT(answer.head.at("date"), HasSubstr("GMT"));
  EXPECT_EQ(client.Get("/", {{"audit-id", "mine"}}).head.at("audit-id"), "mine");
  EXPECT_EQ(server_->stats().requests, 2U);
}

TEST_F(Http2Test, BodiesComeWhole) {
  StartTls([](const Request& request, const auto& responder) {
    responder->Send(TextResponse(request.body));
  });
  Http2Client client(port(), Tls());
  std::string large;
  for (int i = 0; large.size() < 2'500'000; ++i) large += std::to_string(i) + ",";
  EXPECT_EQ(client.Finish(client.Send("POST", "/", {}, large)).body, large);
  EXPECT_EQ(client.Finish(client.Send("PUT", "/", {}, "x")).body, "x");
}

TEST_F(Http2Test, AHeadHasNoBody) {
  StartTls(Echo);
  Http2Client client(port(), Tls());
  const Http2Answer answer = client.Finish(client.Send("HEAD", "/a"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.head.at("content-length"), "17");
}

TEST_F(Http2Test, AnswersComeInTheOrderInWhichTheyAreReady) {
  std::promise<std::shared_ptr<Responder>> first;
  StartTls([&](const Request& request, const auto& responder) {
    if (request.path == "/slow") {
      first.set_value(responder);
    } else {
      responder->Send(TextResponse("quick"));
    }
  });
  Http2Client client(port(), Tls());
  const auto slow = client.Send("GET", "/slow");
  EXPECT_EQ(client.Get("/quick").body, "quick");
  EXPECT_FALSE(client[slow].ended);
  first.get_future().get()->Send(TextResponse("slow"));
  EXPECT_EQ(client.Finish(slow).body, "slow");
}

TEST_F(Http2Test, AHandlerThatForgetsOrThrowsIs500) {
  StartTls([](const Request& request, const auto& responder) {
    if (request.path == "/throw") throw std::runtime_error("oh");
    (void)responder;
  });
  Http2Client client(port(), Tls());
  EXPECT_EQ(client.Get("/forget").status, 500);
  EXPECT_EQ(client.Get("/throw").status, 500);
}

// Says a line when it is told to, and ends when it is told to.
class Talk final : public StreamSource {
 public:
  struct Shared {
    std::atomic<int> said = 0;
    std::atomic<bool> over = false;
    std::atomic<int> alive = 0;

    void Set(std::function<void()> wake) {
      const base::MutexLock lock(mutex_);
      wake_ = std::move(wake);
    }
    void Wake() {
      const base::MutexLock lock(mutex_);
      wake_();
    }

   private:
    base::Mutex mutex_;
    std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  };
  explicit Talk(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) { ++shared_->alive; }
  ~Talk() override { --shared_->alive; }
  void Start(std::function<void()> wake) override { shared_->Set(std::move(wake)); }
  State Pull(std::vector<Bytes>& out) override {
    for (; sent_ < shared_->said; ++sent_) out.push_back(ToBytes(std::to_string(sent_) + "\n"));
    return shared_->over ? State::kEnd : State::kWait;
  }

 private:
  const std::shared_ptr<Shared> shared_;
  int sent_ = 0;
};

TEST_F(Http2Test, WatchesAndRequestsShareAConnection) {
  constexpr int kWatches = 100;
  std::vector<std::shared_ptr<Talk::Shared>> talks(kWatches);
  for (auto& talk : talks) talk = std::make_shared<Talk::Shared>();
  StartTls([&](const Request& request, const auto& responder) {
    if (!request.path.starts_with("/watch/")) return Echo(request, responder);
    Response response;
    response.stream = std::make_unique<Talk>(talks[std::stoul(request.path.substr(7))]);
    responder->Send(std::move(response));
  });
  Http2Client client(port(), Tls());
  std::vector<std::int32_t> ids;
  for (int i = 0; i < kWatches; ++i)
    ids.push_back(client.Send("GET", "/watch/" + std::to_string(i)));
  client.Await([&] { return client[ids.back()].status == 200; });
  for (int line = 1; line <= 3; ++line) {
    for (const auto& talk : talks) {
      talk->said = line;
      talk->Wake();
    }
    for (const auto id : ids) {
      EXPECT_TRUE(client.Await([&] { return client[id].body.size() >= 2U * line; }));
    }
    EXPECT_EQ(client.Get("/in/between").status, 200);
  }
  for (int i = 0; i < kWatches; ++i) {
    talks[i]->over = true;
    talks[i]->Wake();
    EXPECT_EQ(client.Finish(ids[i]).body, "0\n1\n2\n");
  }
  EXPECT_EQ(server_->stats().connections, 1U);
  for (const auto& talk : talks) EXPECT_EQ(talk->alive, 0);
}

TEST_F(Http2Test, ATickPullsAndAResetFrees) {
  const auto talk = std::make_shared<Talk::Shared>();
  StartTls(
      [&](const Request& request, const auto& responder) {
        if (request.path == "/") return Echo(request, responder);
        Response response{.tick = milliseconds(50)};
        response.stream = std::make_unique<Talk>(talk);
        responder->Send(std::move(response));
      },
      {.resolution = milliseconds(10)});
  Http2Client client(port(), Tls());
  const auto id = client.Send("GET", "/watch");
  client.Await([&] { return client[id].status == 200; });
  talk->said = 1;  // and nobody wakes
  EXPECT_TRUE(client.Await([&] { return client[id].body == "0\n"; }));
  EXPECT_EQ(talk->alive, 1);
  client.Reset(id);
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_EQ(talk->alive, 0);
  talk->Wake();  // finds nobody
  EXPECT_EQ(client.Get("/").status, 200);
}

// Always has more.
class Flood final : public StreamSource {
 public:
  void Start(std::function<void()>) override {}
  State Pull(std::vector<Bytes>& out) override {
    out.push_back(piece_);
    return State::kMore;
  }

 private:
  const Bytes piece_ = ToBytes(std::string(64 << 10, 'x'));
};

TEST_F(Http2Test, AStreamThatIsNotReadHoldsUpNobody) {
  StartTls(
      [](const Request& request, const auto& responder) {
        if (request.path != "/flood") return Echo(request, responder);
        Response response;
        response.stream = std::make_unique<Flood>();
        responder->Send(std::move(response));
      },
      {.write_timeout = milliseconds(400), .resolution = milliseconds(20)});
  Http2Client client(port(), Tls(), 1000);
  const auto flood = client.Send("GET", "/flood");
  EXPECT_TRUE(client.Await([&] { return client[flood].body.size() == 1000; }));
  EXPECT_EQ(client.Get("/a").status, 200);
  client.GiveRoom(flood, 500);
  EXPECT_TRUE(client.Await([&] { return client[flood].body.size() == 1500; }));
  // Who makes room for nothing is left in the end; the connection stays.
  EXPECT_EQ(client.Finish(flood).error, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  EXPECT_EQ(client[flood].body.size(), 1500U);
  EXPECT_EQ(client.Get("/b").status, 200);
  EXPECT_EQ(server_->stats().timed_out, 1U);
}

TEST_F(Http2Test, FloodsTakeTurns) {
  StartTls([](const Request& request, const auto& responder) {
    if (request.path != "/flood") return Echo(request, responder);
    Response response;
    response.stream = std::make_unique<Flood>();
    responder->Send(std::move(response));
  });
  Http2Client client(port(), Tls());
  std::vector<std::int32_t> floods;
  for (int i = 0; i < 8; ++i) floods.push_back(client.Send("GET", "/flood"));
  for (const auto id : floods) {
    EXPECT_TRUE(client.Await([&] { return client[id].body.size() > 100'000; }));
  }
  EXPECT_EQ(client.Get("/a").status, 200);
}

TEST_F(Http2Test, ADrainEndsWatchesAndLetsAnswersOut) {
  const auto talk = std::make_shared<Talk::Shared>();
  std::promise<std::shared_ptr<Responder>> late;
  StartTls([&](const Request& request, const auto& responder) {
    if (request.path == "/late") return late.set_value(responder);
    Response response;
    response.stream = std::make_unique<Talk>(talk);
    responder->Send(std::move(response));
  });
  Http2Client client(port(), Tls());
  const auto watch = client.Send("GET", "/watch");
  const auto slow = client.Send("GET", "/late");
  client.Await([&] { return client[watch].status == 200; });
  const std::shared_ptr<Responder> waiting = late.get_future().get();
  std::thread drain([&] { server_->Drain(milliseconds(5000)); });
  EXPECT_TRUE(client.Finish(watch).ended);
  EXPECT_TRUE(client.Await([&] { return client.goodbye() == NGHTTP2_NO_ERROR; }));
  waiting->Send(TextResponse("after all"));
  EXPECT_EQ(client.Finish(slow).body, "after all");
  EXPECT_TRUE(client.Ended());
  drain.join();
  EXPECT_EQ(server_->stats().connections, 0U);
}

TEST_F(Http2Test, IdleConnectionsEndAndSayGoodbye) {
  StartTls(Echo, {.idle_timeout = milliseconds(100), .resolution = milliseconds(10)});
  Http2Client client(port(), Tls());
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_TRUE(client.Await([&] { return client.goodbye() == NGHTTP2_NO_ERROR; }));
  EXPECT_TRUE(client.Ended());
}

TEST_F(Http2Test, AnotherProtocolNeedsAnotherConnection) {
  StartTls([](const Request&, const auto& responder) {
    Response response{.status = 101};
    response.stream = std::make_unique<Flood>();
    responder->Send(std::move(response));
  });
  Http2Client client(port(), Tls());
  EXPECT_EQ(client.Get("/").error, static_cast<std::uint32_t>(NGHTTP2_HTTP_1_1_REQUIRED));
}

}  // namespace
}  // namespace dray::apiserver
