// SPDX-License-Identifier: Apache-2.0
#include "node/probe_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <map>
#include <optional>

#include "apiserver/authentication.h"
#include "apiserver/certificates.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "container/none_runtime.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

using std::chrono::seconds;

class HereOffload final : public Offload {
 public:
  void Do(std::function<void()> work) override { work(); }
};

class Answers final : public apiserver::Handler {
 public:
  void Handle(apiserver::Request request,
              std::shared_ptr<apiserver::Responder> responder) override {
    apiserver::Response response;
    response.status = request.path == "/well" ? 200 : 503;
    ++asked;
    if (const auto to = sends.find(request.path); to != sends.end()) {
      response.status = 302;
      response.headers.Add("Location", to->second);
      response.body = std::make_shared<const std::string>("elsewhere");
    }
    responder->Send(std::move(response));
  }

  std::map<std::string, std::string> sends;  // by path: where to
  std::atomic<int> asked = 0;
};

class ProbeClientTest : public ::testing::Test {
 protected:
  ProbeClientTest() { ::signal(SIGPIPE, SIG_IGN); }
  void Serve(std::optional<apiserver::TlsOptions> tls) {
    apiserver::ServerOptions options;
    options.address = "127.0.0.1";
    options.port = 0;
    options.tls = std::move(tls);
    auto server = apiserver::Server::Start(options, handler_, authenticator_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  StatusOr<int> Ask(bool tls, std::string path) {
    const auto answer = AskAll(tls, std::move(path));
    return answer.ok() ? StatusOr<int>(answer->code) : answer.status();
  }
  StatusOr<HttpAnswer> AskAll(bool tls, std::string path) {
    StatusOr<HttpAnswer> answer = base::Internal("no answer");
    client_->Http({.target = {.host = "127.0.0.1", .sandbox_id = {}, .port = server_->port()},
                   .tls = tls,
                   .path = std::move(path),
                   .headers = {}},
                  seconds(5), [&](StatusOr<HttpAnswer> got) { answer = std::move(got); });
    return answer;
  }

  const base::SystemClock clock_{};
  container::NoneRuntime runtime_{clock_};
  HereOffload offload_;
  std::unique_ptr<ProbeClient> client_ = MakeProbeClient(offload_, runtime_);
  Answers handler_;
  const apiserver::Authenticator authenticator_;
  std::unique_ptr<apiserver::Server> server_;
};

TEST_F(ProbeClientTest, AsksOverHttp) {
  Serve(std::nullopt);
  EXPECT_EQ(*Ask(false, "/well"), 200);
  EXPECT_EQ(*Ask(false, "ill"), 503);
  EXPECT_FALSE(Ask(true, "/well").ok());
}

// Nobody has signed the certificate, and nobody asks.
TEST_F(ProbeClientTest, AsksOverTlsWhateverTheCertificate) {
  const base::Time now = clock_.Now();
  const auto authority = apiserver::MakeAuthority("nobody", now, std::chrono::hours(1));
  ASSERT_TRUE(authority.ok());
  const auto pair = apiserver::MakeCertificate(
      *authority,
      {.use = apiserver::CertificateSpec::Use::kServer, .common_name = "x", .hosts = {"elsewhere"}},
      now);
  ASSERT_TRUE(pair.ok());
  Serve(apiserver::TlsOptions{.server = *pair, .client_authority = authority->certificate});
  EXPECT_EQ(*Ask(true, "/well"), 200);
  EXPECT_EQ(*Ask(true, "/ill"), 503);
}

TEST_F(ProbeClientTest, WhoSendsElsewhereOnTheSameHostIsFollowed) {
  Serve(std::nullopt);
  const std::string here = fmt::format("http://127.0.0.1:{}", server_->port());
  handler_.sends = {{"/all", here + "/well"},     {"/path", "/well"},      {"/a/below", "../well"},
                    {"/a/beside", "sibling?x=1"}, {"/a/sibling", "/well"}, {"/chain", "/all"},
                    {"/ill-there", "/ill"}};
  for (const char* path : {"/all", "/path", "/chain", "/a/beside"}) {
    EXPECT_EQ(*Ask(false, path), 200) << path;
  }
  EXPECT_EQ(*Ask(false, "/ill-there"), 503);
  // As a browser would: the path goes up.
  EXPECT_EQ(*Ask(false, "/a/below"), 200);
}

TEST_F(ProbeClientTest, AnotherHostIsNotAsked) {
  Serve(std::nullopt);
  handler_.sends = {{"/away", "http://localhost:1/"}, {"/without", ""}};
  EXPECT_EQ(*AskAll(false, "/away"), (HttpAnswer{.code = 302, .body = "elsewhere"}));
  EXPECT_EQ(AskAll(false, "/without")->code, 302);
  EXPECT_EQ(handler_.asked, 2);
  handler_.sends = {{"/strange", "ftp://127.0.0.1/"}, {"/broken", "http://127.0.0.1:x/"}};
  for (const char* path : {"/strange", "/broken"}) {
    EXPECT_THAT(std::string(base::Message(AskAll(false, path).status())),
                ::testing::HasSubstr("failed to parse Location header"));
  }
}

TEST_F(ProbeClientTest, WhoIsSentInCirclesStops) {
  Serve(std::nullopt);
  handler_.sends = {{"/round", "/round"}};
  EXPECT_THAT(std::string(base::Message(AskAll(false, "/round").status())),
              ::testing::HasSubstr("stopped after 10 redirects"));
  EXPECT_EQ(handler_.asked, 10);
}

TEST_F(ProbeClientTest, WhoIsNotThereIsToldSo) {
  Status tcp;
  client_->Tcp({.host = "127.0.0.1", .sandbox_id = {}, .port = 1}, seconds(1),
               [&](Status status) { tcp = std::move(status); });
  EXPECT_THAT(std::string(base::Message(tcp)), ::testing::HasSubstr("dial tcp 127.0.0.1:1"));
  client_->Tcp({.host = "127.0.0.1", .sandbox_id = {}, .port = 70'000}, seconds(1),
               [&](Status status) { tcp = std::move(status); });
  EXPECT_THAT(std::string(base::Message(tcp)), ::testing::HasSubstr("70000"));
  // A runtime that cannot reach into pods says so.
  client_->Grpc({.target = {.host = "localhost", .sandbox_id = "s", .port = 1}, .service = {}},
                seconds(1), [&](Status status) { tcp = std::move(status); });
  EXPECT_THAT(std::string(base::Message(tcp)), ::testing::HasSubstr("cannot connect"));
}

}  // namespace
}  // namespace dray::node
