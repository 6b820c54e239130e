// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray up`.
#include <charconv>
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
#include "cli/internal/audit_flags.h"
#include "cli/internal/command.h"
#include "cli/internal/hollow_cluster.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/node_child.h"
#include "cli/internal/options.h"
#include "cli/internal/process_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "cli/source_files.h"
#include "fmt/format.h"
#include "plane/control_plane.h"
#include "plane/identities.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(One process: API server, store, scheduler, controllers, and nodes without machines
on which pods run and end. What was stored is there again after a restart. Ends on
SIGTERM or Ctrl-C.

Examples:
  dray up --demo                           a small cluster with a workload per proposal
  dray up --nodes 10                       ten nodes with four devices each
  dray up --hollow-nodes cluster.yaml      the cluster of a scenario (docs/simulate.md)
  dray up --with-node                      and this machine as a node that runs containers
  dray up --without scheduler              leave scheduling to 'dray scheduler'
  dray up --audit-log-path audit.log -v 2  write down who changes what; a chattier log
  kubectl --kubeconfig ~/.dray/admin.kubeconfig get pods,resourceclaims

Exit code: 0 ended when told to, 1 storage failed, 2 it could not be started.)";

constexpr const char* kSlowRequest = "--slow-request-threshold";
constexpr const char* kSlowDecision = "--slow-decision-threshold";
constexpr const char* kSlowCommit = "--slow-commit-threshold";
constexpr const char* kStuckLoop = "--stuck-loop-threshold";
constexpr const char* kStuckRequest = "--stuck-request-threshold";
constexpr std::int64_t kMaxNodes = 10'000;

class UpCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddDataFolder(app, data_);
    app.add_flag("--memory", memory_, "No database: objects end with the process");
    app.add_option("--listen", listen_, "Address and port; port 0 is a free one")
        ->type_name("ADDRESS:PORT")
        ->capture_default_str();
    app.add_option("--nodes", nodes_, "Create N simulated nodes with 4 devices each")
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{1}, kMaxNodes).description(""));
    app.add_option("--hollow-nodes", hollow_nodes_,
                   "Nodes and objects of a scenario's cluster section")
        ->type_name("FILE");
    app.add_flag("--demo", demo_, "A small mixed cluster with a workload per proposal");
    app.add_flag("--with-node{real-0}", real_node_,
                 "Run this machine as a node, too, called real-0 or =NAME: 'dray node' with its "
                 "files in DATA/node and images from DATA/images");
    AddChoices(
        *app.add_option("--node-runtime", node_runtime_, "What runs its containers: runc or none")
             ->type_name("NAME")
             ->capture_default_str(),
        {"runc", "none"});
    app.add_option(
           "--token-auth-file", tokens_,
           "Bearer tokens, as kube-apiserver has them: token,user,uid,\"group,group\" lines")
        ->type_name("FILE");
    AddHttp2Flags(app, http2_);
    AddChoices(
        *app.add_option("--without", without_,
                        "Parts that run elsewhere or not at all: scheduler, controllers, nodes")
             ->type_name("PART,PART")
             ->delimiter(',')
             ->allow_extra_args(false),
        {"scheduler", "controllers", "nodes"});
    AddGates(app, gates_);
    AddLogFlags(app, log_);
    AddThreshold(app, kSlowRequest, slow_request_,
                 "Log requests that take longer, step by step; 0: none");
    AddThreshold(app, kSlowDecision, slow_decision_,
                 "Log scheduling decisions that take longer, by phases; 0: none");
    AddThreshold(app, kSlowCommit, slow_commit_,
                 "/healthz fails while the disk takes longer for a commit; 0: never");
    AddThreshold(app, kStuckLoop, stuck_loop_,
                 "/healthz fails while scheduler or controllers are at one thing for longer; 0: "
                 "never");
    AddThreshold(app, kStuckRequest, stuck_request_,
                 "/readyz and /healthz fail while a request waits longer for a thread; 0: never");
    AddAuditFlags(app, audit_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    plane::PlaneOptions options;
    const auto gates = ReadGates(io, gates_);
    if (!gates) return kExitUsage;
    options.gates = *gates;
    options.in_memory = memory_;
    for (const std::string& part : without_) {
      if (part == "scheduler") options.scheduler = false;
      if (part == "controllers") options.controllers = false;
      if (part == "nodes") options.nodes = false;
    }
    options.data = DataFolder(io.env, data_);
    ReadHttp2Flags(http2_, options);
    if (!ReadListen(options)) {
      return UsageError(io, fmt::format("--listen: \"{}\" must be an address and a port", listen_),
                        "as in 127.0.0.1:6443");
    }
    if (!ReadObjects(io, options) || !ReadTokens(io, options)) return kExitUsage;
    const auto slow_request = ReadThreshold(io, kSlowRequest, slow_request_);
    const auto slow_decision = ReadThreshold(io, kSlowDecision, slow_decision_);
    const auto slow_commit = ReadThreshold(io, kSlowCommit, slow_commit_);
    const auto stuck_loop = ReadThreshold(io, kStuckLoop, stuck_loop_);
    const auto stuck_request = ReadThreshold(io, kStuckRequest, stuck_request_);
    auto audit = ReadAuditFlags(io, audit_);
    if (!slow_request || !slow_decision || !audit) return kExitUsage;
    if (!slow_commit || !stuck_loop || !stuck_request) return kExitUsage;
    options.health = {*slow_commit, *stuck_loop, *stuck_request};
    options.slow_request = *slow_request;
    options.slow_decision = *slow_decision;
    options.audit = *std::move(audit);
    if (!real_node_.empty() && !base::IsDnsSubdomain(real_node_)) {
      return UsageError(
          io, fmt::format("--with-node: \"{}\" is not a name that a node can have", real_node_),
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
    const auto plane = plane::ControlPlane::Start(std::move(options), io.env.clock);
    if (!plane.ok()) return plane.status();
    served_ = true;
    for (const plane::Component& part : (*plane)->components()) {
      io.out << fmt::format("{:<12} {}\n", part.name, part.text);
    }
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

  bool ReadListen(plane::PlaneOptions& options) const {
    const auto colon = listen_.rfind(':');
    if (colon == std::string::npos || colon == 0) return false;
    options.address = listen_.substr(0, colon);
    if (options.address.front() == '[' && options.address.back() == ']') {
      options.address = options.address.substr(1, options.address.size() - 2);
    }
    const char* const end = listen_.data() + listen_.size();
    const auto [rest, error] = std::from_chars(listen_.data() + colon + 1, end, options.port);
    return error == std::errc() && rest == end;
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

  // The mode of a file that others can read, or write and so let themselves in; its group may read
  // it, as the volume of a secret has it. Nothing for what is no file, as a pipe.
  static std::optional<unsigned> TooOpen(const std::string& file) {
    using std::filesystem::perms;
    std::error_code error;
    const auto about = std::filesystem::status(file, error);
    if (error || about.type() != std::filesystem::file_type::regular) return std::nullopt;
    const perms mode = about.permissions();
    if ((mode & (perms::others_all | perms::group_write)) == perms::none) return std::nullopt;
    return static_cast<unsigned>(mode & perms::mask);
  }

  bool ReadTokens(Io& io, plane::PlaneOptions& options) const {
    if (tokens_.empty()) return true;
    if (const auto mode = TooOpen(tokens_)) {
      UsageError(io,
                 fmt::format("--token-auth-file: {} holds secrets and others than its owner can "
                             "read or write it (mode {:04o})",
                             tokens_, *mode),
                 fmt::format("if nobody has: chmod 600 {}", tokens_));
      return false;
    }
    const Sources sources = LoadSources(std::vector<std::string>{tokens_}, io.in);
    for (const SourceError& error : sources.errors) {
      UsageError(io, fmt::format("--token-auth-file: {}: {}", error.path, error.message));
    }
    for (const SourceFile& file : sources.files) options.tokens += file.text + "\n";
    return sources.errors.empty();
  }

  std::string data_;
  bool memory_ = false;
  std::string listen_ = "127.0.0.1:6443";
  std::optional<std::int64_t> nodes_;
  std::string hollow_nodes_;
  bool demo_ = false;
  std::string real_node_;
  std::string node_runtime_ = "runc";
  std::string tokens_;
  Http2Flags http2_;
  std::vector<std::string> without_;
  std::vector<std::string> gates_;
  LogFlags log_;
  std::string slow_request_ = "500ms";
  std::string slow_decision_ = "100ms";
  std::string slow_commit_ = "1s";
  std::string stuck_loop_ = "30s";
  std::string stuck_request_ = "10s";
  AuditFlags audit_;
  bool served_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeUpCommand() { return std::make_unique<UpCommand>(); }

}  // namespace dray::cli::internal
