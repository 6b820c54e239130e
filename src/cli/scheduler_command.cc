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
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/scheduler_flags.h"
#include "cli/internal/server_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "plane/remote_scheduler.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Gives nodes and devices to the pods of an API server, dray's or another one's, in
place of kube-scheduler. Of several, the one that holds the lease
kube-system/kube-scheduler decides. Ends on SIGTERM or Ctrl-C.

Examples:
  dray up --without scheduler &
  dray scheduler --kubeconfig ~/.dray/scheduler.kubeconfig
  dray scheduler --config scheduler.yaml --leader-elect=false

Exit code: 0 ended when told to, 1 the lease was lost, 2 it could not be started.)";

class SchedulerCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServerFlags(app, server_);
    AddConfig(app, config_);
    AddGates(app, gates_);
    app.add_flag("--leader-elect", leader_elect_, "Use leader election (default true)");
    app.add_option("--leader-elect-identity", identity_,
                   "Who this is in the lease; made up if not given")
        ->type_name("NAME");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    plane::RemoteSchedulerOptions options;
    const auto gates = ReadGates(io, gates_);
    if (!gates) return kExitUsage;
    options.gates = *gates;
    auto config = ReadSchedulerConfig(io, config_);
    if (!config) return kExitUsage;
    options.config = *std::move(config);
    auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    const std::string url = access->url;
    options.access = *std::move(access);
    options.leader_elect = leader_elect_;
    options.identity = identity_;
    const EndSignals signals;
    const auto scheduler = plane::RemoteScheduler::Start(std::move(options), io.env.clock);
    if (!scheduler.ok()) return UsageError(io, Printable(base::Message(scheduler.status())));
    io.out << fmt::format("{:<12} {}\n", "apiserver", url) << std::flush;
    return Watch(io, **scheduler, signals);
  }

 private:
  // Says what changes, until it is told to end.
  static int Watch(Io& io, const plane::RemoteScheduler& scheduler, const EndSignals& signals) {
    std::string said;
    std::string trouble;
    std::string election;
    for (;;) {
      if (const Status health = scheduler.Health(); !health.ok()) {
        io.err << fmt::format("error: {}\n", base::Message(health));
        return kExitFindings;
      }
      const std::string leader = scheduler.leader();
      std::string state = "scheduling";
      if (scheduler.leading() && !scheduler.Connection().ok()) {
        state = "paused: the cluster cannot be seen";
      } else if (!scheduler.leading()) {
        state = leader.empty() ? "waiting for the lease"
                               : fmt::format("waiting: {} has the lease", Printable(leader));
      }
      if (state != said) io.out << fmt::format("{:<12} {}\n", "scheduler", state) << std::flush;
      said = std::move(state);
      std::string now(base::Message(scheduler.Connection()));
      if (now != trouble) {
        io.err << (now.empty() ? std::string("note: the server is back")
                               : fmt::format("warning: {}", Printable(now)))
               << std::endl;
      }
      trouble = std::move(now);
      std::string lease(base::Message(scheduler.Election()));
      if (lease != election && !lease.empty()) {
        io.err << fmt::format("warning: leader election: {}", Printable(lease)) << std::endl;
      }
      election = std::move(lease);
      if (signals.Came()) return kExitOk;
    }
  }

  ServerFlags server_;
  std::string config_;
  std::vector<std::string> gates_;
  bool leader_elect_ = true;
  std::string identity_;
};

}  // namespace

std::unique_ptr<Command> MakeSchedulerCommand() { return std::make_unique<SchedulerCommand>(); }

}  // namespace dray::cli::internal
