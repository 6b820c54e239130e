// SPDX-License-Identifier: Apache-2.0
//
// HttpClient against a server that speaks HTTP/2 as a test wants it, right or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/http2_peer_for_test.h"
#include "client/http_client.h"
#include "client/internal/http2_session.h"
#include "client/server_for_test.h"
#include "testing/status_matchers.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using Act = ScriptedServer::Act;
using Seen = ScriptedServer::Seen;

class Http2ClientTest : public ::testing::Test {
 protected:
  void Serve(ScriptedServer::Script script, std::uint32_t max_streams = 100) {
    client_ = nullptr;
    server_ = std::make_unique<ScriptedServer>(keys_.server, std::move(script), max_streams);
  }
  HttpClient& Client(HttpOptions options = {}) {
    if (client_ == nullptr) {
      auto made = HttpClient::Create(keys_.Access(server_->url()), std::move(options));
      EXPECT_THAT(made, IsOk());
      client_ = *std::move(made);
    }
    return *client_;
  }
  // Which of the first requests is treated how; all others are answered.
  static ScriptedServer::Script First(std::vector<Act> acts) {
    return [acts = std::move(acts)](const Seen&, int number) {
      const auto index = static_cast<std::size_t>(number) - 1;
      return index < acts.size() ? acts[index] : Act::kAnswer;
    };
  }
  StatusOr<HttpResponse> Send(const std::string& method = "GET") {
    return Client().Send({.method = method, .target = "/x", .body = method == "GET" ? "" : "{}"});
  }
  static StatusCode CodeOf(const StatusOr<HttpResponse>& response) {
    return response.status().code();
  }

  const TestKeys keys_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<HttpClient> client_;
};

TEST_F(Http2ClientTest, ManyRequestsShareAConnection) {
  Serve(First({}));
  Client();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto response = Send("PUT");
        ASSERT_THAT(response, IsOk());
        EXPECT_EQ(response->body, "yes");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_EQ(server_->seen().size(), 160u);
  for (const Seen& seen : server_->seen()) EXPECT_EQ(seen.body, "{}");
}

// Any other connection would have done it: also what must not be done twice.
TEST_F(Http2ClientTest, WhatTheServerHasNotLookedAtIsSentAgain) {
  for (const Act act : {Act::kRefuse, Act::kLeaveBefore}) {
    for (const std::string method : {"GET", "POST", "PUT"}) {
      Serve(First({act}));
      const auto response = Send(method);
      ASSERT_THAT(response, IsOk()) << method;
      EXPECT_EQ(response->body, "yes");
      EXPECT_EQ(server_->seen().size(), 2u);
      EXPECT_EQ(server_->connections(), act == Act::kLeaveBefore ? 2 : 1);
    }
  }
}

TEST_F(Http2ClientTest, AServerThatNeverLooksIsNotAskedForEver) {
  Serve([](const Seen&, int) { return Act::kRefuse; });
  // Nothing was done: that is known.
  EXPECT_THAT(Send("POST"), StatusIs(StatusCode::kUnavailable, HasSubstr("REFUSED_STREAM")));
  EXPECT_EQ(server_->seen().size(), 4u);
}

TEST_F(Http2ClientTest, AServerThatLeavesFinishesWhatItHas) {
  Serve(First({Act::kLeaveAfter}));
  EXPECT_THAT(Send("POST"), IsOk());
  EXPECT_THAT(Send("POST"), IsOk());
  EXPECT_EQ(server_->seen().size(), 2u);
  EXPECT_EQ(server_->connections(), 2);
}

TEST_F(Http2ClientTest, WhetherAWriteThatWasResetWasDoneIsNotKnown) {
  for (const Act act : {Act::kReset, Act::kHalf, Act::kHugeHead, Act::kManyHeads}) {
    Serve(First({act, act}));
    EXPECT_EQ(CodeOf(Send("POST")), StatusCode::kUnknown);
    EXPECT_EQ(CodeOf(Send()), StatusCode::kUnavailable);
    // Others on that connection go on.
    EXPECT_THAT(Send(), IsOk());
    EXPECT_EQ(server_->connections(), 1);
    EXPECT_EQ(server_->seen().size(), 3u);
  }
}

