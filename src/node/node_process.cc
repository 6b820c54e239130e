// SPDX-License-Identifier: Apache-2.0
#include "node/node_process.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "apiserver/authentication.h"
#include "apiserver/server.h"
#include "client/http_client.h"
#include "client/remote_cluster.h"
#include "files/files.h"
#include "fmt/format.h"
#include "node/machine.h"
#include "node/plugin_manager.h"
#include "node/pod_devices.h"
#include "node/probe_client.h"
#include "node/slice_wiper.h"
#include "rpc/plugin_client.h"
#include "rpc/pod_resources.h"
#include "streaming/handler.h"
#include "threads/task_queue.h"

namespace dray::node {
namespace {

// Requests that wait for a server and files that wait for a disk do not wait for each other.
constexpr std::size_t kThreads = 12;
// Somebody's pod may not answer, for as long as it likes: the lease does not wait for that.
constexpr std::size_t kProbeThreads = 32;

class QueueOffload final : public Offload {
 public:
  explicit QueueOffload(std::size_t threads) : queue_(threads) {}
  void Do(std::function<void()> work) override { queue_.Post(std::move(work)); }
  void Stop() { queue_.Stop(); }

 private:
  threads::TaskQueue queue_;
};

// One DELETE on the collection, as the rights of a node allow.
class RemoteSliceWiper final : public SliceWiper {
 public:
  RemoteSliceWiper(client::HttpClient& http, Offload& offload, Loop& loop, std::string node)
      : http_(http), offload_(offload), loop_(loop), node_(std::move(node)) {}

  void Wipe(const std::string& driver, std::function<void(Status)> done) override {
    // Names of nodes and drivers have no character that would have to be encoded.
    std::string target = fmt::format(
        "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3D{}", node_);
    if (!driver.empty()) target += fmt::format("%2Cspec.driver%3D{}", driver);
    Away(
        offload_, loop_,
        [&http = http_, target = std::move(target)]() -> Status {
          const auto answer = http.Send({.method = "DELETE", .target = target});
          if (!answer.ok()) return answer.status();
          if (answer->status < 400 || answer->status == 404) return {};
          return client::FailureOf(*answer);
        },
        std::move(done));
  }

 private:
  client::HttpClient& http_;
  Offload& offload_;
  Loop& loop_;
  const std::string node_;
};

// Where containers are, as the agent knows it.
streaming::ContainerPlace PlaceOf(const PodWorker& worker, const ContainerView& view,
                                  const std::string& log_root) {
  streaming::ContainerPlace place;
  if (!view.latest) return place;
  place.id = view.latest->id;
  place.running = view.running();
  const auto sandbox = SandboxConfigOf(worker.pod(), log_root, "");
  if (!sandbox.ok()) return place;
  const auto path = [&](std::uint32_t attempt) {
    return fmt::format("{}/{}/{}.log", sandbox->log_directory, view.spec->name, attempt);
  };
  place.log_path =
      view.latest->log_path.empty() ? path(view.latest->attempt) : view.latest->log_path;
  if (view.latest->attempt > 0) place.previous_log_path = path(view.latest->attempt - 1);
  return place;
}

// Logs and processes, and beside them what is counted here. Measured on the loop, whose state is
// measured.
class DoorHandler final : public apiserver::Handler {
 public:
  DoorHandler(streaming::Handler& streams, Loop& loop, const metrics::Registry& metrics)
      : streams_(streams), loop_(loop), metrics_(metrics) {}

  void Handle(apiserver::Request request,
              std::shared_ptr<apiserver::Responder> responder) override {
    if (request.path != "/metrics")
      return streams_.Handle(std::move(request), std::move(responder));
    const auto& groups = request.user.groups;
    apiserver::Response response;
    if (std::ranges::find(groups, "system:masters") == groups.end() &&
        std::ranges::find(groups, "system:monitoring") == groups.end()) {
      response.status = request.user.anonymous() ? 401 : 403;
      return responder->Send(std::move(response));
    }
    loop_.Post([this, responder = std::move(responder)] {
      apiserver::Response told;
      told.headers.Add("Content-Type", std::string(metrics::kTextContentType));
      told.body = std::make_shared<const std::string>(metrics_.Text());
      responder->Send(std::move(told));
    });
  }

