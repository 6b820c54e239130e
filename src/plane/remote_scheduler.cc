// SPDX-License-Identifier: Apache-2.0
#include "plane/remote_scheduler.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "api/document.h"
#include "base/mutex.h"
#include "base/uuid.h"
#include "client/http_client.h"
#include "client/leader_election.h"
#include "client/remote_cluster.h"
#include "fmt/format.h"
#include "plane/internal/scheduler_door.h"
#include "plane/internal/scheduler_page.h"
#include "plane/internal/server_gates.h"
#include "plane/internal/turns.h"
#include "plane/internal/workers.h"
#include "registry/health.h"
#include "threads/system_host.h"

namespace dray::plane {
namespace {

constexpr std::string_view kComponent = "default-scheduler";
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::seconds(1);

std::string MadeUpIdentity() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  base::SystemRandomSource random;
  return fmt::format("{}_{}", name, base::NewUuid(random));
}

// The version that an API server says it is, as v1.38.0; empty: it does not.
std::string VersionIn(const std::string& body) {
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode version = api::ParseJson(body, diagnostics);
  const api::Member* told = version.Find("gitVersion");
  return told == nullptr ? std::string() : told->value.text;
}

// The lease, for what is told about it.
api::Object LeaseObject(const client::LeaseOptions& options) {
  api::Lease lease;
  lease.metadata.namespace_ = options.namespace_;
  lease.metadata.name = options.name;
  return api::Object::Of(std::move(lease));
}

class Remote final : public RemoteScheduler {
 public:
  Remote(RemoteSchedulerOptions options, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        log_(options_.log == nullptr ? logs::Logger() : options_.log->For("scheduler")),
        host_(options_.host != nullptr ? *options_.host : threads::TheSystemHost()),
        news_(host_.MakeAlarm()),
        election_(host_.MakeAlarm()) {}

  ~Remote() override {
    stopping_ = true;
    news_->Ring();
    deciding_ = nullptr;
    // It has been told until now that it is ending.
    door_ = nullptr;
    // What is left to be said is said as the leader; then somebody else may be.
    cluster_ = nullptr;
    decided_ = true;
    election_->Ring();
    electing_ = nullptr;
  }

  Status Open() {
    DRAY_RETURN_IF_ERROR(NameLease());
    client::HttpOptions http;
    // Asked again for every request: one that had to wait may have outlived its lease.
    http.may_write = [this] { return !lost_ && leading(); };
    http.qps = options_.qps;
    http.burst = options_.burst;
    http.on_answer = [this](const client::HttpRequest& request, int status,
                            std::chrono::nanoseconds took) {
      if (page_ != nullptr) page_->OnAnswer(request, status, took);
    };
    DRAY_ASSIGN_OR_RETURN(http_, Connect(std::move(http)));
    // Better told now than by watches that never begin.
    DRAY_ASSIGN_OR_RETURN(const client::HttpResponse version, http_->Send({.target = "/version"}));
    if (version.status >= 300) return client::FailureOf(version);
    const std::string server = VersionIn(version.body);
    if (options_.fit_gates) FitGates(server);
    if (options_.serving) MakePage(server);
    client::RemoteOptions remote;
    remote.component = Component();
    remote.host = &host_;
    remote.on_change = [this] { news_->Ring(); };
    remote.withheld = [this](const api::KindInfo& kind, const Status& why) {
      return CanDoWithout(kind, why);
    };
    cluster_ = std::make_unique<client::RemoteCluster>(*http_, clock_, std::move(remote));
    if (options_.leader_elect) DRAY_RETURN_IF_ERROR(OpenElection());
    if (options_.serving) DRAY_RETURN_IF_ERROR(OpenDoor());
    deciding_ = host_.Start([this] { Run(); });
    if (options_.leader_elect) electing_ = host_.Start([this] { Elect(); });
    return {};
  }

  bool leading() const override { return !options_.leader_elect || elector_->leading(); }
  std::string leader() const override {
    const base::MutexLock lock(mutex_);
    return leader_;
  }
  Status Health() const override {
    if (!lost_) return {};
    return base::Aborted(fmt::format("the lease {} was lost", lease()));
  }
  Status Connection() const override { return cluster_->Health(); }
  Status Election() const override {
    const base::MutexLock lock(mutex_);
    return election_trouble_;
  }
  scheduler::Statistics statistics() const override {
    const base::MutexLock lock(mutex_);
    return statistics_;
  }
  std::string lease() const override {
    if (!options_.leader_elect) return "";
    return fmt::format("{}/{}", lease_.namespace_, lease_.name);
  }
  std::string serving() const override { return door_ == nullptr ? "" : door_->url(); }

 private:
  StatusOr<std::unique_ptr<client::HttpClient>> Connect(client::HttpOptions http) const {
    http.user_agent = fmt::format("{}/dray", Component());
    if (options_.connect) return options_.connect(std::move(http));
    return client::HttpClient::Create(options_.access, std::move(http));
  }

  // Never that of kube-scheduler by default: who takes it stops the scheduling of a cluster.
  Status NameLease() {
    if (!options_.leader_elect) return {};
    lease_ = options_.lease;
    if (lease_.name.empty()) lease_.name = Component();
    if (!options_.identity.empty()) lease_.identity = options_.identity;
    if (lease_.identity.empty()) lease_.identity = MadeUpIdentity();
    return client::CheckLease(lease_);
  }

  void FitGates(const std::string& server) {
    if (const std::string skew = internal::SkewOf(server); !skew.empty()) {
      log_.Warning("The API server is of another version", {{"skew", skew}});
    }
    for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
      const auto document =
          http_->Send({.target = fmt::format("/openapi/v3/apis/resource.k8s.io/{}", version)});
      if (document.ok() && document->status == 404) continue;
      if (!document.ok() || document->status >= 300) {
        const Status why = document.ok() ? client::FailureOf(*document) : document.status();
        log_.Warning(
            "Which fields the API server has cannot be read: its feature gates must be "
            "those given here",
            {{"err", why}});
        return;
      }
      internal::FittedGates fitted = internal::FitGates(gates_, document->body);
      gates_ = fitted.gates;
      for (const std::string& note : fitted.notes) {
        log_.Warning("A feature gate does not fit the API server", {{"note", note}});
      }
      return;
    }
    log_.Warning("The API server has no resource.k8s.io: pods that use claims have to wait");
  }

