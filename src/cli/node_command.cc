// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray node`.
#include <malloc.h>
#include <sys/utsname.h>

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/node.h"
#include "base/names.h"
#include "cli/internal/command.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/server_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "container/cri_runtime.h"
#include "container/none_runtime.h"
#include "container/runc_runtime.h"
#include "fmt/format.h"
#include "image/store.h"
#include "node/node_process.h"
#include "rpc/cri_client.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Makes this machine a node of a cluster: registers it, runs the pods that are bound to it,
and has DRA drivers prepare the claims of a pod before its containers start. Drivers
register with a socket in ROOT/plugins_registry, as with a kubelet. Stops on SIGTERM or
Ctrl-C; containers keep running, and the next start takes them over.

Examples:
  dray up &
  dray node --kubeconfig $(dray kubeconfig node/worker-1) --node-name worker-1 \
    --images ./images
  dray node --kubeconfig $(dray kubeconfig node/n) --node-name n --root /tmp/n \
    --runtime none                         a simulated node: no containers run

Runtimes: 'runc' runs containers with runc, from images in the folders of --images (see
'dray image'); 'cri' uses containerd or CRI-O; 'none' only reports containers as running,
to try out drivers and claims without root.

Files: ROOT/dra_manager_state records which claims are prepared on this node. If it is
damaged, the node refuses to start: drain the node, remove the file and its .log, and start
it again.

Exit code: 0 stopped on request, 2 it could not be started.)";

class NodeCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServerFlags(app, server_);
    app.add_option("--node-name", name_, "Name of the node (default: the machine's host name)")
        ->type_name("NAME");
    app.add_option("--root", root_, "Folder for plugins, volumes and state (default " + root_ + ")")
        ->type_name("DIR");
    app.add_option("--runtime", runtime_, "Container runtime: runc, cri or none (default runc)")
        ->type_name("NAME");
    app.add_option("--runtime-root", runtime_root_,
                   "Folder for the state of runc's containers (default ROOT/runc)")
        ->type_name("DIR");
    app.add_option("--runtime-endpoint", endpoint_,
                   "Socket of a CRI server (default " + endpoint_ + ")")
        ->type_name("PATH");
    app.add_option(
           "--cdi", cdi_mode_,
           "Where CDI is applied with --runtime cri: auto, runtime or inline (default auto)")
        ->type_name("MODE");
    app.add_option("--images", images_, "Folder with OCI layouts and archives; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--cdi-dirs", cdi_, "Folders with CDI specs (default /etc/cdi,/var/run/cdi)")
        ->type_name("DIR,DIR")
        ->delimiter(',');
    app.add_option("--pod-logs", logs_root_,
                   "Folder for the logs of pods (default " + logs_root_ + ")")
        ->type_name("DIR");
    app.add_option("--cgroup-parent", cgroup_,
                   "Parent cgroup of all pods (default " + cgroup_ + ")")
        ->type_name("PATH");
    app.add_option("--node-labels", labels_, "Labels of the node")
        ->type_name("K=V,K=V")
        ->delimiter(',');
    app.add_option("--max-pods", max_pods_, "Maximum number of pods on the node (default 110)")
        ->type_name("N");
    app.add_option("--port", port_,
                   "Port for logs and exec (default 10250; 0: any free port; -1: none)")
        ->type_name("N");
    AddGates(app, gates_);
    AddLogFlags(app, log_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    node::NodeProcessOptions options;
    const auto gates = ReadGates(io, gates_);
    if (!gates) return kExitUsage;
    options.gates = *gates;
    if (runtime_ != "runc" && runtime_ != "cri" && runtime_ != "none") {
      return UsageError(io,
                        fmt::format("--runtime: \"{}\" is not one of runc, cri, none", runtime_));
    }
    if (cdi_mode_ != "auto" && cdi_mode_ != "runtime" && cdi_mode_ != "inline") {
      return UsageError(
          io, fmt::format("--cdi: \"{}\" is not one of auto, runtime, inline", cdi_mode_));
    }
    if (max_pods_ < 1) return UsageError(io, "--max-pods: must be at least 1");
    for (const std::string& label : labels_) {
      const auto equals = label.find('=');
      if (equals == std::string::npos || equals == 0) {
        return UsageError(io, fmt::format("--node-labels: \"{}\" is not KEY=VALUE", label));
      }
      options.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
    }
    options.name = name_.empty() ? HostName() : name_;
    if (!base::IsDnsSubdomain(options.name)) {
      return UsageError(io, fmt::format("--node-name: \"{}\" is not a valid node name: lower-case "
                                        "letters, digits, '-' and '.'",
                                        options.name));
    }
    options.root = root_;
    options.log_root = logs_root_;
    options.cgroup_parent = cgroup_;
    options.max_pods = max_pods_;
    if (port_ < -1 || port_ > 65535) {
      return UsageError(io, fmt::format("--port: {} is not a port", port_));
    }
    options.port = port_;
    auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    const std::string url = access->url;
    options.access = *std::move(access);
    UseFewHeaps();
    const EndSignals signals;
    const Status ended = Serve(io, std::move(options), url, signals);
    if (ended.ok()) return kExitOk;
    return UsageError(io, Printable(base::Message(ended)));
  }

 private:
  // An agent has many threads that do little. With a heap for each of them it would keep several times
  // the memory that it uses.
  static void UseFewHeaps() {
#ifdef __GLIBC__
    ::mallopt(M_ARENA_MAX, 2);
#endif
  }

  static std::string HostName() {
    utsname name{};
    return ::uname(&name) == 0 ? std::string(name.nodename) : std::string();
  }

  Status OpenRuntime(const base::Clock& clock) {
    if (runtime_ == "none") {
      opened_ = std::make_unique<container::NoneRuntime>(clock);
      return {};
    }
    if (runtime_ == "cri") {
      auto client = rpc::ConnectCri({.endpoint = endpoint_});
      if (!client.ok()) return client.status();
      const container::CdiMode mode = cdi_mode_ == "runtime"  ? container::CdiMode::kRuntime
                                      : cdi_mode_ == "inline" ? container::CdiMode::kInline
                                                              : container::CdiMode::kAuto;
      opened_ =
          container::MakeCriRuntime(*std::move(client), {.cdi = mode, .cdi_folders = cdi_}, clock);
      return {};
    }
    const std::string folder = runtime_root_.empty() ? root_ + "/runc" : runtime_root_;
    auto store = image::Store::Open({.folder = folder + "/images", .sources = images_});
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    container::RuncOptions options;
    options.root = folder;
    options.cgroup_parent = cgroup_;
    options.cdi_folders = cdi_;
    auto runtime = container::OpenRuncRuntime(options, *store_, clock);
    if (!runtime.ok()) return runtime.status();
    opened_ = *std::move(runtime);
    return {};
  }

  Status Serve(Io& io, node::NodeProcessOptions options, const std::string& url,
               const EndSignals& signals) {
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    options.log = log.get();
    DRAY_RETURN_IF_ERROR(OpenRuntime(io.env.clock));
    const std::string name = options.name;
    const auto node = node::NodeProcess::Start(std::move(options), *opened_, io.env.clock);
    if (!node.ok()) return node.status();
    io.out << fmt::format("{:<12} {}\n{:<12} {} ({})\n{:<12} {}/plugins_registry\n", "apiserver",
                          url, "node", name, runtime_, "drivers", root_)
           << std::flush;
    const logs::Logger logger = log->For("node");
    std::string trouble;
    while (!signals.Came()) {
      std::string now(base::Message((*node)->Connection()));
      if (now != trouble) {
        now.empty()
            ? logger.Info(0, "The API server is back")
            : logger.Warning("The API server cannot be reached; pods keep running", {{"err", now}});
      }
      trouble = std::move(now);
    }
    return {};
  }

  ServerFlags server_;
  std::string name_;
  std::string root_ = "/var/lib/kubelet";
  std::string runtime_ = "runc";
  std::string runtime_root_;
  std::string endpoint_ = "/run/containerd/containerd.sock";
  std::string cdi_mode_ = "auto";
  std::vector<std::string> images_;
  std::vector<std::string> cdi_ = {"/etc/cdi", "/var/run/cdi"};
  std::string logs_root_ = "/var/log/pods";
  std::string cgroup_ = "/dray";
  std::vector<std::string> labels_;
  std::int64_t max_pods_ = 110;
  std::int32_t port_ = 10250;
  std::vector<std::string> gates_;
  LogFlags log_;
  std::unique_ptr<image::Store> store_;
  std::unique_ptr<container::Runtime> opened_;
};

}  // namespace

std::unique_ptr<Command> MakeNodeCommand() { return std::make_unique<NodeCommand>(); }

}  // namespace dray::cli::internal