 private:
  streaming::Handler& streams_;
  Loop& loop_;
  const metrics::Registry& metrics_;
};

NodeReport ReportOf(const NodeProcessOptions& options) {
  NodeReport report;
  report.name = options.name;
  report.machine = LookAtMachine({.disk = options.root, .max_pods = options.max_pods});
  report.allocatable = report.machine.capacity;
  for (const auto& [name, amount] : options.reserved) {
    if (base::Quantity* has = report.allocatable.Find(name.view())) {
      *has = std::max(base::Quantity(), *has - amount);
    }
  }
  if (options.gates.Enabled(api::Gate::kDRAOptionalNodeOperations)) {
    report.declared_features.emplace_back("DRAOptionalNodeOperations");
  }
  report.labels = options.labels;
  report.taints = options.taints;
  return report;
}

class RunningNode final : public NodeProcess, private streaming::Containers {
 public:
  RunningNode(NodeProcessOptions options, container::Runtime& runtime, const base::Clock& clock,
              std::unique_ptr<client::HttpClient> http)
      : options_(std::move(options)),
        log_(options_.log != nullptr ? options_.log->For("node") : logs::Logger()),
        runtime_(runtime),
        clock_(clock),
        loop_(clock),
        http_(std::move(http)),
        cluster_(*http_, clock,
                 {.component = "kubelet",
                  .on_change = [this] { Changed(); },
                  .note_writers = 1,
                  .delete_grace_seconds = 0}),
        wiper_(*http_, offload_, loop_, options_.name),
        probes_(MakeProbeClient(probe_offload_, runtime)),
        sources_(MakeSources(*http_)),
        connector_(rpc::SocketConnector()),
        plugins_({.loop = loop_,
                  .offload = offload_,
                  .connector = *connector_,
                  .wiper = wiper_,
                  .log = log_,
                  .metrics = &metrics_},
                 {.root = options_.root,
                  .health = options_.gates.Enabled(api::Gate::kResourceHealthStatus)}),
        resources_(loop_, [this] { return ListResources(); }),
        streams_(*this, runtime, clock),
        handler_(streams_, loop_, metrics_) {}

  ~RunningNode() override {
    door_.reset();
    server_.reset();
    loop_.Stop();
    if (thread_.joinable()) thread_.join();
    // Whoever waits for the server need not.
    http_->Close();
    probes_.reset();
    probe_offload_.Stop();
    offload_.Stop();
    if (agent_ != nullptr) {
      if (const Status closed = agent_->Close(); !closed.ok()) {
        log_.Warning("Claims could not be checkpointed", {{"err", closed}});
      }
    }
    agent_.reset();
  }

  Status Begin() {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(options_.root));
    NodeReport report = ReportOf(options_);
    DRAY_RETURN_IF_ERROR(OpenDoor());
    if (door_ != nullptr) report.port = door_->port();
    auto agent = Agent::Make({.loop = loop_,
                              .offload = offload_,
                              .cluster = cluster_,
                              .runtime = runtime_,
                              .plugins = plugins_.plugins(),
                              .probes = *probes_,
                              .sources = *sources_,
                              .log = log_,
                              .metrics = &metrics_},
                             {.root = options_.root,
                              .log_root = options_.log_root,
                              .cgroup_parent = options_.cgroup_parent,
                              .gates = options_.gates,
                              .node = std::move(report)});
    if (!agent.ok()) return agent.status();
    agent_ = *std::move(agent);
    plugins_.ReadHealth();
    const std::string folder = options_.root + "/pod-resources";
    DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
    auto server = rpc::ServePodResources(
        {.socket = folder + "/kubelet.sock",
         .clock = &clock_,
         .answered = [metrics = plugins_.metrics()](
                         rpc::PodResourcesMethod method,
                         bool ok) { metrics->PodResourcesAnswered(method, ok); }},
        resources_);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    DRAY_RETURN_IF_ERROR(plugins_.WatchSockets());
    const api::KindInfo* kinds[] = {&api::HubKind(api::TypeInfoOf<api::Pod>())};
    api::Selection selection;
    DRAY_ASSIGN_OR_RETURN(selection.fields,
                          api::FieldSelector::Parse("spec.nodeName=" + options_.name));
    auto watch = cluster_.Watch(kinds, selection);
    plugins_.Start(*agent_);
    agent_->Start(std::move(watch));
    thread_ = std::thread([this] { loop_.Run(); });
    return {};
  }

  Status Connection() const override { return cluster_.Health(); }
  metrics::Registry& metrics() override { return metrics_; }
  void OnLoop(std::function<void(Agent&)> work) override {
    loop_.Post([this, work = std::move(work)] { work(*agent_); });
  }

