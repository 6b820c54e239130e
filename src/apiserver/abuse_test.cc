// SPDX-License-Identifier: Apache-2.0
//
// What strangers may do to the server, and that it goes on for everyone else.
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/certificates.h"
#include "apiserver/handler_for_test.h"
#include "apiserver/token_keys.h"

namespace dray::apiserver {
namespace {

using ::testing::HasSubstr;

struct MalformedCase {
  std::string name;
  std::string bytes;
  int status = 400;
  std::string says;
  friend void PrintTo(const MalformedCase& c, std::ostream* os) { *os << c.name; }
};

// A request of somebody who is known: chunks of others are not even looked at.
std::string Known(std::string_view headers, std::string_view body) {
  std::string text = "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n";
  return text.append(headers).append("\r\n").append(body);
}

class MalformedTest : public ServerTest, public ::testing::WithParamInterface<MalformedCase> {};

TEST_P(MalformedTest, IsAnsweredClearlyAndTheConnectionEnds) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start([](const Request&, const auto&) { FAIL() << "the handler was called"; });
  TestClient client(port());
  client.Send(GetParam().bytes);
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, GetParam().status);
  EXPECT_THAT(response.body, HasSubstr(R"("kind":"Status")"));
  EXPECT_THAT(response.body, HasSubstr(GetParam().says));
  EXPECT_THAT(response.head, HasSubstr("Connection: close"));
  EXPECT_TRUE(client.Ended());
  EXPECT_EQ(server_->stats().malformed, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Http, MalformedTest,
    ::testing::ValuesIn(std::vector<MalformedCase>{
        {.name = "no_http", .bytes = "hello, is anyone there?\r\n\r\n", .says = "malformed"},
        {.name = "binary",
         .bytes = std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)},
        {.name = "bad_version", .bytes = "GET / HTTP/9.9\r\nHost: x\r\n\r\n", .says = "version"},
        {.name = "no_host", .bytes = "GET / HTTP/1.1\r\n\r\n", .says = "Host"},
        {.name = "two_hosts_in_one",
         .bytes = "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
         .says = "Host"},
        {.name = "hosts_in_a_list", .bytes = "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", .says = "Host"},
        {.name = "host_with_a_path",
         .bytes = "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
         .says = "Host"},
        {.name = "star_path",
         .bytes = "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
         .says = "begin with /"},
        {.name = "absolute_path", .bytes = "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n"},
        {.name = "header_without_colon", .bytes = "GET / HTTP/1.1\r\nHost: x\r\nbad line\r\n\r\n"},
        {.name = "two_lengths",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na"},
        // What hides a second request from whoever stands before the server, because the two do not
        // agree where the first one ends.
        {.name = "two_equal_lengths",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"},
        {.name = "a_list_of_lengths",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\na"},
        {.name = "length_with_a_sign",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na"},
        {.name = "length_and_chunks",
         .bytes = Known("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
        {.name = "chunks_and_length",
         .bytes = Known("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")},
        {.name = "chunks_twice",
         .bytes = Known("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                        "0\r\n\r\n")},
        {.name = "another_coding",
         .bytes = Known("Transfer-Encoding: gzip\r\n", ""),
         .status = 501,
         .says = "chunked"},
        {.name = "nearly_chunked",
         .bytes = Known("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
         .status = 501},
        {.name = "coding_before_chunked",
         .bytes = Known("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
         .status = 501},
        {.name = "space_before_the_colon",
         .bytes = Known("Transfer-Encoding : chunked\r\n", "0\r\n\r\n")},
        {.name = "chunks_before_there_were_any",
         .bytes = "POST / HTTP/1.0\r\nAuthorization: Bearer secret\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n0\r\n\r\n",
         .says = "HTTP/1.1"},
        {.name = "folded_header",
         .bytes = "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
         .says = "malformed"},
        {.name = "header_folded_with_a_tab",
         .bytes = "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\r\n\r\n"},
        {.name = "line_ends_without_cr", .bytes = "GET / HTTP/1.1\nHost: x\n\n"},
        {.name = "header_ends_without_cr", .bytes = "GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"},
        {.name = "cr_in_a_header", .bytes = "GET / HTTP/1.1\r\nHost: x\r\nX: y\rZ: z\r\n\r\n"},
        {.name = "null_in_a_header",
         .bytes = std::string("GET / HTTP/1.1\r\nHost: x\r\nX: ") + '\0' + "\r\n\r\n"},
        {.name = "two_hosts",
         .bytes = "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
         .says = "more than one Host"},
        {.name = "two_tokens",
         .bytes = Known("Authorization: Bearer other\r\n", ""),
         .says = "more than one Authorization"},
        {.name = "chunk_of_negative_size",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "-1\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_size_with_a_prefix",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "0x1\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_size_beyond_any_number",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\na\r\n")},
        {.name = "chunk_longer_than_its_size",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "1\r\nab\r\n0\r\n\r\n")},
        {.name = "chunk_line_ends_without_cr",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "1\na\r\n0\r\n\r\n")},
        {.name = "chunk_extension_without_end",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "1;" + std::string(100'000, 'x')),
         .says = "extensions"},
        {.name = "space_before_the_request", .bytes = " GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {.name = "two_spaces", .bytes = "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
        {.name = "tabs_for_spaces", .bytes = "GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n"},
        {.name = "null_in_the_path",
         .bytes = std::string("GET /a") + '\0' + "b HTTP/1.1\r\nHost: x\r\n\r\n"},
        {.name = "line_end_in_the_path", .bytes = "GET /a\rb HTTP/1.1\r\nHost: x\r\n\r\n"},
        {.name = "no_version", .bytes = "GET /\r\n\r\n"},
        {.name = "preface_of_http_2", .bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
        {.name = "header_without_a_name", .bytes = "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n"},
        {.name = "space_in_a_headers_name", .bytes = "GET / HTTP/1.1\r\nHost: x\r\nA B: y\r\n\r\n"},
        {.name = "null_in_a_headers_name",
         .bytes = std::string("GET / HTTP/1.1\r\nHost: x\r\nA") + '\0' + ": y\r\n\r\n"},
        {.name = "headers_begin_with_a_space",
         .bytes = "GET / HTTP/1.1\r\n Host: x\r\nHost: x\r\n\r\n"},
        {.name = "length_of_nothing",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n"},
        {.name = "length_in_hex",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\na"},
        {.name = "length_with_a_space",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1 1\r\n\r\na"},
        {.name = "coding_after_chunked",
         .bytes = Known("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
         .status = 501},
        {.name = "chunked_with_a_parameter",
         .bytes = Known("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n"),
         .status = 501},
        {.name = "chunked_in_quotes",
         .bytes = Known("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"),
         .status = 501},
        {.name = "chunked_behind_a_control",
         .bytes = Known("Transfer-Encoding: \x0b"
                        "chunked\r\n",
                        "0\r\n\r\n")},
        {.name = "chunk_without_a_size",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_size_with_a_sign",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "+1\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_size_after_a_space",
         .bytes = Known("Transfer-Encoding: chunked\r\n", " 1\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_size_with_an_underscore",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "1_0\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_of_half_of_all_memory",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "7fffffffffffffff\r\na\r\n"),
         .status = 413},
        {.name = "line_end_in_a_chunk_extension",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "1;a\nb\r\na\r\n0\r\n\r\n")},
        {.name = "chunk_shorter_than_its_size",
         .bytes = Known("Transfer-Encoding: chunked\r\n", "3\r\na\r\n0\r\n\r\n")},
        {.name = "negative_length",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"},
        {.name = "length_too_large_for_a_number",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n"},
        {.name = "body_too_large",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3145729\r\n\r\n",
         .status = 413,
         .says = "limit is 3145728"},
        {.name = "anonymous_body_too_large",
         .bytes = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
         .status = 401,
         .says = "Unauthorized"},
        // It could be any size.
        {.name = "anonymous_body_of_unknown_length",
         .bytes =
             "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
         .status = 401,
         .says = "Unauthorized"},
        {.name = "header_too_large",
         .bytes = "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n",
         .status = 431,
         .says = "65536"},
        {.name = "too_many_headers",
         .bytes =
             [] {
               std::string bytes = "GET / HTTP/1.1\r\nHost: x\r\n";
               for (int i = 0; i < 10'000; ++i) bytes += "X" + std::to_string(i) + ": x\r\n";
               return bytes + "\r\n";
             }(),
         .status = 431},
        {.name = "wrong_token",
         .bytes = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\n\r\n",
         .status = 401,
         .says = R"("message":"Unauthorized","reason":"Unauthorized","code":401)"},
        {.name = "password",
         .bytes = "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YTpi\r\n\r\n",
         .status = 401},
    }),
    [](const auto& info) { return info.param.name; });

struct PathCase {
  std::string name;
  std::string path;
  int status = 400;
  friend void PrintTo(const PathCase& c, std::ostream* os) { *os << c.name; }
};
class PathTest : public ServerTest, public ::testing::WithParamInterface<PathCase> {};

// What a proxy takes for one path must not be another one here.
TEST_P(PathTest, IsTakenAsItIsOrRefused) {
  Start(Echo);
  TestClient client(port());
  EXPECT_EQ(client.Get(GetParam().path).status, GetParam().status);
  if (GetParam().status != 400) return;
  EXPECT_TRUE(client.Ended());
}

INSTANTIATE_TEST_SUITE_P(Http, PathTest,
                         ::testing::ValuesIn(std::vector<PathCase>{
                             {"root", "/", 200},
                             {"slash_at_the_end", "/a/", 200},
                             {"query_like_a_path", "/a?b=/../%2f//", 200},
                             {"dots_in_a_name", "/a/b..c/.d/e.", 200},
                             {"escape_that_is_needless", "/%61pi", 200},
                             {"double_slash", "/a//b"},
                             {"double_slash_first", "//a"},
                             {"double_slash_last", "/a//"},
                             {"dot", "/a/./b"},
                             {"two_dots", "/a/../b"},
                             {"two_dots_last", "/a/.."},
                             {"escaped_dots", "/a/%2e%2e/b"},
                             {"half_escaped_dots", "/a/.%2E/b"},
                             {"escaped_slash", "/a%2fb"},
                             {"escaped_backslash", "/a%5cb"},
                             {"escaped_null", "/a%00b"},
                             {"escaped_line_end", "/a%0d%0ab"},
                             {"broken_escape", "/a%zz"},
                             {"escape_without_end", "/a%2"},
                         }),
                         [](const auto& info) { return info.param.name; });

class AbuseTest : public ServerTest {
 protected:
  static ServerOptions Impatient() {
    return {.handshake_timeout = std::chrono::milliseconds(500),
            .idle_timeout = std::chrono::milliseconds(500),
            .request_timeout = std::chrono::milliseconds(500),
            .write_timeout = std::chrono::milliseconds(500),
            .resolution = std::chrono::milliseconds(20)};
  }
  void ExpectAlive() {
    TestClient client(port());
    EXPECT_EQ(client.Get("/alive").status, 200);
  }
};

TEST_F(AbuseTest, ABodyInChunksIsLimitedToo) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start(Echo, {.max_body_bytes = 1000});
  TestClient client(port());
  client.Send(
      "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 20; ++i) client.Send("64\r\n" + std::string(100, 'x') + "\r\n");
  EXPECT_EQ(client.ReadResponse().status, 413);
  ExpectAlive();
}

// Signed tokens are read by those who know the key; what others make up is nobody's.
class SignedTokens final : public TokenReader {
 public:
  explicit SignedTokens(const TokenKeys& keys) : keys_(keys) {}
  std::optional<User> Read(std::string_view token) const override {
    if (!keys_.Verify(token).ok()) return std::nullopt;
    return User{"robot", {std::string(kAuthenticated)}};
  }

 private:
  const TokenKeys& keys_;
};

TEST_F(AbuseTest, AForgedTokenIsNobodys) {
  const base::Time now = base::Time::FromUnix(1'800'000'000);
  const auto keys = *TokenKeys::FromPem({MakeAuthority("a", now, std::chrono::hours(1))->key});
  const auto others = *TokenKeys::FromPem({MakeAuthority("b", now, std::chrono::hours(1))->key});
  const SignedTokens reader(keys);
  authenticator_ = *Authenticator::Create("secret,ann,1");
  authenticator_.Ask(&reader);
  Start(Echo);
  const auto status = [&](const std::string& token) {
    TestClient client(port());
    client.Send("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n\r\n");
    return client.ReadResponse().status;
  };
  const std::string good = *keys.Sign(R"({"sub":"x"})");
  EXPECT_EQ(status(good), 200);
  EXPECT_EQ(status("secret"), 200);
  EXPECT_EQ(status(*others.Sign(R"({"sub":"x"})")), 401);
  const std::string claims = Base64Url(R"({"sub":"system:masters"})");
  EXPECT_EQ(status(Base64Url(R"({"alg":"none"})") + "." + claims + "."), 401);
  EXPECT_EQ(status(Base64Url(R"({"alg":"HS256"})") + "." + claims + ".AAAA"), 401);
  EXPECT_EQ(status(good.substr(0, good.size() - 1)), 401);
  EXPECT_EQ(status(good + "A"), 401);
  EXPECT_EQ(status(std::string(kMaxTokenBytes, 'a') + "." + claims + "." + claims), 401);
  EXPECT_EQ(status(std::string(30'000, '.')), 401);
  ExpectAlive();
}

TEST_F(AbuseTest, ChunksMayHaveExtensions) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start(Echo);
  TestClient client(port());
  client.Send(
      Known("Transfer-Encoding: Chunked\r\n", "1;name=value\r\na\r\n1;x=\"y\"\r\nb\r\n0\r\n\r\n"));
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("ab"));
}

// Headers after the last chunk change nothing about the request before them, nor about the next.
TEST_F(AbuseTest, WhatComesAfterTheChunksSaysNothing) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start([](const Request& request, const auto& responder) {
    responder->Send(TextResponse(request.path + " of " + request.user.name + ": " + request.body +
                                 std::string(request.headers.Find("Impersonate-User"))));
  });
  TestClient client(port());
  client.Send(Known("Transfer-Encoding: chunked\r\n",
                    "1\r\na\r\n0\r\nAuthorization: Bearer other\r\nImpersonate-User: root\r\n\r\n"
                    "GET /next HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ(client.ReadResponse().body, "/ of ann: a");
  EXPECT_EQ(client.ReadResponse().body, "/next of system:anonymous: ");
}

// But for those that would say where it ends.
TEST_F(AbuseTest, ALengthAfterTheChunksIsRefused) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start(Echo);
  for (const char* late : {"Content-Length: 50\r\n", "Transfer-Encoding: chunked\r\n"}) {
    TestClient client(port());
    client.Send(
        Known("Transfer-Encoding: chunked\r\n",
              "1\r\na\r\n0\r\n" + std::string(late) + "\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_EQ(client.ReadResponse().status, 400) << late;
    EXPECT_TRUE(client.Ended()) << late;
  }
}

// Longer than the parser's own fields can be.
TEST_F(AbuseTest, AHugeHeaderIsRefusedEvenWhereHeadersMayBeHuge) {
  Start(Echo, {.max_header_bytes = 1u << 20});
  TestClient client(port());
  EXPECT_EQ(client.Get("/", "X: " + std::string(100'000, 'x') + "\r\n").status, 431);
  ExpectAlive();
}

// The client goes on sending for a while after it was refused, and must still get to read why.
TEST_F(AbuseTest, TheReasonArrivesAlthoughTheClientIsStillSending) {
  Start(Echo);
  TestClient client(port());
  client.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n");
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 40 && client.Send(piece); ++i) {
  }
  EXPECT_EQ(client.ReadResponse().status, 413);
}

TEST_F(AbuseTest, ARequestThatDoesNotEndIsCutOff) {
  Start(Echo, Impatient());
  TestClient drip(port());
  bool sent = true;
  for (int i = 0; i < 100 && sent; ++i) {
    sent = drip.Send(i == 0 ? "GET / HTTP/1.1\r\nX: " : "x");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(drip.Ended());
  EXPECT_EQ(server_->stats().timed_out, 1u);
  EXPECT_EQ(server_->stats().connections, 0u);
}

TEST_F(AbuseTest, IdleConnectionsEndQuietly) {
  Start(Echo, Impatient());
  TestClient silent(port());
  TestClient once(port());
  EXPECT_EQ(once.Get("/").status, 200);
  EXPECT_TRUE(silent.Ended());
  EXPECT_TRUE(once.Ended());
  EXPECT_EQ(server_->stats().timed_out, 0u);
}

TEST_F(AbuseTest, AClientThatDoesNotReadItsResponseIsCutOff) {
  const Bytes large = ToBytes(std::string(32u << 20, 'x'));
  Start(
      [&](const Request& request, const auto& responder) {
        Response response;
        response.body = request.path == "/alive" ? nullptr : large;
        responder->Send(std::move(response));
      },
      Impatient());
  TestClient deaf(port(), std::nullopt, 4096);
  deaf.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  while (server_->stats().timed_out == 0) {
    ExpectAlive();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(large.use_count(), 1);
}

TEST_F(AbuseTest, TooManyConnectionsAreRefusedAndTheFirstOnesServed) {
  Start(Echo, {.max_connections = 50});
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<TestClient>(port()));
  EXPECT_EQ(clients[0]->Get("/").status, 200);
  EXPECT_EQ(clients[49]->Get("/").status, 200);
  EXPECT_TRUE(clients[199]->Ended());
  EXPECT_EQ(server_->stats().connections, 50u);
  EXPECT_EQ(server_->stats().refused, 150u);
  clients.clear();
  while (server_->stats().connections > 0) std::this_thread::yield();
  ExpectAlive();
}

TEST_F(AbuseTest, BodiesThatAreBeingReceivedAreBoundedTogether) {
  authenticator_ = *Authenticator::Create("secret,ann,1");
  Start(Echo, {.max_receiving_bytes = 5u << 20});
  const std::string request =
      "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n"
      "Content-Length: 3000000\r\nExpect: 100-continue\r\n\r\n";
  TestClient first(port());
  first.Send(request);
  EXPECT_THAT(first.ReadUntil("\r\n\r\n"), HasSubstr("100 Continue"));
  {
    TestClient second(port());
    second.Send(request);
    EXPECT_EQ(second.ReadResponse().status, 429);
  }
  first.Send(std::string(3'000'000, 'x'));
  EXPECT_EQ(first.ReadResponse().status, 200);
  TestClient third(port());
  third.Send(request);
  EXPECT_THAT(third.ReadUntil("\r\n\r\n"), HasSubstr("100 Continue"));
}

// Random bytes, and requests with random damage.
TEST_F(AbuseTest, NoiseHurtsNobody) {
  Start(Echo, Impatient());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string good =
      "POST /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n"
      "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\nc\r\nhello world!\r\n0\r\n\r\n";
  for (int i = 0; i < 300; ++i) {
    TestClient client(port());
    std::string bytes = good;
    if (i % 3 == 0) bytes.resize(random() % 2000);
    for (int n = static_cast<int>(random() % 10); n >= 0; --n) {
      if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    client.Send(bytes);
  }
  ExpectAlive();
  while (server_->stats().connections > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace dray::apiserver
