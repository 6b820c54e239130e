// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray apiserver`.
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/options.h"
#include "cli/internal/serve_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "plane/control_plane.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Runs only the API server of `dray up`. Scheduling and controllers run as separate processes
(`dray scheduler`, `dray controllers`), on this machine or another one. The data folder holds
the cluster CA, the key that signs service account tokens, and kubeconfigs. All servers of one
cluster must have the same pki/ca.crt, pki/ca.key and pki/sa.key. Stops on SIGTERM or Ctrl-C.

Examples:
  dray apiserver --listen 0.0.0.0:6443 --advertise api.example.com
  dray apiserver --store etcd://a:2379,b:2379,c:2379   one of several servers that share etcd
  dray scheduler --kubeconfig ~/.dray/scheduler.kubeconfig
  dray controllers --kubeconfig ~/.dray/controllers.kubeconfig

Exit code: 0 stopped on request, 1 storage failed, 2 it could not be started.)";

class ApiserverCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServeFlags(app, serve_);
    AddGates(app, serve_.gates);
    AddLogFlags(app, log_);
    AddServeReports(app, serve_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    plane::PlaneOptions options;
    if (!ReadServeFlags(io, serve_, options)) return kExitUsage;
    options.scheduler = options.controllers = options.nodes = false;
    const EndSignals signals;
    const Status ended = Serve(io, std::move(options), signals);
    if (ended.ok()) return kExitOk;
    if (!served_) return UsageError(io, base::Message(ended));
    io.err << fmt::format("error: {}\n", base::Message(ended));
    return kExitFindings;
  }

 private:
  Status Serve(Io& io, plane::PlaneOptions options, const EndSignals& signals) {
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    options.log = log.get();
    const auto plane = plane::ControlPlane::Start(std::move(options), io.env.clock);
    if (!plane.ok()) return plane.status();
    served_ = true;
    for (const plane::Component& part : (*plane)->components()) {
      if (part.name == "store" || part.name == "apiserver") {
        io.out << fmt::format("{:<12} {}\n", part.name, part.text);
      }
    }
    const std::string kubeconfig = std::filesystem::absolute((*plane)->kubeconfig()).string();
    io.out << fmt::format("{:<12} {}\n", "kubeconfig", kubeconfig);
    io.out << fmt::format("ready: export KUBECONFIG={}\n", kubeconfig) << std::flush;
    for (;;) {
      if (signals.Came()) return {};
      if (Status health = (*plane)->Health(); !health.ok()) return health;
    }
  }

  ServeFlags serve_;
  LogFlags log_;
  bool served_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeApiserverCommand() { return std::make_unique<ApiserverCommand>(); }

}  // namespace dray::cli::internal
