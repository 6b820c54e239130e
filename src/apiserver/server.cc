// SPDX-License-Identifier: Apache-2.0
#include "apiserver/server.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "apiserver/internal/connection.h"
#include "apiserver/internal/io_thread.h"
#include "apiserver/internal/transport.h"
#include "fmt/format.h"

namespace dray::apiserver {
namespace {

using boost::asio::ip::tcp;
using internal::Connection;
using internal::IoThread;
using internal::Shared;

// Descriptors that the rest of the process needs: the store, logs, its own clients.
constexpr rlim_t kOtherFiles = 256;
constexpr std::chrono::milliseconds kAcceptPause{100};

// As many connections as are wanted, if the process may have so many files.
std::size_t AllowFiles(std::size_t connections) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  const rlim_t wanted = connections + kOtherFiles;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(limit.rlim_max, wanted);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) return connections;
  return limit.rlim_cur > 2 * kOtherFiles ? limit.rlim_cur - kOtherFiles : limit.rlim_cur / 2;
}

// A socket is no business of the programs that this process starts: one that listens would go on
// doing so in them.
void KeepFromChildren(int socket) { (void)::fcntl(socket, F_SETFD, FD_CLOEXEC); }

class AsioServer final : public Server {
 public:
  explicit AsioServer(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
    for (int i = 0; i < std::max(1, shared_->options.threads); ++i) {
      threads_.push_back(std::make_shared<IoThread>(shared_));
    }
    acceptor_.emplace(threads_[0]->context());
    pause_.emplace(threads_[0]->context());
  }

  ~AsioServer() override {
    StopAccepting();
    for (const auto& thread : threads_) thread->Stop();
    // On their thread's loop, so before it.
    acceptor_.reset();
    pause_.reset();
  }

  Status Listen() {
    const ServerOptions& options = shared_->options;
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(options.address, error);
    if (error) {
      return base::InvalidArgument(fmt::format(
          "address \"{}\": expected an IP address such as 127.0.0.1 or ::1", options.address));
    }
    const tcp::endpoint endpoint(address, options.port);
    acceptor_->open(endpoint.protocol(), error);
    if (!error) KeepFromChildren(acceptor_->native_handle());
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(boost::asio::socket_base::max_listen_connections, error);
    if (error) {
      return base::Unavailable(fmt::format("cannot listen on {} port {}: {}", options.address,
                                           options.port, error.message()));
    }
    port_ = acceptor_->local_endpoint(error).port();
    for (const auto& thread : threads_) thread->Start();
    threads_[0]->Post([this] { Accept(); });
    return {};
  }

  std::uint16_t port() const override { return port_; }

  std::string url() const override {
    const std::string& address = shared_->options.address;
    const bool is_v6 = address.find(':') != address.npos;
    return fmt::format("{}://{}{}{}:{}", shared_->options.tls ? "https" : "http", is_v6 ? "[" : "",
                       address, is_v6 ? "]" : "", port_);
  }

  ServerStats stats() const override {
    return {.connections = shared_->connections,
            .accepted = shared_->accepted,
            .refused = shared_->refused,
            .requests = shared_->requests,
            .malformed = shared_->malformed,
            .timed_out = shared_->timed_out};
  }

  void Drain(std::chrono::milliseconds patience) override {
    shared_->draining = true;
    StopAccepting();
    for (const auto& thread : threads_) {
      thread->Post([thread] {
        const std::vector<std::shared_ptr<Connection>> open(thread->connections().begin(),
                                                            thread->connections().end());
        for (const auto& connection : open) connection->Drain();
      });
    }
    const auto end = std::chrono::steady_clock::now() + patience;
    while (shared_->connections > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  Status UseCertificate(const KeyPair& server) override {
    if (!shared_->options.tls) return base::FailedPrecondition("it serves without TLS");
    TlsOptions tls = *shared_->options.tls;
    tls.server = server;
    auto context = internal::MakeSslContext(tls, shared_->options.http2);
    if (!context.ok()) return base::Annotate(context.status(), "serving certificate");
    const base::MutexLock lock(shared_->mutex);
    shared_->tls = *std::move(context);
    return {};
  }

 private:
  void StopAccepting() {
    threads_[0]->Post([this] {
      boost::system::error_code ignored;
      acceptor_->close(ignored);
      pause_->cancel();
    });
  }

  void Accept() {
    if (!acceptor_->is_open()) return;
    const std::shared_ptr<IoThread>& thread = threads_[next_++ % threads_.size()];
    acceptor_->async_accept(
        thread->context(),
        [this, thread](const boost::system::error_code& error, tcp::socket socket) {
          OnAccept(thread, error, std::move(socket));
        });
  }

  void OnAccept(const std::shared_ptr<IoThread>& thread, const boost::system::error_code& error,
                tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (error) {
      // Out of descriptors, most likely: trying again at once would only burn time.
      pause_->expires_after(kAcceptPause);
      return pause_->async_wait([this](const boost::system::error_code& cancelled) {
        if (!cancelled) Accept();
      });
    }
    KeepFromChildren(socket.native_handle());
    if (shared_->connections >= shared_->options.max_connections) {
      ++shared_->refused;
      socket.close();
    } else {
      ++shared_->accepted;
      ++shared_->connections;
      thread->Post([thread, moved = std::make_shared<tcp::socket>(std::move(socket))] {
        internal::StartConnection(thread, std::move(*moved));
      });
    }
    Accept();
  }

  const std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<IoThread>> threads_;
  std::optional<tcp::acceptor> acceptor_;
  std::optional<boost::asio::steady_timer> pause_;
  std::uint16_t port_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Handler& handler,
                                                const Authenticator& authenticator) {
  auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.max_connections = AllowFiles(options.max_connections);
  shared->handler = &handler;
  shared->authenticator = &authenticator;
  if (options.tls) {
    auto context = internal::MakeSslContext(*options.tls, options.http2);
    if (!context.ok()) return base::Annotate(context.status(), "serving certificate");
    const base::MutexLock lock(shared->mutex);
    shared->tls = *std::move(context);
  }
  auto server = std::make_unique<AsioServer>(std::move(shared));
  DRAY_RETURN_IF_ERROR(server->Listen());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace dray::apiserver
