// SPDX-License-Identifier: Apache-2.0
//
// What strangers may do to the server over HTTP/2, and that it goes on for everyone else.
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/http2_client_for_test.h"
#include "apiserver/http2_server_for_test.h"

namespace dray::apiserver {
namespace {

using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Fields = Http2Client::Fields;

class Http2AbuseTest : public Http2ServerTest {
 protected:
  // Somebody else, who has done nothing.
  void ExpectOthersAreServed() {
    Http2Client other(port(), Tls());
    EXPECT_EQ(other.Get("/other").status, 200);
  }
  // The server has said `reason` and hung up.
  static void ExpectGoodbye(Http2Client& client, std::uint32_t reason) {
    EXPECT_TRUE(client.Ended());
    EXPECT_EQ(client.goodbye(), static_cast<std::int64_t>(reason));
  }
};

struct RefusedCase {
  std::string name;
  Fields fields;  // beside those of a GET of /, which they replace
  int status = 400;
  std::string says;
  std::string body;
  friend void PrintTo(const RefusedCase& c, std::ostream* os) { *os << c.name; }
};

class Http2RefusedTest : public Http2AbuseTest,
                         public ::testing::WithParamInterface<RefusedCase> {};

TEST_P(Http2RefusedTest, IsAnsweredClearlyAndTheConnectionGoesOn) {
  StartTls([](const Request& request, const auto& responder) {
    if (request.path != "/other") ADD_FAILURE() << "the handler was called";
    responder->Send(TextResponse("fine"));
  });
  Http2Client client(port(), Tls(/*known=*/false));
  std::string method = GetParam().body.empty() ? "GET" : "POST";
  std::string path = "/";
  Fields rest;
  for (const auto& field : GetParam().fields) {
    if (field.first == ":path") {
      path = field.second;
    } else {
      rest.push_back(field);
    }
  }
  const Http2Answer answer = client.Finish(client.Send(method, path, rest, GetParam().body));
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_THAT(answer.body, HasSubstr(R"("kind":"Status")"));
  EXPECT_THAT(answer.body, HasSubstr(GetParam().says));
  EXPECT_EQ(server_->stats().malformed, 1U);
  EXPECT_EQ(client.Get("/other").status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Http2RefusedTest,
    ::testing::ValuesIn(std::vector<RefusedCase>{
        {.name = "dots", .fields = {{":path", "/a/../b"}}, .says = "part"},
        {.name = "hidden_slash", .fields = {{":path", "/a%2fb"}}, .says = "slash"},
        {.name = "unknown_token",
         .fields = {{"authorization", "Bearer nobody"}},
         .status = 401,
         .says = "Unauthorized"},
        {.name = "two_tokens",
         .fields = {{"authorization", "Bearer a"}, {"authorization", "Bearer b"}},
         .says = "more than one"},
        {.name = "large_head",
         .fields = {{"x", std::string(40'000, 'x')}, {"y", std::string(40'000, 'y')}},
         .status = 431,
         .says = "larger than 65536"},
        {.name = "many_fields", .fields = Fields(2'000, {"x", "y"}), .status = 431},
        {.name = "announced_too_large",
         .fields = {{"content-length", "3145729"}},
         .status = 413,
         .says = "limit is 3145728",
         .body = "x"},
        {.name = "announced_beyond_numbers",
         .fields = {{"content-length", "9223372036854775807"}},
         .status = 413,
         .body = "x"},
        {.name = "large_of_a_stranger",
         .status = 401,
         .says = "Unauthorized",
         .body = std::string(100'000, 'x')},
    }),
    [](const auto& info) { return info.param.name; });

TEST_F(Http2AbuseTest, ABodyThatGrowsTooLargeIsRefused) {
  StartTls(Echo);
  Http2Client client(port(), Tls());
  const auto id = client.Send("POST", "/", {}, std::string((3 << 20) + 1, 'x'));
  EXPECT_EQ(client.Finish(id).status, 413);
  EXPECT_EQ(client.Get("/other").status, 200);
}

TEST_F(Http2AbuseTest, BodiesOfAllAreBounded) {
  StartTls(Echo, {.max_receiving_bytes = 5u << 20});
  Http2Client client(port(), Tls());
  const auto one = client.Send("POST", "/", {}, "a", /*whole=*/false);
  const auto two = client.Send("POST", "/", {}, "a", /*whole=*/false);
  EXPECT_EQ(client.Finish(two).status, 429);
  client.Reset(one);
  EXPECT_EQ(client.Get("/other").status, 200);
  EXPECT_EQ(client.Finish(client.Send("POST", "/", {}, "b")).status, 200);
}

// What no HTTP/2 allows: the stream is reset or the connection ends, no handler sees it.
struct ForbiddenCase {
  std::string name;
  Fields fields;
  friend void PrintTo(const ForbiddenCase& c, std::ostream* os) { *os << c.name; }
};
class Http2ForbiddenTest : public Http2AbuseTest,
                           public ::testing::WithParamInterface<ForbiddenCase> {};

TEST_P(Http2ForbiddenTest, NeverReachesTheHandler) {
  StartTls([](const Request& request, const auto& responder) {
    if (request.path != "/other") ADD_FAILURE() << request.method << " " << request.path;
    responder->Send(TextResponse("fine"));
  });
  Http2Client client(port(), Tls());
  const Http2Answer answer = client.Finish(client.SendFields(GetParam().fields));
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(answer.error != 0 || client.goodbye() > 0);
  ExpectOthersAreServed();
}

INSTANTIATE_TEST_SUITE_P(
    Fields, Http2ForbiddenTest,
    ::testing::ValuesIn(std::vector<ForbiddenCase>{
        {.name = "no_path", .fields = {{":method", "GET"}, {":scheme", "https"}}},
        {.name = "no_method", .fields = {{":path", "/"}, {":scheme", "https"}}},
        {.name = "two_paths",
         .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "/a"}, {":path", "/b"}}},
        {.name = "late_path",
         .fields = {{":method", "GET"}, {":scheme", "https"}, {"x", "y"}, {":path", "/a"}}},
        {.name = "unknown_pseudo",
         .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "/a"}, {":x", "y"}}},
        {.name = "upper_case",
         .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "/a"}, {"X-Y", "z"}}},
        {.name = "line_break",
         .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "/a"}, {"x", "y\r\nz: 1"}}},
        {.name = "connection",
         .fields = {{":method", "GET"},
                    {":scheme", "https"},
                    {":path", "/a"},
                    {"connection", "upgrade"}}},
        {.name = "chunks",
         .fields = {{":method", "POST"},
                    {":scheme", "https"},
                    {":path", "/a"},
                    {"transfer-encoding", "chunked"}}},
        {.name = "no_number",
         .fields = {{":method", "POST"},
                    {":scheme", "https"},
                    {":path", "/a"},
                    {"content-length", "+1"}}},
        {.name = "no_slash", .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "x"}}},
        {.name = "star", .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "*"}}},
        {.name = "absolute",
         .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", "https://x/"}}},
        {.name = "empty_path", .fields = {{":method", "GET"}, {":scheme", "https"}, {":path", ""}}},
    }),
    [](const auto& info) { return info.param.name; });

