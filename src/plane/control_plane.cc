// SPDX-License-Identifier: Apache-2.0
#include "plane/control_plane.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "apiserver/authentication.h"
#include "apiserver/credentials.h"
#include "apiserver/server.h"
#include "apiserver/token_keys.h"
#include "audit/auditor.h"
#include "audit/rotating_file.h"
#include "base/mutex.h"
#include "base/uuid.h"
#include "cel/device_env.h"
#include "fmt/format.h"
#include "plane/first_objects.h"
#include "plane/identities.h"
#include "plane/internal/cluster_identity.h"
#include "plane/internal/commit_watch.h"
#include "plane/internal/deciders.h"
#include "plane/internal/node_door.h"
#include "plane/internal/open_store.h"
#include "plane/internal/plane_metrics.h"
#include "plane/internal/snapshots.h"
#include "plane/internal/watch_metrics.h"
#include "rbac/bootstrap.h"
#include "registry/account_tokens.h"
#include "registry/bootstrap_tokens.h"
#include "registry/handler.h"
#include "registry/local_cluster.h"
#include "registry/policies.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "store/early_store.h"
#include "threads/task_queue.h"

namespace dray::plane {
namespace {

constexpr std::string_view kSchedulerName = "default-scheduler";
constexpr std::string_view kControllersName = "kube-controller-manager";
constexpr std::size_t kWriteThreads = 2;
constexpr std::size_t kReadThreads = 2;
constexpr int kStandardOutput = 1;
constexpr std::size_t kAuditBytes = 64u << 20;  // of events that wait to be written

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (!error) return {};
  return base::Unavailable(fmt::format("{}: {}", folder, error.message()));
}

// The file of the database; empty: there is none.
std::string Database(const PlaneOptions& options) {
  return options.open_store ? std::string() : options.store.File(options.data);
}

class Plane final : public ControlPlane {
 public:
  Plane(PlaneOptions options, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        log_(LoggerFor("plane")),
        metrics_(clock, options_.gates, registry::HandlerOptions().version),
        commits_(clock, LoggerFor("store"), options_.health.slow_commit, Slow()) {}

  // The door closes first, so that nobody is told of something that then has no end; deciders stop
  // before what they write to.
  ~Plane() override {
    stopping_ = true;
    log_.Info(2, "Ending");
    if (server_ != nullptr) server_->Drain(options_.drain);
    server_ = nullptr;
    front_ = nullptr;
    snapshots_ = nullptr;
    deciders_.Stop();
    // Writes that are under way may be tried once more by the registry, which is still there; from
    // here on by the store's thread.
    reads_.Stop();
    writes_.Stop();
    following_policies_ = nullptr;
    following_roles_ = nullptr;
    store_ = nullptr;
  }

  Status Open() {
    DRAY_RETURN_IF_ERROR(MakeFolder(options_.data));
    DRAY_RETURN_IF_ERROR(OpenAudit());
    DRAY_ASSIGN_OR_RETURN(
        store_, internal::OpenStore(options_, metrics_.store(), commits_, LoggerFor("store")));
    registry::RegistryOptions registry_options;
    registry_options.rules = {.gates = options_.gates, .expressions = &expressions_};
    registry_options.authorizer = &roles_;
    registry_options.roles = &roles_;
    registry_options.policies = &policies_;
    registry_options.service_accounts = true;
    registry_options.on_unreadable = [this](const registry::Objects::Unreadable& found) {
      // Both registries find it.
      const base::MutexLock lock(complaining_);
      if (!complained_.insert(found.why).second) return;
      log_.Warning("A stored object cannot be decoded", {{"key", found.key}, {"err", found.why}});
    };
    registry::RegistryOptions served = registry_options;
    served.post = [this](std::function<void()> task) { writes_.Post(std::move(task)); };
    registry_ = std::make_unique<registry::Registry>(*store_, clock_, random_, served);
    cluster_ = std::make_unique<registry::LocalCluster>(*registry_, "dray");
    // Deciders do not wait for the disk; what clients and watchers see is durable.
    early_ = store::MakeEarlyStore(*store_);
    deciding_ = std::make_unique<registry::Registry>(*early_, clock_, random_, registry_options);
    metrics_.registry().Measure(
        {"dray_unreadable_objects", "Stored objects that cannot be decoded.", {}},
        [this](metrics::Readings& readings) {
          readings.Add({}, static_cast<double>(Unreadable().size()));
        });
    scheduler_cluster_ =
        std::make_unique<registry::LocalCluster>(*deciding_, std::string(kSchedulerName));
    controller_cluster_ =
        std::make_unique<registry::LocalCluster>(*deciding_, std::string(kControllersName));
    counted_for_scheduler_ = metrics_.claims().ForScheduler(*scheduler_cluster_);
    counted_for_controllers_ = metrics_.claims().ForControllers(*controller_cluster_);
    DRAY_RETURN_IF_ERROR(MakeKeys());
    DRAY_RETURN_IF_ERROR(CreateMissing(*controller_cluster_, FirstObjects()));
    if (Status roles = rbac::EnsureBootstrapObjects(*controller_cluster_); !roles.ok()) {
      return base::Annotate(roles, "roles that every cluster has");
    }
    // Before there are policies: one that forbids them, or cannot be read, would keep the server from
    // starting, and nobody could delete it.
    DRAY_RETURN_IF_ERROR(CreateMissing(*controller_cluster_, std::move(options_.objects)));
    following_roles_ = roles_.Follow(registry_->objects());
    following_policies_ = policies_.Follow(registry_->objects());
    DRAY_RETURN_IF_ERROR(AwaitWritten());
    deciders_.Elect(*store_, {.durable = cluster_.get(),
                              .scheduler = counted_for_scheduler_.get(),
                              .controllers = counted_for_controllers_.get()});
    return Serve();
  }

  void Decide() { deciders_.Start(authority_, roles_); }

  const std::string& url() const override { return url_; }
  const std::string& kubeconfig() const override { return kubeconfig_; }
  std::vector<Component> components() const override {
    const auto unless = [](bool here, std::string text) {
      return here ? std::move(text) : std::string("not here");
    };
    return {{"store", options_.store.Text(options_.data)},
            {"apiserver", url_},
            {"scheduler", unless(options_.scheduler, std::string(kSchedulerName))},
            {"controllers", unless(options_.controllers, std::string(kControllersName))},
            {"nodes", unless(options_.nodes, "simulated: pods change state, no containers run")}};
  }
  api::Cluster& cluster() override { return *cluster_; }
  std::string Metrics() const override { return metrics_.Text(); }
  Status Health() const override {
    DRAY_RETURN_IF_ERROR(store_->Health());
    return deciders_.Health();
  }

 private:
  logs::Logger LoggerFor(std::string_view component) const {
    return options_.log == nullptr ? logs::Logger() : options_.log->For(component);
  }

  bool InEtcd() const {
    return !options_.open_store && options_.store.kind == StoreAddress::Kind::kEtcd;
  }
  // What it is if commits are.
  std::string_view Slow() const { return InEtcd() ? "etcd" : "disk"; }

  Status OpenAudit() {
    const AuditOptions& audit = options_.audit;
    if (audit.path.empty()) return {};
    std::unique_ptr<logs::Output> output = logs::MakeFdOutput(kStandardOutput);
    if (audit.path != "-") {
      auto file = audit::OpenRotatingFile(
          {.path = audit.path, .max_bytes = audit.max_bytes, .max_backups = audit.max_backups},
          clock_);
      if (!file.ok()) return base::Annotate(file.status(), "audit log");
      output = *std::move(file);
    }
    logs::LineWriterOptions writing{.max_bytes = kAuditBytes, .patience = options_.drain};
    writing.on_failure = [log = LoggerFor("audit")](const Status& why, std::uint64_t events) {
      log.Error("Audit events could not be written", {{"events", events}, {"err", why}});
    };
    audit_writer_ = std::make_unique<logs::LineWriter>(std::move(output), std::move(writing));
    auditor_ = std::make_unique<audit::Auditor>(audit.policy, clock_, *audit_writer_);
    internal::AddAuditMetrics(metrics_.registry(), *auditor_);
    return {};
  }

  // Before anything is written: the store may be that of servers with others.
  Status MakeKeys() {
    DRAY_ASSIGN_OR_RETURN(made_, apiserver::EnsureCredentials(Wanted(), clock_.Now()));
    authority_ = made_.signer;
    DRAY_ASSIGN_OR_RETURN(token_keys_, apiserver::TokenKeys::Ensure(options_.data));
    return internal::CheckIdentity(*store_,
                                   {.authority = made_.authority, .tokens = token_keys_->Jwks()});
  }
  // What a start makes is made through early writes: from here on everybody sees it. Commits are
  // answered in order, also those that change nothing.
  Status AwaitWritten() {
    return store_->CommitAndWait(store::Transaction().Check("/dray/nothing", store::Revision{}))
        .status();
  }
  apiserver::CredentialsOptions Wanted() const {
    return {.folder = options_.data, .clients = StandardClients(), .hosts = Hosts()};
  }

  Status Serve() {
    const apiserver::CredentialsOptions credentials = Wanted();
    const apiserver::Credentials& made = made_;
    DRAY_ASSIGN_OR_RETURN(node_door_, internal::MakeNodeDoor({made.authority, made.to_nodes}));
    tokens_ = std::make_unique<registry::AccountTokens>(*token_keys_, registry_->objects(), clock_,
                                                        random_);
    registry::HandlerOptions handling;
    handling.tokens = tokens_.get();
    handling.token_user = [this](std::string_view token) {
      apiserver::Headers headers;
      headers.Add("Authorization", std::string("Bearer ").append(token));
      return authenticator_.Authenticate(headers, nullptr);
    };
    handling.nodes = node_door_.get();
    handling.checks = Checks();
    handling.log = {LoggerFor("apiserver"), options_.slow_request};
    handling.auditor = auditor_.get();
    handling.metrics = &metrics_.requests();
    handling.post_reads = [this](std::function<void()> task) { reads_.Post(std::move(task)); };
    handling.other = [this](const apiserver::Request& request) { return metrics_.Answer(request); };
    metrics_.Watch(registry_->objects(), Database(options_), [this] { return Stats(); });
    if (options_.log != nullptr) internal::AddLogMetrics(metrics_.registry(), *options_.log);
    AddWaitMetrics();
    snapshots_ = std::make_unique<internal::Snapshots>(*store_, options_.data);
    handling.later = [this](const apiserver::Request& request, internal::Snapshots::Send send) {
      return snapshots_->Answer(request, std::move(send));
    };
    handler_ = std::make_unique<registry::RestHandler>(*registry_, roles_, std::move(handling));
    internal::AddHealthMetrics(
        metrics_.registry(),
        [this]() -> std::span<const registry::HealthCheck> { return handler_->health().checks(); });
    DRAY_ASSIGN_OR_RETURN(authenticator_, apiserver::Authenticator::Create(options_.tokens));
    authenticator_.Ask(tokens_.get());
    joining_ = std::make_unique<registry::BootstrapTokens>(registry_->objects(), clock_);
    authenticator_.Ask(joining_.get());
    apiserver::ServerOptions serving;
    serving.address = options_.address;
    serving.port = options_.port;
    serving.tls = apiserver::TlsOptions{made.server, made.authority};
    serving.http2 = options_.http2;
    serving.max_streams = options_.max_streams;
    serving.on_refused = [this, log = LoggerFor("apiserver")](const apiserver::Refusal& refusal) {
      handler_->Refused(refusal);
      log.Info(2, "Request refused before it was looked at",
               {{"verb", refusal.method},
                {"URI", refusal.target},
                {"audit-ID", refusal.audit_id},
                {"srcIP", refusal.remote},
                {"resp", refusal.code},
                {"reason", refusal.message}});
    };
    if (options_.front) front_ = options_.front(*cluster_, roles_, *handler_);
    apiserver::Handler& door = front_ != nullptr ? *front_ : *handler_;
    DRAY_ASSIGN_OR_RETURN(server_, apiserver::Server::Start(serving, door, authenticator_));
    serving_ = server_.get();
    url_ = server_->url();
    DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          apiserver::WriteKubeconfigs(credentials, AdvertisedUrl()));
    kubeconfig_ = paths.front();
    log_.Info(2, "Serving", {{"url", url_}, {"store", Database(options_)}});
    return {};
  }

