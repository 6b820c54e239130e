// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray controllers`.
#include <memory>
#include <optional>
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
#include "plane/remote_controllers.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Runs the controllers for an API server of dray: claims from templates, workloads, garbage
collection, quotas, node lifecycle, namespaces and certificates. Of several replicas only the
leader works. Flags are named as in kube-controller-manager. Stops on SIGTERM or Ctrl-C, after
the writes under way are done.

Examples:
  dray apiserver --store sqlite:/var/lib/dray/dray.db &
  dray controllers --kubeconfig ~/.dray/controllers.kubeconfig
  dray controllers --cluster-signing-cert-file ca.crt --cluster-signing-key-file ca.key
  dray controllers --simulated-nodes          also run simulated nodes, as `dray up` does

Exit code: 0 stopped on request, 1 the lease was lost, 2 it could not be started.)";

constexpr const char* kCertificate = "--cluster-signing-cert-file";
constexpr const char* kKey = "--cluster-signing-key-file";

class ControllersCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServerFlags(app, server_);
    app.add_flag("--simulated-nodes", nodes_,
                 "Also run simulated nodes: pods on them change state, no containers run");
    app.add_flag("--only-simulated-nodes", only_nodes_,
                 "Run only the simulated nodes, with a lease of their own");
    app.add_option("--root-ca-file", authority_,
                   "CA bundle for pods (default: the CA of the kubeconfig)")
        ->type_name("FILE");
    app.add_option(kCertificate, certificate_,
                   "CA that signs certificates of nodes and clients; without it none are signed")
        ->type_name("FILE");
    app.add_option(kKey, key_, "Private key of that CA")->type_name("FILE");
    AddGates(app, gates_);
    AddProcessFlags(
        app, process_,
        {.who = "controllers", .lease = "dray-controllers", .port = plane::kControllersPort});
    AddLogFlags(app, log_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    plane::RemoteControllersOptions options;
    const auto gates = ReadGates(io, gates_);
    if (!gates) return kExitUsage;
    options.gates = *gates;
    options.nodes = nodes_ || only_nodes_;
    options.controllers = !only_nodes_;
    options.lease.name = only_nodes_ ? "dray-simulated-nodes" : "dray-controllers";
    if (!ReadProcessFlags(io, process_, options) || !ReadKeys(io, options)) return kExitUsage;
    if (options.serving) options.serving->name = "dray-controllers";
    auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    const std::string url = access->url;
    options.access = *std::move(access);
    const EndSignals signals;
    const Status ended = Serve(io, std::move(options), url, signals);
    if (ended.ok()) return kExitOk;
    if (!served_) return UsageError(io, Printable(base::Message(ended)));
    io.err << fmt::format("error: {}\n", Printable(base::Message(ended)));
    return kExitFindings;
  }

 private:
  // False: it has been told why.
  bool ReadKeys(Io& io, plane::RemoteControllersOptions& options) const {
    if (certificate_.empty() != key_.empty()) {
      UsageError(io, fmt::format("{} and {} must be given together", kCertificate, kKey));
      return false;
    }
    if (!authority_.empty()) {
      auto text = ReadText(io, authority_);
      if (!text) return false;
      options.authority = *std::move(text);
    }
    if (certificate_.empty()) return true;
    if (!IsPrivate(io, kKey, key_)) return false;
    auto certificate = ReadText(io, certificate_);
    auto key = ReadText(io, key_);
    if (!certificate || !key) return false;
    options.signer = {*std::move(certificate), *std::move(key)};
    if (const Status fits = apiserver::CheckAuthority(*options.signer); !fits.ok()) {
      UsageError(io,
                 Printable(fmt::format("{} {}, {} {}: {}", kCertificate, certificate_, kKey, key_,
                                       base::Message(fits))),
                 "use pki/ca.crt and pki/ca.key of the API server's data folder");
      return false;
    }
    return true;
  }

  Status Serve(Io& io, plane::RemoteControllersOptions options, const std::string& url,
               const EndSignals& signals) {
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    options.log = log.get();
    const auto controllers = plane::RemoteControllers::Start(std::move(options), io.env.clock);
    if (!controllers.ok()) return controllers.status();
    served_ = true;
    Introduce(io, **controllers, url);
    return WatchProcess(io, log->For("controllers"), **controllers, signals, "controllers",
                        "working");
  }

  ServerFlags server_;
  bool nodes_ = false;
  bool only_nodes_ = false;
  std::string authority_;
  std::string certificate_;
  std::string key_;
  std::vector<std::string> gates_;
  ProcessFlags process_;
  LogFlags log_;
  bool served_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeControllersCommand() { return std::make_unique<ControllersCommand>(); }

}  // namespace dray::cli::internal
