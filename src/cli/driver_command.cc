// SPDX-License-Identifier: Apache-2.0
//
// `dray driver`: a driver for devices that are described in a file or that the machine has, and
// `dray driver test`, a conformance suite for anybody's driver.
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/uuid.h"
#include "cli/internal/command.h"
#include "cli/internal/log_flags.h"
#include "cli/internal/paint.h"
#include "cli/internal/server_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "client/http_client.h"
#include "client/remote_cluster.h"
#include "driver/cluster_pools.h"
#include "driver/conformance.h"
#include "driver/discover.h"
#include "driver/driver_program.h"
#include "driver/registrar.h"
#include "driver/self_check.h"
#include "files/files.h"
#include "fmt/format.h"
#include "rpc/liveness.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Runs a DRA driver for a node agent (`dray node` or any kubelet): it registers on the node,
publishes ResourceSlices, prepares claims by writing CDI files, and reports device health.
The devices are described in a file:

  pools:
  - devices:
    - name: camera-0
      attributes: {resolution: {string: 4k}}
      cdi:                       # what a container that is given the device gets
        deviceNodes: [{path: /dev/video0}]
        env: ["CAMERA=${device}", "CLAIM=${claim.namespace}/${claim.name}"]
      health: {status: Healthy}

The file is read again whenever it changes. With --discover, the devices are those of the
machine instead. Devices, slices, capacity and counters are written as in a ResourceSlice;
docs/drivers.md describes the format.

`dray driver test` checks that a driver in any language behaves as kubelets expect. With a
kubeconfig that may create claims, it also prepares devices of the driver.

Examples:
  dray driver --from devices.yaml --name cam.example.com --node-name n1 --kubeconfig FILE
  dray driver --discover pci,net --filter 'class=02*' --name net.example.com --node-name n1
  dray driver --discover numa --print                 show what would be published, and exit
  dray driver test /var/lib/kubelet/plugins_registry/cam.example.com-reg.sock
  dray driver test --registry /var/lib/kubelet/plugins_registry --kubeconfig admin.kubeconfig

Exit code: 0 stopped on request, or every check passed; 1 a check failed; 2 it could not be
started.)";

class DriverCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("what", words_,
                   "'test' and the registration socket of the driver, to test a driver")
        ->type_name("[test [SOCKET]]")
        ->expected(0, 2);
    app.add_option("--from,--devices", from_, "File that describes the devices (YAML)")
        ->type_name("FILE");
    app.add_option(
           "--discover", discover_,
           "Serve the devices of this machine: pci, net, numa, cpu, hugepages (default: all)")
        ->type_name("KINDS")
        ->expected(0, 1)
        ->default_str("all");
    app.add_option("--filter", filters_,
                   "Only discovered devices with ATTRIBUTE=PATTERN; may be repeated")
        ->type_name("FILTER")
        ->take_all();
    app.add_option("--sys", sys_, "Where sysfs is mounted")
        ->type_name("FOLDER")
        ->capture_default_str();
    app.add_flag("--print", print_, "Print the devices as YAML and exit");
    app.add_option("--name", options_.name, "Name of the driver, such as gpu.example.com")
        ->type_name("NAME");
    app.add_option("--node-name", options_.node, "Name of this machine's Node object")
        ->type_name("NAME");
    app.add_option("--root", options_.root, "The agent's folder")
        ->type_name("FOLDER")
        ->capture_default_str();
    app.add_option("--registry", options_.registry,
                   "Where drivers register (default: plugins_registry in the root)")
        ->type_name("FOLDER");
    app.add_option("--cdi-dir", options_.cdi_folder, "Where CDI files are")
        ->type_name("FOLDER")
        ->capture_default_str();
    app.add_option(
           "--rolling-update", options_.instance,
           "UID of this instance's pod, for rolling updates: another instance may run beside it")
        ->type_name("UID");
    app.add_flag("--metadata", options_.metadata,
                 "Give containers metadata files about their devices (KEP-5304)");
    app.add_flag("--admin-access", options_.admin_access, "Also serve claims with admin access");
    app.add_option("--health-port", health_port_,
                   "Port for gRPC liveness probes; 0 picks a free one")
        ->type_name("PORT")
        ->check(CLI::Range(0, 65535));
    app.add_option(
           "--only", only_,
           "Run one half of the driver: registration, or dra (the DRA service and the slices)")
        ->type_name("PART")
        ->check(CLI::IsMember({"registration", "dra"}));
    app.add_flag("--cluster-pools", cluster_pools_,
                 "Only publish pools that are for several nodes");
    app.add_option("--lease", lease_,
                   "With --cluster-pools: NAMESPACE/NAME of the lease for leader election between "
                   "several publishers")
        ->type_name("LEASE");
    app.add_flag("--numa-lists", numa_lists_,
                 "Publish numaNode of discovered devices as a list: the own node, then its "
                 "neighbours (KEP-5491)");
    app.add_option(
           "--test-controls", controls_,
           "Socket for test commands, lines like 'fail prepare 3', 'block unprepare', 'health "
           "POOL/DEVICE Unhealthy TEXT', 'calls'")
        ->type_name("SOCKET");
    app.add_option("--namespace,-n", namespace_, "test: namespace to create claims in")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_flag(
        "--slow", slow_,
        "test: also delete a slice, and wait up to two minutes for the driver to publish it again");
    app.add_option("--restart", restart_, "test: shell command that restarts the driver")
        ->type_name("COMMAND");
    AddServerFlags(app, server_);
    AddLogFlags(app, log_);
    discover_option_ = app.get_option("--discover");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (!words_.empty() && words_[0] == "test") return Test(io);
    if (!words_.empty()) {
      return UsageError(io, fmt::format("unexpected argument \"{}\"", words_[0]),
                        "'dray driver test' tests a driver; 'dray driver --help' shows the flags");
    }
    if (only_ == "registration") return Register(io);
    driver::ProgramOptions program;
    if (!ReadDescription(io, program)) return kExitUsage;
    if (print_) return Print(io, program);
    if (cluster_pools_) return ServeClusterPools(io, std::move(program));
    if (!lease_.empty()) {
      return UsageError(io, "--lease is for --cluster-pools",
                        "slices of one node are published by the driver on that node");
    }
    if (options_.node.empty()) {
      return UsageError(io, "--node-name is missing", "name the Node object that has the devices");
    }
    return Serve(io, std::move(program));
  }

 private:
  bool ReadDescription(Io& io, driver::ProgramOptions& program) {
    const bool discovers = discover_option_->count() > 0;
    if (discovers == !from_.empty()) {
      UsageError(io,
                 discovers ? "--from and --discover cannot be combined" : "no devices are named",
                 "use --from FILE to describe them, or --discover to find those of this machine");
      return false;
    }
    if (!discovers) {
      program.description = driver::FileReader(from_);
      return true;
    }
    driver::DiscoverOptions discover;
    discover.sys = sys_;
    discover.numa_lists = numa_lists_;
    std::string_view rest = discover_;
    while (!rest.empty()) {
      const std::string_view kind = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), kind.size() + 1));
      if (!kind.empty()) discover.kinds.emplace(kind);
    }
    if (discover.kinds.empty() || discover.kinds.contains("all") || discover.kinds.contains("{}")) {
      discover.kinds = {std::begin(driver::kDiscoverable), std::end(driver::kDiscoverable)};
    }
    for (const std::string& text : filters_) {
      auto filter = driver::ParseFilter(text);
      if (!filter.ok()) {
        UsageError(io, Printable(base::Message(filter.status())));
        return false;
      }
      discover.filters.push_back(*std::move(filter));
    }
    program.description = [discover] { return driver::Discover(discover); };
    // The machine changes less often than a file.
    program.look = std::chrono::seconds(10);
    return true;
  }

  static int Print(Io& io, const driver::ProgramOptions& program) {
    const auto file = program.description();
    if (!file.ok()) return UsageError(io, Printable(base::Message(file.status())));
    io.out << driver::ToYaml(*file);
    return kExitOk;
  }

  int Serve(Io& io, driver::ProgramOptions program) {
    auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    const EndSignals signals;
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    const logs::Logger logger = log->For("driver");
    program.driver = options_;
    program.controls = controls_;
    if (health_port_ >= 0) program.health_port = static_cast<std::uint16_t>(health_port_);
    program.driver.registration = only_.empty();
    program.driver.problem = [logger](const Status& status) {
      logger.Warning("Trouble", {{"err", status}});
    };
    program.driver.registered = [logger] { logger.Info(0, "Registered"); };
    auto running = driver::DriverProgram::Start(std::move(program), *access);
    if (!running.ok()) return UsageError(io, Printable(base::Message(running.status())));
    const driver::SocketNames& sockets = (*running)->driver().sockets();
    io.out << fmt::format("{:<12} {}\n", "apiserver", access->url);
    if (only_.empty()) io.out << fmt::format("{:<12} {}\n", "registration", sockets.registration);
    if (const auto port = (*running)->health_port(); port != 0) {
      io.out << fmt::format("{:<12} port {}\n", "liveness", port);
    }
    io.out << fmt::format("{:<12} {}\n", "dra", sockets.dra) << std::flush;
    while (!signals.Came()) (*running)->Tick();
    return kExitOk;
  }

  // The registration of a driver that is another process.
  int Register(Io& io) {
    if (options_.name.empty()) {
      return UsageError(io, "--name is missing", "for example --name gpu.example.com");
    }
    const EndSignals signals;
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    const logs::Logger logger = log->For("driver");
    driver::DriverOptions options = options_;
    options.health = true;
    options.problem = [logger](const Status& status) {
      logger.Warning("Trouble", {{"err", status}});
    };
    options.registered = [logger] { logger.Info(0, "Registered"); };
    const auto registrar = driver::Registrar::Start(std::move(options));
    if (!registrar.ok()) return UsageError(io, Printable(base::Message(registrar.status())));
    const driver::SocketNames& sockets = (*registrar)->sockets();
    const std::unique_ptr<rpc::PluginConnector> connector = rpc::SocketConnector();
    std::unique_ptr<rpc::LivenessServer> liveness;
    if (health_port_ >= 0) {
      auto served = rpc::ServeLiveness(
          {.port = static_cast<std::uint16_t>(health_port_), .check = [&] {
             return driver::CheckSelf(*connector, {.registration = sockets.registration, .dra = {}},
                                      std::chrono::seconds(2));
           }});
      if (!served.ok()) return UsageError(io, Printable(base::Message(served.status())));
      liveness = *std::move(served);
      io.out << fmt::format("{:<12} port {}\n", "liveness", liveness->port());
    }
    io.out << fmt::format("{:<12} {}\n{:<12} {}\n", "registration", sockets.registration, "of",
                          sockets.dra)
           << std::flush;
    while (!signals.Came()) {
    }
    return kExitOk;
  }

  int ServeClusterPools(Io& io, driver::ProgramOptions program) {
    auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    driver::ClusterPoolOptions options;
    options.driver = options_.name;
    options.description = std::move(program.description);
    if (!lease_.empty()) {
      const std::size_t slash = lease_.find('/');
      if (slash == std::string::npos || slash == 0 || slash + 1 == lease_.size()) {
        return UsageError(io, fmt::format("--lease: \"{}\" is not NAMESPACE/NAME", lease_));
      }
      base::SystemRandomSource random;
      options.lease = client::LeaseOptions{.namespace_ = lease_.substr(0, slash),
                                           .name = lease_.substr(slash + 1),
                                           .identity = base::NewUuid(random)};
    }
    const EndSignals signals;
    const std::unique_ptr<logs::Log> log = OpenLog(io, log_);
    const logs::Logger logger = log->For("driver");
    options.problem = [logger](const Status& status) {
      logger.Warning("Trouble", {{"err", status}});
    };
    options.leading = [logger](bool leads) {
      logger.Info(0, leads ? "Publishing" : "Another process publishes");
    };
    auto http = client::HttpClient::Create(*access);
    if (!http.ok()) return UsageError(io, Printable(base::Message(http.status())));
    client::RemoteCluster cluster(**http, io.env.clock,
                                  client::RemoteOptions{.component = "dray-cluster-pools"});
    auto pools = driver::ClusterPools::Start(std::move(options), cluster, io.env.clock);
    if (!pools.ok()) return UsageError(io, Printable(base::Message(pools.status())));
    io.out << fmt::format("{:<12} {}\n", "apiserver", access->url) << std::flush;
    while (!signals.Came()) (*pools)->Tick();
    pools->reset();
    (*http)->Close();
    return kExitOk;
  }

  // The sockets to test, or nothing, which has been said.
  std::optional<std::vector<std::string>> Sockets(Io& io) const {
    if (words_.size() > 1) return std::vector<std::string>{words_[1]};
    if (options_.registry.empty()) {
      UsageError(io, "no driver is named",
                 "name its registration socket with 'dray driver test SOCKET', or the folder of "
                 "all sockets with --registry");
      return std::nullopt;
    }
    std::vector<std::string> sockets;
    const auto names = files::NamesIn(options_.registry);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      const std::string path = fmt::format("{}/{}", options_.registry, name);
      struct stat info {};
      if (name.starts_with(".") || ::stat(path.c_str(), &info) != 0) continue;
      if (S_ISSOCK(info.st_mode)) sockets.push_back(path);
    }
    if (sockets.empty()) {
      UsageError(io, fmt::format("no driver is registered in {}", options_.registry));
      return std::nullopt;
    }
    return sockets;
  }

  int Test(Io& io) {
    const auto sockets = Sockets(io);
    if (!sockets) return kExitUsage;
    std::unique_ptr<client::HttpClient> http;
    std::unique_ptr<client::RemoteCluster> cluster;
    if (server_.given()) {
      const auto access = ReadAccess(io, server_);
      if (!access) return kExitUsage;
      auto made = client::HttpClient::Create(*access);
      if (!made.ok()) return UsageError(io, Printable(base::Message(made.status())));
      http = *std::move(made);
      cluster = std::make_unique<client::RemoteCluster>(
          *http, io.env.clock, client::RemoteOptions{.component = "dray-driver-test"});
    }
    int failed = 0;
    for (const std::string& socket : *sockets) failed += TestOne(io, socket, cluster.get());
    return failed == 0 ? kExitOk : kExitFindings;
  }

  int TestOne(Io& io, const std::string& socket, api::Cluster* cluster) {
    io.out << fmt::format("driver at {}\n", Printable(socket)) << std::flush;
    driver::ConformanceOptions options;
    options.socket = socket;
    options.cdi_folders = {"/etc/cdi", options_.cdi_folder};
    options.cluster = cluster;
    options.node = options_.node;
    options.namespace_ = namespace_;
    if (slow_) options.repair_patience = std::chrono::minutes(2);
    if (!restart_.empty()) {
      options.restart = [this]() -> Status {
        if (std::system(restart_.c_str()) == 0) return {};
        return base::Unavailable(fmt::format("'{}' failed", restart_));
      };
    }
    options.on_result = [&io](const driver::CheckResult& result) { Show(io, result); };
    int passed = 0;
    int failed = 0;
    int skipped = 0;
    for (const driver::CheckResult& result : driver::TestDriver(options)) {
      passed += result.outcome == driver::Outcome::kPass ? 1 : 0;
      failed += result.outcome == driver::Outcome::kFail ? 1 : 0;
      skipped += result.outcome == driver::Outcome::kSkip ? 1 : 0;
    }
    io.out << fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, skipped)
           << std::flush;
    return failed;
  }

  static void Show(Io& io, const driver::CheckResult& result) {
    const std::string_view word = result.outcome == driver::Outcome::kPass   ? "pass"
                                  : result.outcome == driver::Outcome::kFail ? "FAIL"
                                                                             : "skip";
    io.out << fmt::format("{:<5} {:<26} {} (spec {})\n", word, result.name, result.rule,
                          result.chapter);
    if (!result.detail.empty()) {
      io.out << fmt::format("{:<5} {:<26} {}{}\n", "", "",
                            result.outcome == driver::Outcome::kFail ? "but: " : "because ",
                            Printable(result.detail));
    }
    io.out << std::flush;
  }

  std::vector<std::string> words_;
  std::string from_;
  std::string discover_;
  CLI::Option* discover_option_ = nullptr;
  std::vector<std::string> filters_;
  std::string sys_ = "/sys";
  bool print_ = false;
  driver::DriverOptions options_;
  std::string controls_;
  int health_port_ = -1;
  std::string only_;
  bool cluster_pools_ = false;
  std::string lease_;
  bool numa_lists_ = false;
  std::string namespace_ = "default";
  std::string restart_;
  bool slow_ = false;
  ServerFlags server_;
  LogFlags log_;
};

}  // namespace

std::unique_ptr<Command> MakeDriverCommand() { return std::make_unique<DriverCommand>(); }

}  // namespace dray::cli::internal