TEST_F(Http2ClientTest, AWriteWhoseConnectionEndsIsUnknownIfItMayNotBeSentTwice) {
  for (const Act act : {Act::kCut, Act::kGarbage, Act::kPush}) {
    Serve(First({Act::kAnswer, act}));
    EXPECT_THAT(Send(), IsOk());
    EXPECT_EQ(CodeOf(Send("POST")), StatusCode::kUnknown);
    EXPECT_EQ(server_->seen().size(), 2u);
    // What may is, once, on another connection.
    Serve(First({Act::kAnswer, act}));
    EXPECT_THAT(Send(), IsOk());
    EXPECT_THAT(Send("PUT"), IsOk());
    EXPECT_EQ(server_->connections(), 2);
    Serve(First({Act::kAnswer, act, act}));
    EXPECT_THAT(Send(), IsOk());
    EXPECT_EQ(CodeOf(Send("PUT")), StatusCode::kUnknown);
    EXPECT_EQ(server_->seen().size(), 3u);
  }
}

TEST_F(Http2ClientTest, OneThatIsNotTheLeaderAnyMoreSendsNothingASecondTime) {
  std::atomic<bool> leads = true;
  Serve([&](const Seen&, int number) {
    if (number > 1) return Act::kAnswer;
    leads = false;
    return Act::kRefuse;
  });
  Client({.may_write = [&] { return leads.load(); }});
  EXPECT_EQ(CodeOf(Send("POST")), StatusCode::kFailedPrecondition);
  EXPECT_EQ(server_->seen().size(), 1u);
  // The place that it had is free.
  EXPECT_THAT(Send(), IsOk());
}

// A request that has to wait until the server takes another one may not be sent any more by then.
TEST(Http2Session, WhetherItMayBeSentIsAskedWhenItIs) {
  internal::Http2Session session({});
  const internal::HeadFields head = {
      {":method", "POST"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/"}};
  int asked = 0;
  bool may = true;
  const auto may_send = [&] {
    ++asked;
    return may;
  };
  const std::int32_t first = session.Submit(head, "{}", false, 100, may_send);
  const std::int32_t second = session.Submit(head, "{}", false, 100, may_send);
  EXPECT_EQ(asked, 0);
  std::string out;
  // A frame at a time.
  while (asked == 0) ASSERT_TRUE(session.Produce(out, out.size() + 1));
  may = false;
  ASSERT_TRUE(session.Produce(out, 1u << 20));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(session.Find(first)->written);
  EXPECT_FALSE(session.Find(first)->over);
  EXPECT_FALSE(session.Find(second)->written);
  EXPECT_TRUE(session.Find(second)->over);
  EXPECT_TRUE(session.Find(second)->refused);
}

// Whoever has begun to answer has looked at it: it is not sent again, as HTTP/1.1 neither.
TEST(Http2Session, AnAnswerThatHasBegunIsNoRefusal) {
  for (const char code : {NGHTTP2_REFUSED_STREAM, NGHTTP2_HTTP_1_1_REQUIRED}) {
    for (const bool begun : {false, true}) {
      internal::Http2Session session({});
      const std::int32_t id = session.Submit(
          {{":method", "POST"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/"}}, "{}",
          false, 100);
      std::string out;
      ASSERT_TRUE(session.Produce(out, 1u << 20));
      std::string in("\0\0\0\x04\0\0\0\0\0", 9);  // settings
      // The head of a 200, from the table that everybody has.
      if (begun) in += std::string("\0\0\x01\x01\x04\0\0\0\x01\x88", 10);
      in += std::string("\0\0\x04\x03\0\0\0\0\x01\0\0\0", 12) + code;  // taken back
      ASSERT_TRUE(session.Receive(in));
      const internal::Http2Exchange* exchange = session.Find(id);
      EXPECT_TRUE(exchange->over);
      EXPECT_EQ(exchange->refused, !begun && code == NGHTTP2_REFUSED_STREAM);
      EXPECT_EQ(exchange->wants_http1, !begun && code == NGHTTP2_HTTP_1_1_REQUIRED);
    }
  }
}

TEST_F(Http2ClientTest, AServerThatWantsHttp1IsAskedSo) {
  Serve(First({Act::kWantsHttp1}));
  const auto response = Send("POST");
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "yes");
  EXPECT_THAT(Send(), IsOk());
  EXPECT_EQ(server_->seen()[1].stream, 0);
  EXPECT_EQ(server_->seen()[2].stream, 0);
}

TEST_F(Http2ClientTest, AnAnswerMayBeAnnouncedAndFollowed) {
  for (const Act act : {Act::kContinue, Act::kTrailers}) {
    Serve(First({act}));
    const auto response = Send("POST");
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "yes");
    EXPECT_FALSE(response->retry_after.has_value());
  }
}

// Whether it is taken for a flood depends on how much of it comes at once; nobody waits for ever, and the next is served.
TEST_F(Http2ClientTest, AFloodOfPingsIsAnsweredOrEndsTheConnection) {
  Serve(First({Act::kFloodPings}));
  const auto response = Send("POST");
  EXPECT_TRUE(response.ok() || CodeOf(response) == StatusCode::kUnknown) << response.status();
  EXPECT_THAT(Send(), IsOk());
}

// A request that is not answered in time is nobody else's fault, as long as the server says anything.
TEST_F(Http2ClientTest, ARequestThatIsNotAnsweredDoesNotEndTheConnection) {
  Serve([](const Seen& seen, int) { return seen.path == "/lost" ? Act::kIgnore : Act::kAnswer; });
  HttpClient& client = Client({.request_timeout = milliseconds(300)});
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  std::atomic<bool> over = false;
  std::thread others([&] {
    while (!over) EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  });
  EXPECT_THAT(client.Send({.method = "PUT", .target = "/lost"}),
              StatusIs(StatusCode::kUnknown, HasSubstr("timed out")));
  over = true;
  others.join();
  EXPECT_EQ(server_->connections(), 1);
  int lost = 0;
  for (const Seen& seen : server_->seen()) lost += seen.path == "/lost" ? 1 : 0;
  EXPECT_EQ(lost, 1);
}

// One that says nothing at all is left: what may be sent twice is sent to where somebody answers.
TEST_F(Http2ClientTest, AConnectionThatFreezesIsReplaced) {
  for (const std::string method : {"GET", "PUT", "POST"}) {
    Serve(First({Act::kAnswer, Act::kFreeze}));
    Client({.request_timeout = milliseconds(200)});
    EXPECT_THAT(Send(), IsOk());
    const auto begin = steady_clock::now();
    const auto response = Send(method);
    EXPECT_LT(steady_clock::now() - begin, seconds(5));
    EXPECT_EQ(CodeOf(response), method == "POST" ? StatusCode::kUnknown : StatusCode::kOk);
    EXPECT_THAT(Send("POST"), IsOk());
    EXPECT_EQ(server_->connections(), 2);
  }
}

// A stream that has nothing to say, and a server that does not answer pings: found without any other request.
TEST_F(Http2ClientTest, AServerThatDoesNotAnswerPingsIsNotThere) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kFreeze : Act::kAnswer; });
  HttpClient& client = Client({.request_timeout = seconds(60),
                               .ping_after = milliseconds(100),
                               .ping_timeout = milliseconds(200)});
  const auto begin = steady_clock::now();
  EXPECT_THAT(client.Open({.target = "/w"}, seconds(60), seconds(60)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("not answered a ping for 0.2 s")));
  EXPECT_LT(steady_clock::now() - begin, seconds(10));
}