  // What is lost with a kind that the scheduler's role does not let it read. Empty: too much.
  static std::string_view WithoutThat(const api::KindInfo& kind) {
    constexpr std::pair<std::string_view, std::string_view> kCosts[] = {
        {"priorityclasses", "pods have the priority that the API server has given them"},
        {"namespaces", "namespace selectors of pod affinity match nothing"},
        {"deviceclasses", "pods that use claims have to wait"},
        {"devicetaintrules", "devices are given away although a rule taints them"},
        {"poddisruptionbudgets", "pods that a budget keeps are preempted like any other"},
        {"persistentvolumeclaims", "pods with such volumes have to wait"},
        {"persistentvolumes", "pods whose claims have a volume have to wait"},
        {"storageclasses", "pods whose claims have no volume yet have to wait"},
        {"csinodes", "nodes get more volumes than they can have"},
        {"csidrivers", "volumes are asked for where there is no room for them"},
        {"csistoragecapacities",
         "no volume is asked for of a driver that tells how much room it has"},
        {"resourceslices", "there are no devices"}};
    for (const auto& [plural, cost] : kCosts) {
      if (plural == kind.plural) return cost;
    }
    return "";
  }

  // Nodes, pods and claims it cannot do without: by what it does not see it would give things twice.
  bool CanDoWithout(const api::KindInfo& kind, const Status& why) {
    const std::string_view cost = WithoutThat(kind);
    const std::string name(kind.plural);
    const base::MutexLock lock(mutex_);
    if (why.ok()) {
      if (withheld_.erase(name) > 0) log_.Info(0, "A kind can be read again", {{"kind", name}});
    } else if (withheld_.insert(name).second) {
      log_.Warning(
          "A kind may not be read, and is taken to be empty",
          {{"kind", name}, {"cost", cost.empty() ? "nothing is scheduled" : cost}, {"err", why}});
    }
    return !cost.empty();
  }

