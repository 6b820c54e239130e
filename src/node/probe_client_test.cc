// SPDX-License-Identifier: Apache-2.0
#include "node/probe_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>

#include "apiserver/authentication.h"
#include "apiserver/certificates.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "container/none_runtime.h"

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
    responder->Send(std::move(response));
  }
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
    StatusOr<int> answer = base::Internal("no answer");
    client_->Http({.target = {.host = "127.0.0.1", .sandbox_id = {}, .port = server_->port()},
                   .tls = tls,
                   .path = std::move(path),
                   .headers = {}},
                  seconds(5), [&](StatusOr<int> code) { answer = std::move(code); });
    return answer;
  }

  const base::SystemClock clock_;
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
