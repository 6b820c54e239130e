// SPDX-License-Identifier: Apache-2.0
#include "plane/remote_scheduler.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "client/http_client.h"
#include "client/remote_cluster.h"
#include "fmt/format.h"
#include "plane/internal/process.h"
#include "plane/internal/scheduler_page.h"
#include "plane/internal/server_gates.h"
#include "plane/internal/turns.h"
#include "plane/internal/workers.h"

namespace dray::plane {
namespace {

constexpr std::string_view kComponent = "default-scheduler";
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::seconds(1);

// Pods name their scheduler: by that name it is known, too.
std::string ComponentOf(const scheduler::Config& config) {
  return config.profiles.empty() ? std::string(kComponent) : config.profiles.front().scheduler_name;
}

class Remote final : public RemoteScheduler {
 public:
  Remote(RemoteSchedulerOptions options, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        log_(options_.log == nullptr ? logs::Logger() : options_.log->For("scheduler")),
        process_(options_, ComponentOf(options_.config), clock, log_,
                 {.on_answer =
                      [this](const client::HttpRequest& request, int status,
                             std::chrono::nanoseconds took) {
                        if (page_ != nullptr) page_->client().OnAnswer(request, status, took);
                      },
                  .on_election =
                      [this](bool leading) {
                        if (page_ != nullptr) page_->client().SetLeading(leading);
                      }}) {}

  ~Remote() override {
    process_.Stop();
    process_.news().Ring();
    deciding_ = nullptr;
    // It has been told until now that it is ending.
    process_.CloseDoor();
    // What is left to be said is said as the leader; then somebody else may be.
    cluster_ = nullptr;
    process_.Resign();
  }

  Status Open() {
    DRAY_ASSIGN_OR_RETURN(const std::string server, process_.Reach());
    if (options_.fit_gates) FitGates(server);
    if (options_.serving) MakePage(server);
    client::RemoteOptions remote;
    remote.component = process_.component();
    remote.host = &process_.host();
    remote.on_change = [this] { process_.news().Ring(); };
    remote.withheld = [this](const api::KindInfo& kind, const Status& why) {
      return CanDoWithout(kind, why);
    };
    cluster_ = std::make_unique<client::RemoteCluster>(process_.http(), clock_, std::move(remote));
    DRAY_RETURN_IF_ERROR(process_.OpenElection());
    if (options_.serving) DRAY_RETURN_IF_ERROR(OpenDoor());
    deciding_ = process_.host().Start([this] { Run(); });
    process_.Elect();
    return {};
  }

  bool leading() const override { return process_.leading(); }
  std::string leader() const override { return process_.leader(); }
  Status Health() const override { return process_.Health(); }
  Status Connection() const override { return cluster_->Health(); }
  Status Election() const override { return process_.Election(); }
  scheduler::Statistics statistics() const override {
    const base::MutexLock lock(mutex_);
    return statistics_;
  }
  std::string lease() const override { return process_.lease(); }
  std::string serving() const override { return process_.serving(); }

 private:
  void FitGates(const std::string& server) {
    if (const std::string skew = internal::SkewOf(server); !skew.empty()) {
      log_.Warning("The API server is of another version", {{"skew", skew}});
    }
    for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
      const auto document = process_.http().Send(
          {.target = fmt::format("/openapi/v3/apis/resource.k8s.io/{}", version)});
      if (document.ok() && document->status == 404) continue;
      if (!document.ok() || document->status >= 300) {
        const Status why = document.ok() ? client::FailureOf(*document) : document.status();
        log_.Warning(
            "The OpenAPI document of the API server cannot be read: its feature gates must match "
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
        {"devicetaintrules", "devices are allocated although a DeviceTaintRule taints them"},
        {"poddisruptionbudgets", "pods are preempted regardless of PodDisruptionBudgets"},
        {"persistentvolumeclaims", "pods with such volumes have to wait"},
        {"persistentvolumes", "pods whose claims have a volume have to wait"},
        {"storageclasses", "pods whose claims have no volume yet have to wait"},
        {"csinodes", "volume limits of nodes are not enforced"},
        {"csidrivers", "volumes may be requested where there is no storage capacity"},
        {"csistoragecapacities",
         "no volumes are requested from drivers that publish their storage capacity"},
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
          "A kind may not be read and is treated as empty",
          {{"kind", name}, {"cost", cost.empty() ? "nothing is scheduled" : cost}, {"err", why}});
    }
    return !cost.empty();
  }

  void MakePage(std::string kubernetes_version) {
    page_ = std::make_unique<internal::SchedulerPage>(
        clock_, internal::SchedulerPageOptions{
                    .gates = gates_,
                    .kubernetes_version = std::move(kubernetes_version),
                    .host = internal::HostIn(options_.access.url),
                    .lease = options_.leader_elect ? process_.lease_options().name : std::string(),
                    .log = options_.log});
  }

  Status OpenDoor() {
    const client::LeaseOptions& lease = process_.lease_options();
    scheduler::LoadedConfig shown{.config = options_.config};
    shown.leader_election = {.leader_elect = options_.leader_elect,
                             .lease_duration = lease.duration,
                             .renew_deadline = lease.renew_deadline,
                             .retry_period = lease.retry,
                             .resource_name = lease.name,
                             .resource_namespace = lease.namespace_};
    shown.client_connection = {.qps = options_.qps, .burst = options_.burst};
    return process_.OpenDoor(
        "sched-handler-sync", [this] { return Connection(); }, page_->registry(),
        fmt::format(R"({{"componentconfig":{}}})", scheduler::ShowConfig(shown)));
  }

  void Run() {
    while (!leading() && !process_.stopping()) process_.news().Sleep(kLongestNap);
    if (process_.stopping()) return;
    process_.TellLeading(*cluster_);
    Decide();
  }

  void Decide() {
    auto turns = std::make_unique<internal::Turns>(
        *cluster_, options_.writers, [this] { process_.news().Ring(); }, process_.host());
    std::unique_ptr<api::Cluster> counted;
    if (page_ != nullptr) counted = page_->claims().ForScheduler(turns->cluster());
    api::Cluster& way = counted != nullptr ? *counted : turns->cluster();
    std::unique_ptr<Between> between;
    if (options_.between) between = options_.between(way);
    const auto worker = internal::MakeSchedulerWorker(
        between != nullptr ? between->cluster() : way, clock_, gates_, options_.config,
        page_ != nullptr ? &page_->scheduler() : nullptr, turns.get(), options_.random,
        {log_, options_.slow_decision}, between.get());
    while (!process_.stopping()) {
      if (!leading()) {
        process_.Lose();
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
      process_.news().Sleep(nap);
    }
    // Bindings end before the scheduler that they belong to.
    turns = nullptr;
  }

  const RemoteSchedulerOptions options_;
  const base::Clock& clock_;
  const logs::Logger log_;
  api::FeatureGates gates_ = options_.gates;
  std::unique_ptr<internal::SchedulerPage> page_;  // what others observe goes after them
  internal::Process process_;
  std::unique_ptr<client::RemoteCluster> cluster_;
  mutable base::Mutex mutex_;
  scheduler::Statistics statistics_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> withheld_ ABSL_GUARDED_BY(mutex_);  // kinds that may not be read
  std::unique_ptr<base::Running> deciding_;
};

}  // namespace

StatusOr<std::unique_ptr<RemoteScheduler>> RemoteScheduler::Start(RemoteSchedulerOptions options,
                                                                  const base::Clock& clock) {
  auto remote = std::make_unique<Remote>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(remote->Open());
  return std::unique_ptr<RemoteScheduler>(std::move(remote));
}

}  // namespace dray::plane