TEST_F(Http2AbuseTest, RequestsThatAreTakenBackAtOnceKeepFewHandlersBusy) {
  std::atomic<std::size_t> at_once = 0;
  std::atomic<std::size_t> most = 0;
  std::vector<std::shared_ptr<Responder>> kept;
  base::Mutex mutex;
  StartTls(
      [&](const Request& request, const auto& responder) {
        if (request.path == "/other") return Echo(request, responder);
        const base::MutexLock lock(mutex);
        kept.push_back(responder);  // a handler that takes its time
        most = std::max<std::size_t>(most, ++at_once);
      },
      {.max_streams = 50});
  Http2Client client(port(), Tls());
  for (int i = 0; i < 1'000; ++i) {
    std::vector<std::int32_t> ids;
    for (int n = 0; n < 20; ++n) ids.push_back(client.Send("GET", "/slow"));
    client.Flush();
    for (const std::int32_t id : ids) client.Reset(id);
    if (!client.Flush()) break;
  }
  EXPECT_TRUE(client.Ended());
  EXPECT_LE(most, 100U);
  ExpectOthersAreServed();
}

TEST_F(Http2AbuseTest, FramesThatBringNothingForwardAreCounted) {
  StartTls(Echo);
  const std::string ping = Frame(NGHTTP2_PING, 0, 0, "12345678");
  const std::string settings = Frame(NGHTTP2_SETTINGS, 0, 0, "");
  const std::string priority = Frame(NGHTTP2_PRIORITY, 0, 1, std::string("\0\0\0\3\x10", 5));
  for (const std::string& frame : {ping, settings, priority}) {
    Http2Client client(port(), Tls());
    EXPECT_EQ(client.Get("/").status, 200);
    std::string many;
    for (int i = 0; i < 200; ++i) many += frame;
    for (int i = 0; i < 500 && client.SendRaw(many); ++i) {
    }
    EXPECT_TRUE(client.Ended());
    ExpectOthersAreServed();
  }
}

TEST_F(Http2AbuseTest, AHeadWithoutEndIsCutOff) {
  StartTls(Echo);
  Http2Client client(port(), Tls());
  EXPECT_EQ(client.Get("/").status, 200);
  // HEADERS without its end, and then one continuation after the other.
  client.SendRaw(Frame(NGHTTP2_HEADERS, 0, 3, "\x82"));
  for (int i = 0; i < 10'000; ++i) {
    if (!client.SendRaw(Frame(NGHTTP2_CONTINUATION, 0, 3, std::string("\x40\x01x\x01y", 5)))) break;
  }
  EXPECT_TRUE(client.Ended());
  ExpectOthersAreServed();
}

