// SPDX-License-Identifier: Apache-2.0
//
// A real API server for tests: a registry over a store in memory, with TLS, on a free port, that
// can be stopped and started again at the same place.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "apiserver/authentication.h"
#include "apiserver/certificates.h"
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "client/http_client.h"
#include "client/kubeconfig.h"
#include "registry/handler.h"
#include "registry/local_cluster.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "store/memory/memory_store.h"

namespace dray::client {

// Keys of an authority, a server and an administrator.
struct TestKeys {
  TestKeys() {
    const base::Time now = base::SystemClock().Now();
    constexpr std::chrono::hours kDay{24};
    authority = *apiserver::MakeAuthority("test", now, kDay);
    using Use = apiserver::CertificateSpec::Use;
    server = *apiserver::MakeCertificate(authority,
                                         {.use = Use::kServer,
                                          .common_name = "server",
                                          .hosts = {"localhost", "127.0.0.1"},
                                          .valid = kDay},
                                         now);
    admin = *apiserver::MakeCertificate(authority,
                                        {.use = Use::kClient,
                                         .common_name = "admin",
                                         .organizations = {std::string(registry::kMasters)},
                                         .valid = kDay},
                                        now);
  }
  apiserver::KeyPair authority;
  apiserver::KeyPair server;
  apiserver::KeyPair admin;

  apiserver::ServerOptions Serving(std::uint16_t port = 0) const {
    apiserver::ServerOptions options;
    options.port = port;
    options.tls = apiserver::TlsOptions{server, authority.certificate};
    options.resolution = std::chrono::milliseconds(5);
    return options;
  }
  ServerAccess Access(const std::string& url) const {
    return {.url = url,
            .authority = authority.certificate,
            .certificate = admin.certificate,
            .key = admin.key};
  }
};

// One thread.
class TestServer {
 public:
  // Without TLS, somebody in between can read what is asked.
  explicit TestServer(store::HistoryOptions history = {}, bool tls = true)
      : tls_(tls),
        store_(store::MakeMemoryStore(history)),
        registry_(*store_, clock_, random_, {}),
        following_(
            roles_.Follow(registry_.objects(), registry::RoleAuthorizer::Source::kBootstrap)),
        local_(registry_, "test"),
        handler_(registry_, roles_) {
    for (const std::string_view name : {"default", "ns", "elsewhere", "a", "a-b", "b"}) {
      api::Namespace space;
      space.metadata.name = name;
      EXPECT_TRUE(local_.Create(api::Object::Of(space)).ok());
    }
    Start();
  }

  void Stop() { server_ = nullptr; }
  // Where it was before.
  void Start() {
    apiserver::ServerOptions options = keys_.Serving(port_);
    if (!tls_) options.tls = std::nullopt;
    auto started = apiserver::Server::Start(options, door_, authenticator_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    port_ = server_->port();
    url_ = server_->url();
  }

  std::uint16_t port() const { return port_; }
  ServerAccess Access() const {
    return tls_ ? keys_.Access(url_) : ServerAccess{.url = url_, .token = "secret"};
  }
  // As somebody else, who can serve with the same certificate.
  ServerAccess AccessAs(std::string_view name, std::vector<std::string> groups) const {
    const auto pair =
        apiserver::MakeCertificate(keys_.authority,
                                   {.use = apiserver::CertificateSpec::Use::kClientAndServer,
                                    .common_name = std::string(name),
                                    .organizations = std::move(groups),
                                    .hosts = {"localhost", "127.0.0.1"},
                                    .valid = std::chrono::hours(24)},
                                   base::SystemClock().Now());
    EXPECT_TRUE(pair.ok()) << pair.status();
    ServerAccess access = Access();
    access.certificate = pair->certificate;
    access.key = pair->key;
    return access;
  }
  // By way of somebody who listens there.
  ServerAccess AccessBy(std::uint16_t port) const {
    ServerAccess access = Access();
    access.url = access.url.substr(0, access.url.rfind(':') + 1) + std::to_string(port);
    return access;
  }
  std::unique_ptr<HttpClient> Connect(HttpOptions options = {}) const {
    auto client = HttpClient::Create(Access(), options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  // Asked before the server is: what it answers instead, if anything. On the server's threads; to be
  // set before requests come.
  using Intercept = std::function<std::optional<apiserver::Response>(const apiserver::Request&)>;
  void set_intercept(Intercept intercept) { door_.intercept = std::move(intercept); }
  // The same objects, without HTTP.
  api::Cluster& local() { return local_; }
  store::Store& store() { return *store_; }
  base::ManualClock& clock() { return clock_; }
  const base::ManualClock& clock() const { return clock_; }
  std::uint64_t revision() const { return static_cast<std::uint64_t>(store_->revision().value); }

 private:
  struct Door final : apiserver::Handler {
    explicit Door(apiserver::Handler& handler) : inner(handler) {}
    void Handle(apiserver::Request request,
                std::shared_ptr<apiserver::Responder> responder) override {
      if (intercept) {
        if (auto response = intercept(request)) return responder->Send(*std::move(response));
      }
      inner.Handle(std::move(request), std::move(responder));
    }
    apiserver::Handler& inner;
    Intercept intercept;
  };

  const TestKeys keys_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SystemRandomSource random_;
  apiserver::Authenticator authenticator_ =
      *apiserver::Authenticator::Create("secret,admin,1,system:masters");
  const bool tls_;
  registry::RoleAuthorizer roles_;
  std::unique_ptr<store::Store> store_;
  registry::Registry registry_;
  // Nodes read what pods on them refer to.
  const std::unique_ptr<registry::RoleAuthorizer::Following> following_;
  registry::LocalCluster local_;
  registry::RestHandler handler_;
  Door door_{handler_};
  std::uint16_t port_ = 0;
  std::string url_;
  std::unique_ptr<apiserver::Server> server_;
};

}  // namespace dray::client