  std::vector<std::string> Hosts() const {
    std::vector<std::string> hosts = options_.advertise;
    // Nobody calls that one.
    const bool any = options_.address == "0.0.0.0" || options_.address == "::";
    if (!any) hosts.push_back(options_.address);
    return hosts;
  }

  // What clients are given.
  std::string AdvertisedUrl() const {
    const bool any = options_.address == "0.0.0.0" || options_.address == "::";
    if (options_.advertise.empty() && !any) return url_;
    const std::string host = options_.advertise.empty() ? "127.0.0.1" : options_.advertise.front();
    const bool bare = host.find(':') != std::string::npos;
    return fmt::format("https://{}{}{}:{}", bare ? "[" : "", host, bare ? "]" : "",
                       server_->port());
  }

  std::vector<registry::HealthCheck> Checks() {
    std::vector<registry::HealthCheck> checks{
        {"shutdown",
         [this] { return stopping_ ? base::Unavailable("the process is ending") : Status(); },
         /*only_ready=*/true}};
    checks.push_back({.name = "stored-objects",
                      .check = [this]() -> Status {
                        const auto unreadable = Unreadable();
                        if (unreadable.empty()) return {};
                        return base::MakeStatus(
                            StatusCode::kDataLoss,
                            fmt::format("objects that cannot be read: {}, such as: {}",
                                        unreadable.size(), unreadable.begin()->second));
                      },
                      .only_health = true});
    for (registry::HealthCheck& check : deciders_.Checks()) checks.push_back(std::move(check));
    if (!Database(options_).empty() || InEtcd()) {
      checks.push_back({.name = std::string(Slow()),
                        .check = [this] { return commits_.Health(); },
                        .only_health = true});
    }
    // Whoever waits there is not being answered: clients had better go elsewhere.
    checks.push_back({.name = "request-queues",
                      .check = [this] { return QueuesMove(); },
                      .only_ready = true,
                      .only_health = true});
    if (auditor_ != nullptr) {
      checks.push_back({.name = "audit-log",
                        .check = [this] { return auditor_->Health(); },
                        .only_health = true});
    }
    return checks;
  }