// A field of 4,000 bytes is told once and then repeated with a byte each time.
TEST_F(Http2AbuseTest, AHeadThatUnfoldsIsRefused) {
  StartTls(Echo);
  Http2Client client(port(), Tls());
  EXPECT_EQ(client.Get("/").status, 200);
  std::string block = "\x82\x87\x84";
  block += std::string("\x40\x01x\x7f\xa1\x1e", 6) + std::string(4000, 'v');
  block += std::string(10'000, '\xbe');
  client.SendRaw(
      Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, 3, block));
  client.Await([&] { return client.goodbye() >= 0 || client[3].ended || client[3].status > 0; });
  EXPECT_THAT(client[3].status, AnyOf(0, 431));
  EXPECT_EQ(server_->stats().requests, 1U);
  ExpectOthersAreServed();
}

TEST_F(Http2AbuseTest, WhatIsNoHttp2IsShownTheDoor) {
  StartTls(Echo);
  std::mt19937 random(20'261'116);
  for (int i = 0; i < 50; ++i) {
    TestClient client(port(), Tls(), 0, TestClient::kHttp2);
    std::string bytes = i % 2 == 0 ? "" : Preface();
    if (i == 0) bytes = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    for (int n = 0; i > 0 && n < 200; ++n) bytes += static_cast<char>(random());
    client.Send(bytes);
    // At the latest when it has said more than a frame may have.
    for (int n = 0; n < 10 && client.Send(std::string(16'384, '\xff')); ++n) {
    }
    client.ReadToEnd();
    EXPECT_TRUE(client.Ended());
  }
  ExpectOthersAreServed();
}

TEST_F(Http2AbuseTest, FramesWithAChangedByteNeverCrash) {
  StartTls(Echo);
  const std::string good =
      Preface() + Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, "\x83\x87\x84\x41\x01x") +
      Frame(NGHTTP2_DATA, 0, 1, "abc") + Frame(NGHTTP2_WINDOW_UPDATE, 0, 1, {"\0\0\1\0", 4}) +
      Frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "def") +
      Frame(NGHTTP2_RST_STREAM, 0, 1, {"\0\0\0\x08", 4}) + Frame(NGHTTP2_PING, 0, 0, "12345678");
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    TestClient client(port(), Tls(), 0, TestClient::kHttp2);
    std::string bytes = good;
    for (int n = 0; n < 3; ++n) bytes[24 + random() % (bytes.size() - 24)] ^= 1 << (random() % 8);
    client.Send(bytes);
    if (i % 10 == 0) client.ReadSome();
  }
  ExpectOthersAreServed();
}

TEST_F(Http2AbuseTest, WindowsThatOverflowEndTheStreamOrTheConnection) {
  StartTls(Echo);
  const std::string much("\x7f\xff\xff\xff", 4);
  for (const std::uint32_t stream : {0U, 1U}) {
    Http2Client client(port(), Tls());
    client.Send("POST", "/", {}, "a", /*whole=*/false);
    client.SendRaw(Frame(NGHTTP2_WINDOW_UPDATE, 0, stream, much) +
                   Frame(NGHTTP2_WINDOW_UPDATE, 0, stream, much));
    client.Await([&] { return client.goodbye() >= 0 || client[1].ended; });
    EXPECT_TRUE(client.goodbye() == NGHTTP2_FLOW_CONTROL_ERROR ||
                client[1].error == NGHTTP2_FLOW_CONTROL_ERROR);
  }
  ExpectOthersAreServed();
}

TEST_F(Http2AbuseTest, TheSlowAreLeft) {
  StartTls(Echo, {.request_timeout = milliseconds(100), .resolution = milliseconds(10)});
  Http2Client client(port(), Tls());
  const auto id = client.Send("POST", "/", {}, "a", /*whole=*/false);
  EXPECT_EQ(client.Finish(id).error, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  EXPECT_EQ(server_->stats().timed_out, 1U);
  EXPECT_EQ(client.Get("/other").status, 200);
}

TEST_F(Http2AbuseTest, MoreStreamsThanAllowedAreRefused) {
  std::vector<std::shared_ptr<Responder>> kept;
  base::Mutex mutex;
  StartTls(
      [&](const Request& request, const auto& responder) {
        if (request.path == "/other") return Echo(request, responder);
        const base::MutexLock lock(mutex);
        kept.push_back(responder);
      },
      {.max_streams = 10});
  Http2Client client(port(), Tls());
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 30; ++i) ids.push_back(client.Send("GET", "/slow"));
  EXPECT_TRUE(client.Await([&] { return client[ids.back()].ended || client.goodbye() >= 0; }));
  {
    const base::MutexLock lock(mutex);
    EXPECT_LE(kept.size(), 10U);
  }
  ExpectOthersAreServed();
}

}  // namespace
}  // namespace dray::apiserver