 private:
  // Logs and processes are asked for by the API server, which shows a certificate of the cluster's.
  Status OpenDoor() {
    if (options_.port < 0) return {};
    if (options_.access.certificate.empty() || options_.access.authority.empty()) {
      log_.Warning(
          "Logs cannot be asked for: the kubeconfig has no certificate that the node could "
          "show");
      return {};
    }
    apiserver::ServerOptions server;
    server.address = options_.address;
    server.port = static_cast<std::uint16_t>(options_.port);
    server.tls = apiserver::TlsOptions{
        .server = {.certificate = options_.access.certificate, .key = options_.access.key},
        .client_authority = options_.access.authority};
    server.threads = 1;
    auto door = apiserver::Server::Start(server, handler_, authenticator_);
    if (!door.ok()) return base::Annotate(door.status(), "the door for logs");
    door_ = *std::move(door);
    return {};
  }

  void Find(std::string namespace_, std::string pod, std::string container,
            std::function<void(StatusOr<streaming::ContainerPlace>)> done) override {
    loop_.Post([this, namespace_ = std::move(namespace_), pod = std::move(pod),
                container = std::move(container), done = std::move(done)] {
      const PodWorker* worker = agent_ != nullptr ? agent_->FindPod(namespace_, pod) : nullptr;
      if (worker == nullptr) {
        return done(base::NotFound(fmt::format("pod {}/{} is not on this node", namespace_, pod)));
      }
      const ContainerView* view = worker->FindContainer(container);
      if (view == nullptr) {
        return done(base::NotFound(
            fmt::format("container {} is not in pod {}/{}", container, namespace_, pod)));
      }
      done(PlaceOf(*worker, *view, options_.log_root));
    });
  }

  void FindSandbox(std::string namespace_, std::string pod,
                   std::function<void(StatusOr<std::string>)> done) override {
    loop_.Post([this, namespace_ = std::move(namespace_), pod = std::move(pod),
                done = std::move(done)] {
      const PodWorker* worker = agent_ != nullptr ? agent_->FindPod(namespace_, pod) : nullptr;
      if (worker == nullptr) {
        return done(base::NotFound(fmt::format("pod {}/{} is not on this node", namespace_, pod)));
      }
      const container::SandboxInfo* sandbox = worker->FindSandbox();
      if (sandbox == nullptr) {
        return done(
            base::FailedPrecondition(fmt::format("pod {}/{} does not run", namespace_, pod)));
      }
      done(sandbox->id);
    });
  }

  void Changed() {
    loop_.Post([this] {
      if (agent_ != nullptr) agent_->OnWatch();
    });
  }

  std::vector<rpc::PodResources> ListResources() {
    std::vector<rpc::PodResources> all;
    for (const PodWorker* worker : agent_->Pods()) {
      if (!worker->active()) continue;
      all.push_back(PodResourcesOf(worker->pod(),
                                   [this](const api::Pod& pod, const api::Container& container) {
                                     return agent_->claims().ClaimsFor(pod, container);
                                   }));
    }
    return all;
  }

  const NodeProcessOptions options_;
  const logs::Logger log_;
  container::Runtime& runtime_;
  const base::Clock& clock_;
  metrics::Registry metrics_;
  Loop loop_;
  QueueOffload offload_{kThreads};
  QueueOffload probe_offload_{kProbeThreads};
  std::unique_ptr<client::HttpClient> http_;
  client::RemoteCluster cluster_;
  RemoteSliceWiper wiper_;
  std::unique_ptr<ProbeClient> probes_;
  std::unique_ptr<Sources> sources_;
  std::unique_ptr<rpc::PluginConnector> connector_;
  PluginManager plugins_;
  PodResourcesOnLoop resources_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<rpc::PodResourcesServer> server_;
  streaming::Handler streams_;
  DoorHandler handler_;
  const apiserver::Authenticator authenticator_;
  std::unique_ptr<apiserver::Server> door_;
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<NodeProcess>> NodeProcess::Start(NodeProcessOptions options,
                                                          container::Runtime& runtime,
                                                          const base::Clock& clock) {
  DRAY_ASSIGN_OR_RETURN(auto http, client::HttpClient::Create(options.access));
  auto node = std::make_unique<RunningNode>(std::move(options), runtime, clock, std::move(http));
  DRAY_RETURN_IF_ERROR(node->Begin());
  return std::unique_ptr<NodeProcess>(std::move(node));
}

}  // namespace dray::node
