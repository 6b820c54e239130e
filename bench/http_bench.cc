// SPDX-License-Identifier: Apache-2.0
//
// What a request costs, and what a watch costs that has nothing to say.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/client_for_test.h"
#include "apiserver/server.h"
#include "base/check.h"
#include "base/clock.h"

namespace dray::apiserver {
namespace {

// Never says anything.
class SilentSource final : public StreamSource {
 public:
  void Start(std::function<void()>) override {}
  State Pull(std::vector<Bytes>&) override { return State::kWait; }
};

// A body of about a pod's size, or a stream.
class BenchHandler final : public Handler {
 public:
  void Handle(Request request, std::shared_ptr<Responder> responder) override {
    Response response;
    if (request.path == "/watch") {
      response.stream = std::make_unique<SilentSource>();
    } else {
      response.body = body_;
    }
    responder->Send(std::move(response));
  }

 private:
  const Bytes body_ = std::make_shared<const std::string>(2048, 'x');
};

struct Pki {
  base::Time now = base::SystemClock().Now();
  KeyPair authority = *MakeAuthority("bench", now, std::chrono::hours(1));
  KeyPair server = *MakeCertificate(
      authority,
      {.use = CertificateSpec::Use::kServer, .common_name = "server", .hosts = {"localhost"}}, now);
};

const Pki& ThePki() {
  static const Pki pki;
  return pki;
}

ServerOptions Options(bool tls) {
  ServerOptions options;
  if (tls) {
    options.tls =
        TlsOptions{.server = ThePki().server, .client_authority = ThePki().authority.certificate};
  }
  return options;
}

std::optional<ClientTls> TlsOf(bool tls) {
  if (!tls) return std::nullopt;
  return ClientTls{.authority = ThePki().authority.certificate};
}

// The client's work is in the time too: it shares the machine, as it would with `dray up`.
void BM_Http_Requests(benchmark::State& state) {
  BenchHandler handler;
  const Authenticator authenticator;
  const bool tls = state.range(1) != 0;
  const auto server = Server::Start(Options(tls), handler, authenticator);
  DRAY_CHECK(server.ok());
  std::vector<std::unique_ptr<TestClient>> clients;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    clients.push_back(std::make_unique<TestClient>((*server)->port(), TlsOf(tls)));
    DRAY_CHECK(clients.back()->connected());
  }
  for (auto _ : state) {
    for (const auto& client : clients) client->Send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (const auto& client : clients) DRAY_CHECK(client->ReadResponse().status == 200);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Http_Requests)
    ->ArgNames({"connections", "tls"})
    ->ArgsProduct({{1, 64}, {0, 1}})
    ->UseRealTime();

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double size = 0;
  double resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// In a process of its own, so that what clients need does not count. Never returns.
[[noreturn]] void HoldWatches(std::int64_t count, bool tls, int port_pipe, int ready_pipe) {
  rlimit files = {};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  std::uint16_t port = 0;
  if (::read(port_pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (std::int64_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<TestClient>(port, TlsOf(tls)));
    clients.back()->Send("GET /watch HTTP/1.1\r\nHost: localhost\r\n\r\n");
    if (clients.back()->ReadUntil("\r\n\r\n").empty()) _exit(2);
  }
  const char ready = 'r';
  if (::write(ready_pipe, &ready, 1) != 1) _exit(3);
  while (true) ::pause();
}

void BM_Http_IdleWatches(benchmark::State& state) {
  const bool tls = state.range(1) != 0;
  ThePki();
  for (auto _ : state) {
    int port_pipe[2];
    int ready_pipe[2];
    DRAY_CHECK(::pipe(port_pipe) == 0 && ::pipe(ready_pipe) == 0);
    const pid_t child = ::fork();
    if (child == 0) HoldWatches(state.range(0), tls, port_pipe[0], ready_pipe[1]);
    ::close(ready_pipe[1]);
    BenchHandler handler;
    const Authenticator authenticator;
    const auto server = Server::Start(Options(tls), handler, authenticator);
    DRAY_CHECK(server.ok());
    const double before = ResidentBytes();
    const std::uint16_t port = (*server)->port();
    DRAY_CHECK(::write(port_pipe[1], &port, sizeof(port)) == sizeof(port));
    char ready = 0;
    DRAY_CHECK(::read(ready_pipe[0], &ready, 1) == 1, "the clients gave up");
    DRAY_CHECK((*server)->stats().connections == static_cast<std::size_t>(state.range(0)));
    state.counters["bytes_per_watch"] =
        (ResidentBytes() - before) / static_cast<double>(state.range(0));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const int end : {port_pipe[0], port_pipe[1], ready_pipe[0]}) ::close(end);
  }
}
BENCHMARK(BM_Http_IdleWatches)
    ->ArgNames({"watches", "tls"})
    ->ArgsProduct({{5000}, {0, 1}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace dray::apiserver