// One that does is, however long it has nothing to say.
TEST_F(Http2ClientTest, AServerThatAnswersPingsIsThere) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kIgnore : Act::kAnswer; });
  HttpClient& client =
      Client({.ping_after = milliseconds(20), .ping_timeout = milliseconds(2'000)});
  EXPECT_THAT(client.Open({.target = "/w"}, seconds(60), milliseconds(500)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("timed out")));
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 1);
}

// A stream that is open and says nothing is given up, whatever its connection says; others go on.
TEST_F(Http2ClientTest, AStreamThatSaysNothingBreaksThoughItsServerAnswersPings) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kHeadAlone : Act::kAnswer; });
  HttpClient& client =
      Client({.ping_after = milliseconds(20), .ping_timeout = milliseconds(2'000)});
  const auto stream = client.Open({.target = "/w"}, seconds(60), milliseconds(400));
  ASSERT_THAT(stream, IsOk());
  const auto begin = steady_clock::now();
  std::string line;
  EXPECT_THAT((*stream)->Next(line),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("has said nothing for 0.4 s")));
  EXPECT_GE(steady_clock::now() - begin, milliseconds(400));
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 1);
}

// More at a time than the server takes on one connection.
TEST_F(Http2ClientTest, WhoFindsNoPlaceMakesAnotherConnection) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kStream : Act::kAnswer; }, 2);
  HttpClient& client = Client();
  // So that its settings are known.
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  std::vector<std::shared_ptr<LineStream>> streams;
  for (int i = 0; i < 5; ++i) {
    auto stream = client.Open({.target = "/w"}, seconds(60), seconds(60));
    ASSERT_THAT(stream, IsOk());
    streams.push_back(*std::move(stream));
  }
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 3);
  streams.clear();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 3);
}

