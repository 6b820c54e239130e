// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray up`.
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "apiserver/credentials.h"
#include "base/names.h"
#include "cli/internal/command.h"
#include "cli/internal/console_desk.h"
#include "cli/internal/hollow_cluster.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/node_child.h"
#include "cli/internal/options.h"
#include "cli/internal/scheduler_flags.h"
#include "cli/internal/serve_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "cli/source_files.h"
#include "console/served_console.h"
#include "fmt/format.h"
#include "plane/control_plane.h"
#include "plane/identities.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Runs a whole control plane in one process: API server, store, scheduler, controllers and
simulated nodes, on which pods change state but no containers run. Stored objects survive a
restart. Stops on SIGTERM or Ctrl-C.

Examples:
  dray up --demo                           a small cluster with a workload per proposal
  dray up --nodes 10                       ten nodes with four devices each
  dray up --simulated-nodes cluster.yaml   the cluster of a scenario (docs/simulate.md)
  dray up --with-node                      also run this machine as a node, with containers
  dray up --nodes 10 --policy fragmentation   keep room for later pods (docs/packing.md)
  dray up --without scheduler              use a separate 'dray scheduler'
  dray up --store etcd://127.0.0.1:2379    keep objects in etcd, for this server alone
  dray up --audit-log-path audit.log -v 2  audit every write, and log more
  kubectl --kubeconfig ~/.dray/admin.kubeconfig get pods,resourceclaims

Exit code: 0 stopped on request, 1 storage failed, 2 it could not be started.)";

constexpr const char* kSlowDecision = "--slow-decision-threshold";
constexpr const char* kStuckLoop = "--stuck-loop-threshold";
constexpr std::int64_t kMaxNodes = 10'000;

class UpCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServeFlags(app, serve_);
    app.add_flag("--memory", memory_,
                 "Same as --store=memory: objects are lost when the process ends");
    app.add_option("--nodes", nodes_, "Create N simulated nodes with 4 devices each")
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{1}, kMaxNodes).description(""));
    app.add_option("--simulated-nodes,--hollow-nodes", hollow_nodes_,
                   "Create simulated nodes and objects from the cluster section of a scenario")
        ->type_name("FILE");
    app.add_flag("--demo", demo_, "Create a small mixed cluster with a workload per proposal");
    app.add_flag("--with-node{real-0}", real_node_,
                 "Also run this machine as a node, called real-0 or NAME: 'dray node' with its "
                 "files in DATA/node and images from DATA/images");
    AddChoices(*app.add_option("--node-runtime", node_runtime_,
                               "Container runtime of that node: runc or none")
                    ->type_name("NAME")
                    ->capture_default_str(),
               {"runc", "none"});
    AddChoices(*app.add_option("--without", without_,
                               "Components not to start: scheduler, controllers, nodes")
                    ->type_name("PART,PART")
                    ->delimiter(',')
                    ->allow_extra_args(false),
               {"scheduler", "controllers", "nodes"});
    app.add_option("--scenarios", scenarios_, "Folder of scenarios that the console can simulate")
        ->type_name("DIR");
    AddConfig(app, config_);
    AddPolicy(app, policy_, "Which nodes and devices the scheduler prefers (default first-fit)");
    AddGates(app, serve_.gates);
    AddLogFlags(app, log_);
    AddThreshold(app, kSlowDecision, slow_decision_,
                 "Log scheduling decisions that take longer than this, by phase; 0 means none");
    AddThreshold(app, kStuckLoop, stuck_loop_,
                 "/healthz fails while a scheduler or controller loop is stuck for longer than "
                 "this; 0 means never");
    AddServeReports(app, serve_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    plane::PlaneOptions options;
    if (!ReadServeFlags(io, serve_, options)) return kExitUsage;
    if (memory_ && !serve_.store.empty()) {
      return UsageError(io, "--memory and --store cannot both be given");
    }
    if (memory_) options.store = plane::StoreAddress::Memory();
    // What decides here nobody else decides.
    options.etcd.alone = true;
    for (const std::string& part : without_) {
      if (part == "scheduler") options.scheduler = false;
      if (part == "controllers") options.controllers = false;
      if (part == "nodes") options.nodes = false;
    }
    auto config = ReadSchedulerConfig(io, config_, policy_);
    if (!config) return kExitUsage;
    options.config = *std::move(config);
    if (!ReadObjects(io, options)) return kExitUsage;
    const auto slow_decision = ReadThreshold(io, kSlowDecision, slow_decision_);
    const auto stuck_loop = ReadThreshold(io, kStuckLoop, stuck_loop_);
    if (!slow_decision || !stuck_loop) return kExitUsage;
    options.health.stuck_loop = *stuck_loop;
    options.slow_decision = *slow_decision;
    if (!real_node_.empty() && !base::IsDnsSubdomain(real_node_)) {
      return UsageError(io, fmt::format("--with-node: \"{}\" is not a valid node name", real_node_),
                        "lower-case letters, digits, '-' and '.', as in real-0");
    }
    const EndSignals signals;
    const Status ended = Serve(io, std::move(options), signals);
    if (ended.ok()) return kExitOk;
    if (!served_) return UsageError(io, base::Message(ended));
    io.err << fmt::format("error: {}\n", base::Message(ended));
    return kExitFindings;
  }

 private:
  // Until it is told to end, or cannot go on.
  Status Serve(Io& io, plane::PlaneOptions options, const EndSignals& signals) {
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    options.log = log.get();
    const std::string data = std::filesystem::absolute(options.data).string();
    const auto desk = MakeConsoleDesk({.gates = options.gates, .scenarios = scenarios_});
    options.front = [&io, &desk, gates = options.gates](api::Cluster& cluster,
                                                        const api::Authorizer& authorizer,
                                                        apiserver::Handler& api) {
      return console::MakeServedConsole(
          {.gates = gates, .version = "dray " DRAY_VERSION, .cluster = "dray"}, cluster, authorizer,
          api, *desk, io.env.clock);
    };
    const auto plane = plane::ControlPlane::Start(std::move(options), io.env.clock);
    if (!plane.ok()) return plane.status();
    served_ = true;
    for (const plane::Component& part : (*plane)->components()) {
      io.out << fmt::format("{:<12} {}\n", part.name, part.text);
    }
    io.out << fmt::format("{:<12} {}/console/\n", "console", (*plane)->url());
    // For another terminal, in another folder.
    const std::string kubeconfig = std::filesystem::absolute((*plane)->kubeconfig()).string();
    io.out << fmt::format("{:<12} {}\n", "kubeconfig", kubeconfig);
    std::optional<NodeChild> node;
    if (!real_node_.empty()) {
      auto started = StartNode(data, io.env.clock.Now());
      if (!started.ok()) return started.status();
      node.emplace(*std::move(started));
      io.out << fmt::format("{:<12} {}, log in {}/node.log\n", "node", real_node_, data);
    }
    io.out << fmt::format("ready: export KUBECONFIG={}\n", kubeconfig) << std::flush;
    for (;;) {
      if (signals.Came()) return {};
      if (node) {
        if (const std::string told = node->Look(); !told.empty()) io.err << told << std::endl;
      }
      if (Status health = (*plane)->Health(); !health.ok()) return health;
    }
  }

  // Everything of it is below the data folder, so that several of them get along.
  StatusOr<NodeChild> StartNode(const std::string& data, base::Time now) const {
    DRAY_ASSIGN_OR_RETURN(const auto client, plane::ClientFor("node/" + real_node_, ""));
    DRAY_ASSIGN_OR_RETURN(const std::string kubeconfig,
                          apiserver::IssueKubeconfig(data, client, now));
    const std::string root = data + "/node";
    const std::string images = data + "/images";
    std::error_code error;
    std::filesystem::create_directories(images, error);
    return NodeChild::Start(
        {.arguments = {"--kubeconfig", kubeconfig, "--node-name", real_node_, "--root", root,
                       "--images", images, "--runtime", node_runtime_, "--pod-logs", root + "/logs",
                       "--cdi-dirs", "/etc/cdi,/var/run/cdi," + root + "/cdi", "--port", "0"},
         .log = data + "/node.log"});
  }

  // False: it has been told why.
  bool ReadObjects(Io& io, plane::PlaneOptions& options) const {
    const auto add = [&](const std::string& name, std::string_view text) {
      auto objects = ReadHollowCluster(io, name, text, options.gates);
      if (!objects) return false;
      for (api::Object& object : *objects) options.objects.push_back(std::move(object));
      return true;
    };
    if (demo_ && !add("demo", DemoScenario())) return false;
    if (nodes_ && !add("--nodes", PlainScenario(*nodes_))) return false;
    if (hollow_nodes_.empty()) return true;
    const Sources sources = LoadSources(std::vector<std::string>{hollow_nodes_}, io.in);
    for (const SourceError& error : sources.errors) {
      UsageError(io, fmt::format("{}: {}", error.path, error.message), error.hint);
    }
    if (!sources.errors.empty()) return false;
    for (const SourceFile& file : sources.files) {
      if (!add(file.path, file.text)) return false;
    }
    return true;
  }

  ServeFlags serve_;
  bool memory_ = false;
  std::optional<std::int64_t> nodes_;
  std::string hollow_nodes_;
  bool demo_ = false;
  std::string real_node_;
  std::string node_runtime_ = "runc";
  std::vector<std::string> without_;
  std::string scenarios_;
  std::string config_;
  std::string policy_;
  LogFlags log_;
  std::string slow_decision_ = "100ms";
  std::string stuck_loop_ = "30s";
  bool served_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeUpCommand() { return std::make_unique<UpCommand>(); }

}  // namespace dray::cli::internal