  Status QueuesMove() const {
    for (const auto& [name, queue] : Queues()) {
      const std::chrono::nanoseconds oldest = queue->Oldest();
      if (!internal::TooLong(oldest, options_.health.stuck_request)) continue;
      return base::Unavailable(
          fmt::format("{} of clients have waited for a thread for up to {}; waiting: {}", name,
                      base::GoDurationToString(oldest), queue->Waiting()));
    }
    return {};
  }

  std::array<std::pair<std::string_view, const threads::TaskQueue*>, 2> Queues() const {
    return {{{"writes", &writes_}, {"reads", &reads_}}};
  }

  // What health goes by, as numbers.
  void AddWaitMetrics() {
    const auto seconds = [](std::chrono::nanoseconds duration) {
      return std::chrono::duration<double>(duration).count();
    };
    metrics_.registry().Measure({"dray_store_longest_commit_seconds",
                                 "Longest commit of the last ten seconds; 0 if there was none.",
                                 {}},
                                [this, seconds](metrics::Readings& readings) {
                                  readings.Add({}, seconds(commits_.Longest()));
                                });
    metrics_.registry().Measure(
        {"dray_request_queue_oldest_seconds",
         "Waiting time of the request that has waited longest for a thread, by queue.",
         {"queue"}},
        [this, seconds](metrics::Readings& readings) {
          for (const auto& [name, queue] : Queues()) readings.Add({name}, seconds(queue->Oldest()));
        });
    metrics_.registry().Measure(
        {"dray_loop_turn_seconds",
         "Time spent on the current item of a loop; 0 if it is idle.",
         {"loop"}},
        [this](metrics::Readings& readings) { deciders_.Measure(readings); });
  }

