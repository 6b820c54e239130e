// SPDX-License-Identifier: Apache-2.0
#include "plane/remote_controllers.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "api/lease.h"
#include "base/mutex.h"
#include "client/object_client.h"
#include "client/remote_cluster.h"
#include "controllers/all_controllers.h"
#include "fmt/format.h"
#include "plane/internal/client_metrics.h"
#include "plane/internal/controller_metrics.h"
#include "plane/internal/overlapping.h"
#include "plane/internal/process.h"
#include "plane/internal/process_metrics.h"
#include "plane/internal/reviews.h"
#include "plane/internal/server_metrics.h"
#include "plane/internal/watch_metrics.h"
#include "plane/internal/workers.h"

namespace dray::plane {
namespace {

constexpr std::string_view kComponent = "dray-controllers";
// Whose cluster has this one has controllers already.
constexpr std::string_view kTheirLease = "kube-controller-manager";
constexpr std::chrono::nanoseconds kLongestNap = std::chrono::seconds(1);

using internal::ControllerParts;

// What is shown at /metrics.
struct Page {
  Page(const RemoteControllersOptions& options, const std::string& kubernetes_version,
       const std::string& lease)
      : controllers(registry),
        claims(registry),
        client(registry, internal::HostIn(options.access.url), lease) {
    internal::AddVersionMetrics(registry, kubernetes_version, options.gates);
    internal::AddProcessMetrics(registry);
    if (options.log != nullptr) internal::AddLogMetrics(registry, *options.log);
  }
  metrics::Registry registry;
  internal::ControllerMetrics controllers;
  internal::ClaimMetrics claims;
  internal::ClientMetrics client;
};

class Remote final : public RemoteControllers {
 public:
  Remote(RemoteControllersOptions options, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        log_(options_.log == nullptr ? logs::Logger() : options_.log->For("controllers")),
        process_(options_, std::string(kComponent), clock, log_,
                 {.on_answer =
                      [this](const client::HttpRequest& request, int status,
                             std::chrono::nanoseconds took) {
                        if (page_ != nullptr) page_->client.OnAnswer(request, status, took);
                      },
                  .on_election =
                      [this](bool leading) {
                        if (page_ != nullptr) page_->client.SetLeading(leading);
                      }}) {}

  ~Remote() override {
    process_.Stop();
    process_.news().Ring();
    deciding_ = nullptr;
    process_.CloseDoor();
    // What is left to be said is said as the leader; then somebody else may be.
    crews_.clear();
    process_.Resign();
  }

  Status Open() {
    DRAY_ASSIGN_OR_RETURN(const std::string server, process_.Reach());
    page_ = std::make_unique<Page>(
        options_, server, options_.leader_elect ? process_.lease_options().name : std::string());
    DRAY_RETURN_IF_ERROR(LookForOthers());
    DRAY_RETURN_IF_ERROR(process_.OpenElection());
    MakeCrews();
    DRAY_RETURN_IF_ERROR(process_.OpenDoor(
        "informer-sync", [this] { return Connection(); }, page_->registry,
        fmt::format(R"({{"componentconfig":{{"leaderElection":{{"leaderElect":{},)"
                    R"("resourceName":"{}","resourceNamespace":"{}"}}}}}})",
                    options_.leader_elect, process_.lease_options().name,
                    process_.lease_options().namespace_)));
    deciding_ = process_.host().Start([this] { Run(); });
    process_.Elect();
    return {};
  }

  bool leading() const override { return process_.leading(); }
  std::string leader() const override { return process_.leader(); }
  Status Health() const override { return process_.Health(); }
  Status Connection() const override {
    for (const auto& crew : crews_) {
      if (Status health = crew->cluster->Health(); !health.ok()) return health;
    }
    return {};
  }
  Status Election() const override { return process_.Election(); }
  std::string lease() const override { return process_.lease(); }
  std::string serving() const override { return process_.serving(); }

 private:
  // Controllers that share a thread, and what they see the cluster through. Each write is waited for,
  // so who has much to write keeps those waiting that are with it, and nobody else.
  struct Crew {
    ControllerParts parts;
    std::unique_ptr<base::Alarm> news;
    std::unique_ptr<client::RemoteCluster> cluster;
    std::unique_ptr<base::Running> running;
  };

  // Two who do the same by different rules undo each other's work.
  Status LookForOthers() {
    if (!options_.controllers) return {};
    const client::ObjectClient client(process_.http(), std::string(kComponent));
    const auto found =
        client.Get(api::HubKind(api::TypeInfoOf<api::Lease>()), "kube-system", kTheirLease);
    if (found.status().code() == StatusCode::kNotFound) return {};
    if (!found.ok()) return base::Annotate(found.status(), "leases in kube-system");
    const std::string holder = found->As<api::Lease>()->spec.holder_identity.value_or("");
    if (holder.empty()) return {};
    return base::FailedPrecondition(
        fmt::format("{} has kube-controller-manager (the lease kube-system/{} is held by \"{}\"): "
                    "dray's controllers are for dray's own API server",
                    options_.access.url, kTheirLease, holder));
  }

  void MakeCrews() {
    const std::string& authority =
        options_.authority.empty() ? options_.access.authority : options_.authority;
    authorizer_.emplace(process_.http());
    approvals_.emplace(process_.http(), std::string(kComponent));
    if (options_.controllers) {
      for (const controllers::ControllerGroup group : controllers::kControllerGroups) {
        AddCrew({.controllers = true,
                 .nodes = false,
                 .authority = authority,
                 .signer = options_.signer ? &*options_.signer : nullptr,
                 .authorizer = &*authorizer_,
                 .write_approval =
                     [this](const api::Object& object) {
                       return approvals_->UpdateApproval(object).status();
                     },
                 .only = group});
      }
    }
    if (options_.nodes) AddCrew({.controllers = false, .nodes = true});
  }

  void AddCrew(ControllerParts parts) {
    auto crew = std::make_unique<Crew>();
    crew->parts = std::move(parts);
    crew->news = process_.host().MakeAlarm();
    client::RemoteOptions remote;
    remote.component = process_.component();
    remote.host = &process_.host();
    remote.note_writers = 1;
    remote.on_change = [alarm = crew->news.get()] { alarm->Ring(); };
    crew->cluster =
        std::make_unique<client::RemoteCluster>(process_.http(), clock_, std::move(remote));
    crews_.push_back(std::move(crew));
  }

  void Run() {
    while (!leading() && !process_.stopping()) process_.news().Sleep(kLongestNap);
    if (process_.stopping()) return;
    if (!crews_.empty()) process_.TellLeading(*crews_.front()->cluster);
    for (const auto& crew : crews_) {
      crew->running = process_.host().Start([this, crew = crew.get()] { Work(*crew); });
    }
    // A lease that was lost for a moment and is had again does not count: a crew that has seen that
    // moment works no more.
    while (!process_.stopping() && leading() && !gone_) process_.news().Sleep(kLongestNap);
    if (!process_.stopping()) process_.Lose();
    for (const auto& crew : crews_) crew->news->Ring();
    for (const auto& crew : crews_) crew->running = nullptr;
  }

  // Whether one of them may (controllers::Controller::Overlap).
  static bool Overlaps(const ControllerParts& parts) {
    return parts.nodes || parts.only == controllers::ControllerGroup::kClaims;
  }

  bool MayGoOn() const { return !process_.stopping() && !process_.lost() && leading(); }

  void Work(Crew& crew) {
    const std::unique_ptr<api::Cluster> counted = page_->claims.ForControllers(*crew.cluster);
    const auto worker = Overlaps(crew.parts)
                            ? internal::MakeOverlappingControllers(
                                  *counted, [alarm = crew.news.get()] { alarm->Ring(); }, clock_,
                                  options_.gates, page_->controllers, crew.parts, process_.host())
                            : internal::MakeControllerWorker(*counted, clock_, options_.gates,
                                                             page_->controllers, crew.parts);
    while (MayGoOn()) {
      if (worker->Work()) continue;
      std::chrono::nanoseconds nap = kLongestNap;
      if (const auto due = worker->NextDue()) {
        nap = std::clamp(*due - clock_.Monotonic(), std::chrono::nanoseconds(0), nap);
      }
      crew.news->Sleep(nap);
    }
    gone_ = true;
    process_.news().Ring();
  }

  const RemoteControllersOptions options_;
  const base::Clock& clock_;
  const logs::Logger log_;
  std::unique_ptr<Page> page_;  // what others observe goes after them
  internal::Process process_;
  // By the leader alone: whoever does not lead decides about nobody's rights.
  std::optional<internal::ReviewAuthorizer> authorizer_;
  std::optional<client::ObjectClient> approvals_;
  std::vector<std::unique_ptr<Crew>> crews_;
  std::atomic<bool> gone_ = false;  // a crew has ended
  std::unique_ptr<base::Running> deciding_;
};

}  // namespace

StatusOr<std::unique_ptr<RemoteControllers>> RemoteControllers::Start(
    RemoteControllersOptions options, const base::Clock& clock) {
  auto remote = std::make_unique<Remote>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(remote->Open());
  return std::unique_ptr<RemoteControllers>(std::move(remote));
}

}  // namespace dray::plane