// A stream that nobody reads takes as much memory as its window, and keeps nobody waiting.
TEST_F(Http2ClientTest, AStreamThatIsNotReadKeepsNobodyWaiting) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kStream : Act::kAnswer; });
  HttpClient& client = Client();
  const auto idle = client.Open({.target = "/w"}, seconds(60), seconds(60));
  ASSERT_THAT(idle, IsOk());
  const auto read = client.Open({.target = "/w"}, seconds(60), seconds(60));
  ASSERT_THAT(read, IsOk());
  std::string line;
  std::size_t bytes = 0;
  while (bytes < (40u << 20)) {
    ASSERT_TRUE(*(*read)->Next(line));
    bytes += line.size() + 1;
  }
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 1);
  // What has come of the other one meanwhile is still there, and it goes on.
  for (bytes = 0; bytes < (10u << 20); bytes += line.size() + 1) {
    ASSERT_TRUE(*(*idle)->Next(line));
  }
}

TEST_F(Http2ClientTest, AWatchWhoseConnectionEndsHasEnded) {
  Serve([](const Seen& seen, int) {
    return seen.path == "/w" ? Act::kStream : seen.path == "/cut" ? Act::kCut : Act::kAnswer;
  });
  HttpClient& client = Client();
  const auto stream = client.Open({.target = "/w"}, seconds(60), seconds(60));
  ASSERT_THAT(stream, IsOk());
  EXPECT_EQ(CodeOf(client.Send({.method = "POST", .target = "/cut"})), StatusCode::kUnknown);
  std::string line;
  StatusOr<bool> more = true;
  while (more.ok() && *more) more = (*stream)->Next(line);
  EXPECT_TRUE(more.ok()) << more.status();
}

TEST_F(Http2ClientTest, WhoIsClosedWaitsForNothing) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kStream : Act::kIgnore; });
  HttpClient& client = Client();
  const auto stream = client.Open({.target = "/w"}, seconds(60), seconds(60));
  ASSERT_THAT(stream, IsOk());
  std::thread closing([&] {
    while (server_->seen().size() < 2) std::this_thread::sleep_for(milliseconds(1));
    client.Close();
  });
  const auto begin = steady_clock::now();
  EXPECT_EQ(CodeOf(client.Send({.target = "/x"})), StatusCode::kCancelled);
  std::string line;
  StatusOr<bool> more = true;
  while (more.ok() && *more) more = (*stream)->Next(line);
  EXPECT_LT(steady_clock::now() - begin, seconds(10));
  closing.join();
  EXPECT_EQ(CodeOf(client.Send({.target = "/x"})), StatusCode::kCancelled);
}

// A connection that is not for new requests any more has some that wait.
TEST_F(Http2ClientTest, WhoIsClosedWaitsForNothingWhereTheServerIsLeavingEither) {
  Serve([](const Seen& seen, int) {
    return seen.path == "/slow"    ? Act::kIgnore
           : seen.path == "/leave" ? Act::kLeaveAfter
                                   : Act::kAnswer;
  });
  HttpClient& client = Client({.request_timeout = seconds(20)});
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  std::thread waiting(
      [&] { EXPECT_EQ(CodeOf(client.Send({.target = "/slow"})), StatusCode::kCancelled); });
  while (server_->seen().size() < 2) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_THAT(client.Send({.target = "/leave"}), IsOk());
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 2);
  client.Close();
  waiting.join();
}

TEST_F(Http2ClientTest, AnAnswerIsBoundedAndTheConnectionGoesOn) {
  Serve([](const Seen& seen, int) { return seen.path == "/w" ? Act::kStream : Act::kAnswer; });
  HttpClient& client = Client({.max_response_bytes = 1u << 20});
  EXPECT_THAT(client.Send({.target = "/w"}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("at most 1048576 bytes")));
  EXPECT_THAT(client.Send({.target = "/x"}), IsOk());
  EXPECT_EQ(server_->connections(), 1);
}

// Who comes while somebody connects waits for that, and learns what came of it.
TEST_F(Http2ClientTest, AllWhoWaitForAConnectionLearnThatThereIsNone) {
  Serve(First({}));
  HttpClient& client = Client();
  const std::string url = server_->url();
  server_ = nullptr;
  std::vector<std::thread> threads;
  std::atomic<int> unavailable = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      if (CodeOf(client.Send({.method = "POST", .target = "/"})) == StatusCode::kUnavailable) {
        ++unavailable;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unavailable, 8);
}

TEST_F(Http2ClientTest, TokensGoWithEachRequest) {
  Serve(First({}));
  ServerAccess access = keys_.Access(server_->url());
  access.token = "secret";
  client_ = *HttpClient::Create(access);
  EXPECT_THAT(Send(), IsOk());
  EXPECT_EQ(server_->seen()[0].token, "Bearer secret");
}

}  // namespace
}  // namespace dray::client