  // What is stored and cannot be read, as far as somebody has tried, with the reason; by key.
  std::map<std::string, std::string> Unreadable() const {
    std::map<std::string, std::string> all;
    for (const registry::Registry* registry : {registry_.get(), deciding_.get()}) {
      for (auto& found : registry->objects().CannotBeRead()) {
        all.emplace(std::move(found.key), std::move(found.why));
      }
    }
    return all;
  }

  // Of a server that is there: requests are under way only while it is.
  apiserver::ServerStats Stats() const {
    const apiserver::Server* server = serving_.load();
    return server == nullptr || stopping_ ? apiserver::ServerStats() : server->stats();
  }

  PlaneOptions options_;
  const base::Clock& clock_;
  const logs::Logger log_;
  internal::PlaneMetrics metrics_;
  internal::CommitWatch commits_;
  std::unique_ptr<logs::LineWriter> audit_writer_;
  std::unique_ptr<audit::Auditor> auditor_;
  std::atomic<bool> stopping_ = false;
  base::Mutex complaining_;
  std::set<std::string> complained_ ABSL_GUARDED_BY(complaining_);
  base::SystemRandomSource random_;
  cel::DeviceExpressionChecker expressions_;
  registry::RoleAuthorizer roles_;
  registry::PolicyAdmission policies_{roles_};
  apiserver::Authenticator authenticator_;
  // Apart from each other, so that nobody's write waits for somebody's table.
  threads::TaskQueue writes_{kWriteThreads};
  threads::TaskQueue reads_{kReadThreads};
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Store> early_;
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<registry::Registry> deciding_;
  std::unique_ptr<registry::LocalCluster> cluster_;
  std::unique_ptr<registry::LocalCluster> scheduler_cluster_;
  std::unique_ptr<registry::LocalCluster> controller_cluster_;
  std::unique_ptr<api::Cluster> counted_for_scheduler_;
  std::unique_ptr<api::Cluster> counted_for_controllers_;
  internal::Deciders deciders_{options_, clock_, metrics_};
  std::unique_ptr<registry::RoleAuthorizer::Following> following_roles_;
  std::unique_ptr<registry::PolicyAdmission::Following> following_policies_;
  std::optional<apiserver::TokenKeys> token_keys_;
  std::unique_ptr<registry::AccountTokens> tokens_;
  std::unique_ptr<registry::BootstrapTokens> joining_;
  std::unique_ptr<registry::NodeDoor> node_door_;
  std::unique_ptr<registry::RestHandler> handler_;
  std::unique_ptr<internal::Snapshots> snapshots_;
  std::unique_ptr<apiserver::Handler> front_;
  std::unique_ptr<apiserver::Server> server_;
  std::atomic<const apiserver::Server*> serving_ = nullptr;
  apiserver::Credentials made_;
  apiserver::KeyPair authority_;
  std::string url_;
  std::string kubeconfig_;
};

}  // namespace

StatusOr<std::unique_ptr<ControlPlane>> ControlPlane::Start(PlaneOptions options,
                                                            const base::Clock& clock) {
  auto plane = std::make_unique<Plane>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(plane->Open());
  plane->Decide();
  return std::unique_ptr<ControlPlane>(std::move(plane));
}

}  // namespace dray::plane