  void MakePage(std::string kubernetes_version) {
    std::string_view host = options_.access.url;
    if (const std::size_t scheme = host.find("://"); scheme != host.npos) {
      host.remove_prefix(scheme + 3);
    }
    page_ = std::make_unique<internal::SchedulerPage>(
        clock_,
        internal::SchedulerPageOptions{.gates = gates_,
                                       .kubernetes_version = std::move(kubernetes_version),
                                       .host = std::string(host.substr(0, host.find('/'))),
                                       .lease = options_.leader_elect ? lease_.name : std::string(),
                                       .log = options_.log});
  }

  // As kube-scheduler's: /livez says that the process answers, /readyz that it follows what happens,
  // or waits for its turn and could take it.
  std::vector<registry::HealthCheck> Checks() const {
    std::vector<registry::HealthCheck> checks;
    checks.push_back({.name = "ping", .check = [] { return Status(); }});
    if (options_.leader_elect) {
      checks.push_back({.name = "leaderElection",
                        .check = [this] { return Health(); },
                        .only_ready = true,
                        .only_health = true});
    }
    checks.push_back({.name = "sched-handler-sync",
                      .check = [this] { return leading() ? Connection() : Election(); },
                      .only_ready = true});
    checks.push_back(
        {.name = "shutdown",
         .check = [this] { return stopping_ ? base::Unavailable("it is ending") : Status(); },
         .only_ready = true});
    return checks;
  }

  Status OpenDoor() {
    health_ = std::make_unique<registry::Health>(Checks(), log_);
    const ServingOptions& serving = *options_.serving;
    const auto connect = [&](const std::optional<client::ServerAccess>& access)
        -> StatusOr<std::unique_ptr<client::HttpClient>> {
      // Reviews change nothing, so they are not a leader's to make.
      client::HttpOptions http{.request_timeout = std::chrono::seconds(10), .throttled_tries = 0};
      if (!access) return Connect(std::move(http));
      return client::HttpClient::Create(*access, std::move(http));
    };
    DRAY_ASSIGN_OR_RETURN(authentication_http_, connect(serving.authentication));
    DRAY_ASSIGN_OR_RETURN(authorization_http_, connect(serving.authorization));
    scheduler::LoadedConfig shown{.config = options_.config};
    shown.leader_election = {.leader_elect = options_.leader_elect,
                             .lease_duration = lease_.duration,
                             .renew_deadline = lease_.renew_deadline,
                             .retry_period = lease_.retry,
                             .resource_name = lease_.name,
                             .resource_namespace = lease_.namespace_};
    shown.client_connection = {.qps = options_.qps, .burst = options_.burst};
    DRAY_ASSIGN_OR_RETURN(
        door_,
        internal::SchedulerDoor::Start(
            serving,
            {.health = health_.get(),
             .metrics = &page_->registry(),
             .config = fmt::format(R"({{"componentconfig":{}}})", scheduler::ShowConfig(shown))},
            *authentication_http_, *authorization_http_, clock_, log_));
    return {};
  }

  // Who manages the fields that are written: as pods name their scheduler.
  std::string Component() const {
    const auto& profiles = options_.config.profiles;
    return profiles.empty() ? std::string(kComponent) : profiles.front().scheduler_name;
  }

  // Elections go over connections of their own: a request that is not answered must not take
  // longer than the lease is good for, and there must always be a connection for one.
  Status OpenElection() {
    // Reading and writing, each with connecting, within the time in which to renew.
    client::HttpOptions http;
    const auto quarter =
        std::chrono::duration_cast<std::chrono::milliseconds>(lease_.renew_deadline / 4);
    http.connect_timeout = quarter;
    http.request_timeout = quarter;
    http.throttled_tries = 0;
    DRAY_ASSIGN_OR_RETURN(election_http_, Connect(std::move(http)));
    client::RemoteOptions remote;
    remote.component = Component();
    remote.note_writers = 1;
    remote.host = &host_;
    remote.reads = 1;
    election_cluster_ =
        std::make_unique<client::RemoteCluster>(*election_http_, clock_, std::move(remote));
    elector_ = std::make_unique<client::LeaderElector>(*election_cluster_, clock_, lease_);
    return {};
  }

