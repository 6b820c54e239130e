// SPDX-License-Identifier: Apache-2.0
//
// HttpClient against a server that answers what a test wants.
#include "client/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "client/object_client.h"
#include "client/server_for_test.h"
#include "testing/status_matchers.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Reply = std::function<apiserver::Response(const apiserver::Request&)>;

class ReplyHandler final : public apiserver::Handler {
 public:
  explicit ReplyHandler(Reply reply) : reply_(std::move(reply)) {}
  void Handle(apiserver::Request request,
              std::shared_ptr<apiserver::Responder> responder) override {
    responder->Send(reply_(request));
  }

 private:
  const Reply reply_;
};

apiserver::Response Text(std::string text, int status = 200) {
  apiserver::Response response;
  response.status = status;
  response.body = std::make_shared<const std::string>(std::move(text));
  return response;
}

// Lines, then the end or a wait for ever.
class Lines final : public apiserver::StreamSource {
 public:
  Lines(std::vector<std::string> lines, bool ends) : lines_(std::move(lines)), ends_(ends) {}
  void Start(std::function<void()>) override {}
  State Pull(std::vector<apiserver::Bytes>& out) override {
    for (std::string& line : std::exchange(lines_, {})) {
      out.push_back(std::make_shared<const std::string>(std::move(line)));
    }
    return ends_ ? State::kEnd : State::kWait;
  }

 private:
  std::vector<std::string> lines_;
  const bool ends_;
};

// With HTTP/1.1 and with HTTP/2.
class HttpClientTest : public ::testing::TestWithParam<bool> {
 protected:
  void Start(Reply reply) {
    server_ = nullptr;
    handler_ = std::make_unique<ReplyHandler>(std::move(reply));
    auto started = apiserver::Server::Start(keys_.Serving(port_), *handler_, authenticator_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    port_ = server_->port();
    access_ = keys_.Access(server_->url());
  }
  std::unique_ptr<HttpClient> Client(HttpOptions options = {}) {
    options.http2 = GetParam();
    auto client = HttpClient::Create(access_, options);
    EXPECT_THAT(client, IsOk());
    return *std::move(client);
  }

  const TestKeys keys_;
  apiserver::Authenticator authenticator_ = *apiserver::Authenticator::Create("secret,tom,1");
  std::unique_ptr<ReplyHandler> handler_;
  std::unique_ptr<apiserver::Server> server_;
  std::uint16_t port_ = 0;
  ServerAccess access_;
};

TEST_P(HttpClientTest, RequestsArriveAsTheyWereSent) {
  Start([](const apiserver::Request& request) {
    return Text(request.method + " " + request.path + "?" + request.query + " " +
                std::string(request.headers.Find("Content-Type")) + " " + request.body + " by " +
                request.user.name);
  });
  const auto response = Client()->Send({.method = "PUT",
                                        .target = "/api/v1/x?a=b",
                                        .body = "{}",
                                        .content_type = "application/merge-patch+json"});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "PUT /api/v1/x?a=b application/merge-patch+json {} by admin");
}

TEST_P(HttpClientTest, APathOfTheServerGoesBeforeThatOfRequests) {
  Start([](const apiserver::Request& request) { return Text(request.path); });
  access_.url += "/behind/this/";
  EXPECT_EQ(Client()->Send({.target = "/api"})->body, "/behind/this/api");
}

