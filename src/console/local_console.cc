// SPDX-License-Identifier: Apache-2.0
#include "console/local_console.h"

#include <atomic>
#include <utility>

#include "apiserver/server.h"
#include "console/door.h"
#include "console/handler.h"
#include "fmt/format.h"

namespace dray::console {
namespace {

// The port is known once the server listens, and whom to answer once the port is.
class Late final : public apiserver::Handler {
 public:
  void Set(apiserver::Handler* handler) { handler_ = handler; }
  void Handle(apiserver::Request request,
              std::shared_ptr<apiserver::Responder> responder) override {
    apiserver::Handler* const handler = handler_;
    if (handler == nullptr) {
      responder->Send(Failure(503, "ServiceUnavailable", "the console is starting"));
      return;
    }
    handler->Handle(std::move(request), std::move(responder));
  }

 private:
  std::atomic<apiserver::Handler*> handler_ = nullptr;
};

class Local final : public LocalConsole {
 public:
  Local(LocalOptions options, std::unique_ptr<Source> source, Desk& desk, const base::Clock& clock)
      : options_(std::move(options)),
        source_(std::move(source)),
        desk_(desk),
        hub_(*source_, desk, clock, {}),
        authenticator_(apiserver::Authenticator::LeavingTokens()),
        token_(NewToken()) {}
  ~Local() override {
    // Streams end before those whom they look at.
    if (server_ != nullptr) server_->Drain(std::chrono::milliseconds(500));
    server_.reset();
  }

  Status Listen() {
    if (options_.address != "127.0.0.1" && options_.address != "::1") {
      return base::InvalidArgument(
          fmt::format("\"{}\" is not a loopback address: a client that reaches the console has the "
                      "kubeconfig's "
                      "rights to read, so it listens on 127.0.0.1 or ::1 only",
                      options_.address));
    }
    apiserver::ServerOptions serving;
    serving.address = options_.address;
    serving.port = options_.port;
    // Who has no token is turned away once the request is there; nobody else can connect.
    serving.max_anonymous_body_bytes = kMostManifestBytes + (64u << 10);
    serving.max_body_bytes = serving.max_anonymous_body_bytes;
    serving.max_receiving_bytes = 64u << 20;
    serving.max_connections = 200;
    DRAY_ASSIGN_OR_RETURN(server_, apiserver::Server::Start(serving, late_, authenticator_));
    const std::uint16_t port = server_->port();
    HandlerOptions handling;
    handling.door.token = token_;
    handling.door.hosts = {fmt::format("127.0.0.1:{}", port), fmt::format("localhost:{}", port),
                           fmt::format("[::1]:{}", port)};
    handling.version = options_.version;
    handling.cluster = options_.cluster;
    handling.server = options_.server;
    handling.user = options_.user;
    handling.namespace_ = options_.namespace_;
    handler_ = std::make_unique<ConsoleHandler>(hub_, desk_, std::move(handling));
    late_.Set(handler_.get());
    url_ = options_.address == "::1" ? fmt::format("http://[::1]:{}/console/", port)
                                     : fmt::format("http://{}:{}/console/", options_.address, port);
    hub_.Start();
    return {};
  }

  const std::string& url() const override { return url_; }
  const std::string& token() const override { return token_; }
  std::string address() const override { return fmt::format("{}#t={}", url_, token_); }
  Connection connection() const override { return hub_.connection(); }

 private:
  const LocalOptions options_;
  const std::unique_ptr<Source> source_;
  Desk& desk_;
  Hub hub_;
  const apiserver::Authenticator authenticator_;
  const std::string token_;
  Late late_;
  std::unique_ptr<ConsoleHandler> handler_;
  std::unique_ptr<apiserver::Server> server_;
  std::string url_;
};

}  // namespace

StatusOr<std::unique_ptr<LocalConsole>> LocalConsole::Start(LocalOptions options,
                                                            std::unique_ptr<Source> source,
                                                            Desk& desk, const base::Clock& clock) {
  auto console = std::make_unique<Local>(std::move(options), std::move(source), desk, clock);
  DRAY_RETURN_IF_ERROR(console->Listen());
  return std::unique_ptr<LocalConsole>(std::move(console));
}

}  // namespace dray::console
