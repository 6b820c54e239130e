// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray scheduler`.
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/process_flags.h"
#include "cli/internal/scheduler_flags.h"
#include "cli/internal/server_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "plane/remote_scheduler.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Schedules the pods of an API server, dray's or Kubernetes's own, beside kube-scheduler or in
its place. Of several replicas only the leader schedules; its lease is named after the first
profile of --config. Flags are named as in kube-scheduler and override the configuration
file. Health, metrics and /configz are served at --secure-port. Stops on SIGTERM or Ctrl-C,
after its pending writes.

Examples:
  dray up --without scheduler &
  dray scheduler --kubeconfig ~/.dray/scheduler.kubeconfig
  dray scheduler --config scheduler.yaml --leader-elect=false --secure-port=10300

Exit code: 0 stopped on request, 1 the lease was lost, 2 it could not be started.)";

constexpr const char* kSlowDecision = "--slow-decision-threshold";

class SchedulerCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServerFlags(app, server_);
    AddConfig(app, config_);
    AddGates(app, gates_);
    AddProcessFlags(app, process_);
    AddLogFlags(app, log_);
    AddThreshold(app, kSlowDecision, slow_decision_,
                 "Log scheduling decisions that take longer than this, by phase; 0 means none");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    plane::RemoteSchedulerOptions options;
    const auto gates = ReadGates(io, gates_);
    if (!gates) return kExitUsage;
    options.gates = *gates;
    const auto config = ReadWholeConfig(io, config_);
    if (!config) return kExitUsage;
    options.config = config->config;
    options.fit_gates = true;
    if (!ReadProcessFlags(io, process_, *config, options)) return kExitUsage;
    ServerFlags server = server_;
    if (server.kubeconfig.empty() && config->client_connection) {
      server.kubeconfig = config->client_connection->kubeconfig;
    }
    auto access = ReadAccess(io, server);
    if (!access) return kExitUsage;
    const std::string url = access->url;
    options.access = *std::move(access);
    const auto slow_decision = ReadThreshold(io, kSlowDecision, slow_decision_);
    if (!slow_decision) return kExitUsage;
    options.slow_decision = *slow_decision;
    const EndSignals signals;
    const Status ended = Serve(io, std::move(options), url, signals);
    if (ended.ok()) return kExitOk;
    if (!served_) return UsageError(io, Printable(base::Message(ended)));
    io.err << fmt::format("error: {}\n", Printable(base::Message(ended)));
    return kExitFindings;
  }

 private:
  Status Serve(Io& io, plane::RemoteSchedulerOptions options, const std::string& url,
               const EndSignals& signals) {
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    options.log = log.get();
    const auto scheduler = plane::RemoteScheduler::Start(std::move(options), io.env.clock);
    if (!scheduler.ok()) return scheduler.status();
    served_ = true;
    Introduce(io, **scheduler, url);
    return WatchProcess(io, log->For("scheduler"), **scheduler, signals, "scheduler", "scheduling");
  }

  ServerFlags server_;
  std::string config_;
  std::vector<std::string> gates_;
  ProcessFlags process_;
  LogFlags log_;
  std::string slow_decision_ = "100ms";
  bool served_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeSchedulerCommand() { return std::make_unique<SchedulerCommand>(); }

}  // namespace dray::cli::internal