TEST_P(HttpClientTest, ConnectionsAreKeptAndShared) {
  Start([](const apiserver::Request&) { return Text("x"); });
  const auto client = Client();
  for (int i = 0; i < 20; ++i) ASSERT_THAT(client->Send({.target = "/"}), IsOk());
  EXPECT_EQ(server_->stats().accepted, 1u);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_THAT(client->Send({.target = "/"}), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(server_->stats().accepted, GetParam() ? 1u : 5u);
  EXPECT_EQ(server_->stats().requests, 100u);
}

// Watches of HTTP/1.1 have connections of their own; with HTTP/2 everything shares one.
TEST_P(HttpClientTest, StreamsShareAConnectionWhereTheyCan) {
  Start([](const apiserver::Request& request) {
    if (request.path != "/watch") return Text("x");
    apiserver::Response response;
    response.stream = std::make_unique<Lines>(std::vector<std::string>{"a\n"}, false);
    return response;
  });
  const auto client = Client();
  std::vector<std::shared_ptr<LineStream>> streams;
  for (int i = 0; i < 10; ++i) {
    auto stream =
        client->Open({.target = "/watch"}, std::chrono::seconds(60), std::chrono::seconds(60));
    ASSERT_THAT(stream, IsOk());
    streams.push_back(*std::move(stream));
    ASSERT_THAT(client->Send({.target = "/"}), IsOk());
  }
  EXPECT_EQ(server_->stats().accepted, GetParam() ? 1u : 11u);
  std::string line;
  for (const auto& stream : streams) EXPECT_TRUE(*stream->Next(line));
}

TEST_P(HttpClientTest, AKeptConnectionThatBrokeIsReplaced) {
  const Reply reply = [](const apiserver::Request& request) { return Text(request.method); };
  Start(reply);
  const auto client = Client();
  for (const std::string method : {"GET", "POST", "PUT"}) {
    ASSERT_THAT(client->Send({.method = method, .target = "/"}), IsOk());
    Start(reply);  // the same place, nobody knows the connection
    const auto again = client->Send({.method = method, .target = "/"});
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->body, method);
  }
}

TEST_P(HttpClientTest, NobodyThereIsUnavailable) {
  Start([](const apiserver::Request&) { return Text("x"); });
  server_ = nullptr;
  EXPECT_THAT(
      Client()->Send({.target = "/"}),
      StatusIs(StatusCode::kUnavailable,
               AllOf(HasSubstr("127.0.0.1 port " + std::to_string(port_)), HasSubstr("refused"))));
}

TEST_P(HttpClientTest, AServerThatIsNotTrustedIsToldNothing) {
  std::atomic<int> requests = 0;
  Start([&](const apiserver::Request&) {
    ++requests;
    return Text("x");
  });
  access_.authority =
      apiserver::MakeAuthority("other", base::SystemClock().Now(), std::chrono::hours(1))
          ->certificate;
  EXPECT_THAT(Client()->Send({.target = "/"}),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("not trusted")));
  EXPECT_EQ(requests, 0);
  access_.insecure = true;
  EXPECT_THAT(Client()->Send({.target = "/"}), IsOk());
}

TEST_P(HttpClientTest, TheNameMustBeTheCertificates) {
  Start([](const apiserver::Request&) { return Text("x"); });
  access_.tls_server_name = "localhost";
  EXPECT_THAT(Client()->Send({.target = "/"}), IsOk());
  access_.tls_server_name = "example.com";
  EXPECT_THAT(Client()->Send({.target = "/"}),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("mismatch")));
}