  void Elect() {
    // The lease is kept until nothing is decided any more. Who has lost it does not take it again:
    // what was decided as the leader must not be written as another one.
    while (!decided_) {
      if (!lost_) elector_->Try();
      {
        const base::MutexLock lock(mutex_);
        leader_ = elector_->holder();
        election_trouble_ = elector_->trouble();
      }
      if (page_ != nullptr) page_->SetLeading(leading());
      news_->Ring();
      election_->Sleep(lease_.retry);
    }
    if (!lost_) elector_->Release();
    if (page_ != nullptr) page_->SetLeading(false);
  }

  // As Kubernetes's components tell it.
  void TellLeading() {
    if (!options_.leader_elect) return;
    log_.Info(0, "Leading", {{"lease", lease()}, {"identity", lease_.identity}});
    cluster_->Note({.about = LeaseObject(lease_),
                    .type = "Normal",
                    .reason = "LeaderElection",
                    .message = fmt::format("{} became leader", lease_.identity),
                    .component = Component()});
  }

  void Run() {
    while (!leading() && !stopping_) news_->Sleep(kLongestNap);
    if (stopping_) return;
    TellLeading();
    Decide();
  }

  void Decide() {
    auto turns = std::make_unique<internal::Turns>(
        *cluster_, options_.writers, [this] { news_->Ring(); }, host_);
    std::unique_ptr<api::Cluster> counted;
    if (page_ != nullptr) counted = page_->claims().ForScheduler(turns->cluster());
    api::Cluster& way = counted != nullptr ? *counted : turns->cluster();
    std::unique_ptr<Between> between;
    if (options_.between) between = options_.between(way);
    const auto worker = internal::MakeSchedulerWorker(
        between != nullptr ? between->cluster() : way, clock_, gates_, options_.config,
        page_ != nullptr ? &page_->scheduler() : nullptr, turns.get(), options_.random,
        {log_, options_.slow_decision}, between.get());
    while (!stopping_) {
      if (!leading()) {
        lost_ = true;
        break;
      }
      bool more = false;
      std::optional<std::chrono::nanoseconds> due;
      {
        const internal::TurnLock turn(turns->turn());
        more = worker->Work();
        due = worker->NextDue();
        const base::MutexLock lock(mutex_);
        statistics_ = worker->statistics();
      }
      if (more) continue;
      std::chrono::nanoseconds nap = kLongestNap;
      if (due) nap = std::clamp(*due - clock_.Monotonic(), std::chrono::nanoseconds(0), nap);
      news_->Sleep(nap);
    }
    // Bindings end before the scheduler that they belong to.
    turns = nullptr;
  }

  const RemoteSchedulerOptions options_;
  const base::Clock& clock_;
  const logs::Logger log_;
  base::Host& host_;
  api::FeatureGates gates_ = options_.gates;
  client::LeaseOptions lease_;
  std::unique_ptr<internal::SchedulerPage> page_;  // what others observe goes after them
  std::unique_ptr<client::HttpClient> http_;
  std::unique_ptr<client::RemoteCluster> cluster_;
  std::unique_ptr<client::HttpClient> election_http_;
  std::unique_ptr<client::RemoteCluster> election_cluster_;
  std::unique_ptr<client::LeaderElector> elector_;
  std::unique_ptr<client::HttpClient> authentication_http_;
  std::unique_ptr<client::HttpClient> authorization_http_;
  std::unique_ptr<registry::Health> health_;
  std::unique_ptr<internal::SchedulerDoor> door_;
  const std::unique_ptr<base::Alarm> news_;
  const std::unique_ptr<base::Alarm> election_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> lost_ = false;     // it led, and does not any more
  std::atomic<bool> decided_ = false;  // nothing is decided any more
  mutable base::Mutex mutex_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
  Status election_trouble_ ABSL_GUARDED_BY(mutex_);
  scheduler::Statistics statistics_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> withheld_ ABSL_GUARDED_BY(mutex_);  // kinds that may not be read
  std::unique_ptr<base::Running> deciding_;
  std::unique_ptr<base::Running> electing_;
};

}  // namespace

StatusOr<std::unique_ptr<RemoteScheduler>> RemoteScheduler::Start(RemoteSchedulerOptions options,
                                                                  const base::Clock& clock) {
  auto remote = std::make_unique<Remote>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(remote->Open());
  return std::unique_ptr<RemoteScheduler>(std::move(remote));
}

}  // namespace dray::plane