TEST_P(HttpClientTest, ATokenSaysWhoAsks) {
  Start([](const apiserver::Request& request) { return Text(request.user.name); });
  access_.certificate.clear();
  access_.key.clear();
  access_.token = "secret";
  EXPECT_EQ(Client()->Send({.target = "/"})->body, "tom");
  char name[] = "/tmp/dray-token-XXXXXX";
  ASSERT_GE(::mkstemp(name), 0);
  std::ofstream(name) << "secret\n";
  access_.token = "wrong";
  access_.token_file = name;
  EXPECT_EQ(Client()->Send({.target = "/"})->body, "tom");
  std::ofstream(name) << "secret\r\nX: y\n";
  EXPECT_THAT(Client()->Send({.target = "/"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must hold one token")));
  ::unlink(name);
}

TEST_P(HttpClientTest, AnAnswerThatDoesNotComeIsNotWaitedForForEver) {
  Start([](const apiserver::Request&) {
    apiserver::Response response;
    response.stream = std::make_unique<Lines>(std::vector<std::string>{"x"}, false);
    return response;
  });
  const auto client = Client({.request_timeout = std::chrono::milliseconds(100)});
  EXPECT_THAT(client->Send({.target = "/"}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("timed out")));
}

// Whoever wrote must not take that for "nothing happened".
TEST_P(HttpClientTest, AWriteWithoutAnAnswerMayHaveHappened) {
  std::atomic<int> came = 0;
  Start([&](const apiserver::Request&) {
    ++came;
    apiserver::Response response;
    response.stream = std::make_unique<Lines>(std::vector<std::string>{"x"}, false);
    return response;
  });
  const auto client = Client({.request_timeout = std::chrono::milliseconds(100)});
  for (const std::string method : {"POST", "PUT", "DELETE", "PATCH"}) {
    EXPECT_THAT(client->Send({.method = method, .target = "/"}),
                StatusIs(StatusCode::kUnknown, HasSubstr("timed out")));
  }
  EXPECT_EQ(came, 4);
  server_ = nullptr;
  EXPECT_THAT(client->Send({.method = "PUT", .target = "/"}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("")));
}

// A server whose storage does not answer in time says 500, and so does whoever stands before it.
TEST_P(HttpClientTest, AServerThatFailsOverAWriteMayHaveDoneIt) {
  std::atomic<int> code = 500;
  Start([&](const apiserver::Request&) { return Text("{}", code); });
  const auto http = Client();
  const ObjectClient client(*http, "test");
  const api::KindInfo& kind = *api::FindKind("v1", "Pod");
  api::Object pod = api::Object::New(kind);
  pod.MutableMetadata().name = "p";
  pod.MutableMetadata().namespace_ = "ns";
  for (const int failure : {500, 502, 503, 504}) {
    code = failure;
    EXPECT_TRUE(api::MayHaveHappened(client.Update(pod).status())) << failure;
    EXPECT_TRUE(api::MayHaveHappened(client.Bind("ns", "p", "", "n"))) << failure;
    EXPECT_FALSE(api::MayHaveHappened(client.Get(kind, "ns", "p").status())) << failure;
  }
  for (const int refusal : {403, 404, 409, 422, 501}) {
    code = refusal;
    EXPECT_FALSE(api::MayHaveHappened(client.Update(pod).status())) << refusal;
  }
}

TEST_P(HttpClientTest, WritesAreSentOnlyAsLongAsTheyMayBe) {
  std::atomic<int> came = 0;
  Start([&](const apiserver::Request&) {
    ++came;
    return Text("x");
  });
  std::atomic<bool> may = true;
  const auto client = Client({.may_write = [&] { return may.load(); }});
  EXPECT_THAT(client->Send({.method = "PUT", .target = "/"}), IsOk());
  may = false;
  EXPECT_THAT(client->Send({.method = "PUT", .target = "/"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the leader")));
  EXPECT_THAT(client->Send({.target = "/"}), IsOk());
  EXPECT_EQ(came, 2);
}

TEST_P(HttpClientTest, AnAnswerIsBounded) {
  Start([](const apiserver::Request&) { return Text(std::string(100'000, 'x')); });
  EXPECT_THAT(Client({.max_response_bytes = 99'999})->Send({.target = "/"}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("at most 99999 bytes")));
  EXPECT_EQ(Client({.max_response_bytes = 100'000})->Send({.target = "/"})->body.size(), 100'000u);
}

TEST_P(HttpClientTest, AServerThatHasTooMuchToDoIsAskedAgain) {
  std::atomic<int> requests = 0;
  Start([&](const apiserver::Request&) {
    apiserver::Response response = Text("x", ++requests < 3 ? 429 : 200);
    if (response.status == 429) response.headers.Add("Retry-After", "1");
    return response;
  });
  const HttpOptions options{.throttled_tries = 2, .longest_throttle = std::chrono::milliseconds(1)};
  EXPECT_EQ(Client(options)->Send({.target = "/"})->status, 200);
  requests = -10;
  EXPECT_EQ(Client(options)->Send({.target = "/"})->status, 429);
  EXPECT_EQ(requests, -7);
}

TEST_P(HttpClientTest, AStreamIsReadLineByLine) {
  Start([](const apiserver::Request&) {
    apiserver::Response response;
    response.stream = std::make_unique<Lines>(
        std::vector<std::string>{"a\nb", "b\n", std::string(100'000, 'c'), "\nrest"}, true);
    return response;
  });
  const auto stream =
      Client()->Open({.target = "/"}, std::chrono::seconds(10), std::chrono::seconds(10));
  ASSERT_THAT(stream, IsOk());
  std::string line;
  for (const std::string& want : {std::string("a"), std::string("bb"), std::string(100'000, 'c')}) {
    ASSERT_TRUE(*(*stream)->Next(line));
    EXPECT_EQ(line, want);
  }
  // What is not whole is not a line.
  EXPECT_FALSE(*(*stream)->Next(line));
}

TEST_P(HttpClientTest, AStreamCanBeCancelledWhileSomebodyWaits) {
  Start([](const apiserver::Request&) {
    apiserver::Response response;
    response.stream = std::make_unique<Lines>(std::vector<std::string>{"a\n"}, false);
    return response;
  });
  const auto client = Client();
  const auto stream =
      client->Open({.target = "/"}, std::chrono::seconds(60), std::chrono::seconds(60));
  ASSERT_THAT(stream, IsOk());
  std::string line;
  ASSERT_TRUE(*(*stream)->Next(line));
  std::thread other([&] { (*stream)->Cancel(); });
  const auto more = (*stream)->Next(line);
  EXPECT_TRUE(!more.ok() || !*more);
  other.join();
  client->Close();
  EXPECT_THAT(client->Send({.target = "/"}), StatusIs(StatusCode::kCancelled, HasSubstr("closed")));
}

TEST_P(HttpClientTest, AFailureSaysWhatTheServerSaid) {
  EXPECT_THAT(
      FailureOf(
          {.status = 409,
           .body = R"({"kind":"Status","reason":"AlreadyExists","message":"no","code":409})"}),
      StatusIs(StatusCode::kAlreadyExists, HasSubstr("no")));
  EXPECT_THAT(FailureOf({.status = 502, .body = "<html>"}),
              StatusIs(StatusCode::kInternal, HasSubstr("502: <html>")));
}

INSTANTIATE_TEST_SUITE_P(All, HttpClientTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Http2" : "Http1"; });

// An administrator whose kubeconfig says `as` has that user's rights.
TEST(HttpClient, AsksInTheNameOfAnother) {
  const TestServer server;
  ServerAccess access = server.Access();
  access.as = {.user = "bob", .groups = {std::string(registry::kViewers)}};
  auto client = *HttpClient::Create(access);
  EXPECT_EQ(client->Send({.target = "/api/v1/pods"})->status, 200);
  const auto refused = client->Send({.method = "DELETE", .target = "/api/v1/namespaces/ns/pods/p"});
  ASSERT_THAT(refused, IsOk());
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->body, HasSubstr(R"(User \"bob\" cannot delete resource)"));
}

struct BadAccess {
  std::string name;
  ServerAccess access;
  std::string says;
  friend void PrintTo(const BadAccess& c, std::ostream* os) { *os << c.name; }
};
// OpenSSL would ask for its pass phrase at the terminal.
ServerAccess WithEncryptedKey() {
  const auto pair =
      apiserver::MakeAuthority("test", base::SystemClock().Now(), std::chrono::hours(1));
  BIO* const text = BIO_new_mem_buf(pair->key.data(), static_cast<int>(pair->key.size()));
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO* const out = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_128_cbc(), "secret", 6, nullptr, nullptr);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  ServerAccess access = {.url = "https://host",
                         .certificate = pair->certificate,
                         .key = std::string(bytes, static_cast<std::size_t>(size))};
  BIO_free(out);
  EVP_PKEY_free(key);
  BIO_free(text);
  return access;
}
class BadAccessTest : public ::testing::TestWithParam<BadAccess> {};
TEST_P(BadAccessTest, IsRefusedBeforeAnythingIsSent) {
  EXPECT_THAT(HttpClient::Create(GetParam().access),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(GetParam().says)));
}
INSTANTIATE_TEST_SUITE_P(
    All, BadAccessTest,
    ::testing::ValuesIn(std::vector<BadAccess>{
        {"no_scheme", {.url = "host:6443"}, "\"host:6443\" must be a URL"},
        {"no_host", {.url = "https://:6443"}, "must be a URL"},
        {"no_port", {.url = "https://host:"}, "must be a URL"},
        {"odd_port", {.url = "https://host:six"}, "must be a URL"},
        {"open_bracket", {.url = "https://[::1"}, "must be a URL"},
        {"with_a_query", {.url = "https://host/?a"}, "must be a URL"},
        {"end_of_line_in_path", {.url = "https://host/a\r\nX: y"}, "must be a URL"},
        {"zero_in_host", {.url = std::string("https://host\0.example", 21)}, "must be a URL"},
        {"token_of_two_lines", {.url = "http://host", .token = "a\r\nX: y"}, "token: must not"},
        {"no_pem", {.url = "https://host", .authority = "x"}, "certificate-authority"},
        {"no_key", {.url = "https://host", .certificate = "x", .key = "y"}, "client-certificate"},
        {"encrypted_key", WithEncryptedKey(), "client-key is encrypted"},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::client
