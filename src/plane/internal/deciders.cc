// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/deciders.h"

#include <utility>

#include "base/time.h"
#include "client/leader_election.h"
#include "fmt/format.h"
#include "plane/internal/commit_watch.h"
#include "plane/internal/open_store.h"
#include "plane/internal/overlapping.h"
#include "plane/internal/process.h"
#include "plane/internal/workers.h"

namespace dray::plane::internal {
namespace {

constexpr std::string_view kSchedulerName = "default-scheduler";
// As `dray controllers` calls its own.
constexpr std::string_view kControllersLease = "dray-controllers";
constexpr std::string_view kNodesLease = "dray-simulated-nodes";

}  // namespace

// As `dray scheduler` calls its own.
std::string Deciders::SchedulerLease() const {
  const auto& profiles = options_.config.profiles;
  return profiles.empty() ? std::string(kSchedulerName) : profiles.front().scheduler_name;
}

// Nobody else decides while these do, and they do not while somebody else does.
void Deciders::Elect(store::Store& store, const Clusters& clusters) {
  store_ = &store;
  controllers_cluster_ = clusters.controllers;
  const bool alone = HasStoreAlone(options_, store);
  const auto elect = [&](const std::string& name, std::string_view component) {
    const client::LeaseOptions lease =
        alone ? LeaseOfTheOnlyServer(name)
              : client::LeaseOptions{.name = name, .identity = MadeUpIdentity()};
    return std::make_unique<LocalElection>(*clusters.durable, clock_, lease, LoggerFor(component));
  };
  const std::string scheduler = SchedulerLease();
  if (options_.scheduler) {
    scheduler_election_ = elect(scheduler, "scheduler");
    leading_scheduler_ = WhileLeading(*clusters.scheduler, *scheduler_election_);
  } else {
    ForgetLeaseOfTheOnlyServer(*clusters.durable, clock_, scheduler);
  }
  // Simulated nodes alone need none where nobody else can have any.
  const std::string controllers(options_.controllers || alone ? kControllersLease : kNodesLease);
  if (options_.controllers || (options_.nodes && !alone)) {
    controller_election_ = elect(controllers, "controllers");
    leading_controllers_ = WhileLeading(*clusters.controllers, *controller_election_);
  } else {
    ForgetLeaseOfTheOnlyServer(*clusters.durable, clock_, std::string(kControllersLease));
  }
}

void Deciders::Start(const apiserver::KeyPair& authority, const api::Authorizer& authorizer) {
  // With early writes nothing is waited for; see store::EarlyWrites.
  const bool waits = store_->early() == nullptr;
  if (options_.scheduler) {
    const auto make = [this](api::Cluster& cluster, scheduler::Background* background) {
      return MakeSchedulerWorker(cluster, clock_, options_.gates, options_.config,
                                 &metrics_.scheduler(), background, nullptr,
                                 {LoggerFor("scheduler"), options_.slow_decision});
    };
    scheduler_ = std::make_unique<Loop>(
        *store_, clock_,
        [this, make, waits](const std::function<void()>& ring) -> std::unique_ptr<Worker> {
          if (!waits) return make(*leading_scheduler_, nullptr);
          return MakeOverlapping(*leading_scheduler_, ring,
                                 [&](Turns& turns) { return make(turns.cluster(), &turns); });
        },
        [this] { return scheduler_election_->Await(); });
    scheduling_ = scheduler_.get();
  }
  const ControllerParts parts{.controllers = options_.controllers,
                              .nodes = options_.nodes,
                              .authority = authority.certificate,
                              .signer = &authority,
                              .authorizer = &authorizer};
  if (!parts.controllers && !parts.nodes) return;
  controllers_ = std::make_unique<Loop>(
      *store_, clock_,
      [this, parts, waits](const std::function<void()>& ring) {
        api::Cluster& cluster =
            leading_controllers_ != nullptr ? *leading_controllers_ : *controllers_cluster_;
        ControllerMetrics& metrics = metrics_.controllers();
        return waits ? MakeOverlappingControllers(cluster, ring, clock_, options_.gates, metrics,
                                                  parts)
                     : MakeControllerWorker(cluster, clock_, options_.gates, metrics, parts);
      },
      [this] { return controller_election_ == nullptr || controller_election_->Await(); });
  controlling_ = controllers_.get();
}

void Deciders::Stop() {
  for (const Election* election : {&scheduler_election_, &controller_election_}) {
    if (*election != nullptr) (*election)->Stop();
  }
  scheduling_ = nullptr;
  controlling_ = nullptr;
  scheduler_ = nullptr;
  controllers_ = nullptr;
  scheduler_election_ = nullptr;
  controller_election_ = nullptr;
}

Status Deciders::Health() const {
  for (const Election* election : {&scheduler_election_, &controller_election_}) {
    if (*election != nullptr) DRAY_RETURN_IF_ERROR((*election)->Health());
  }
  return {};
}

Status Deciders::Started(const Running& loop, const Election& election) {
  const Loop* running = loop.load();
  if (running != nullptr && running->Started()) return {};
  // It is another server's turn.
  if (election != nullptr && election->Waits()) return {};
  return base::Unavailable("it has not seen everything yet");
}

Status Deciders::Moves(const Running& loop) const {
  const Loop* running = loop.load();
  const auto age = running == nullptr ? std::chrono::nanoseconds(0) : running->TurnAge();
  if (!TooLong(age, options_.health.stuck_loop)) return {};
  return base::Unavailable(fmt::format("the piece of work that it is at has taken {} so far",
                                       base::GoDurationToString(age)));
}

std::vector<registry::HealthCheck> Deciders::Checks() const {
  std::vector<registry::HealthCheck> checks;
  if (options_.scheduler) {
    checks.push_back(
        {"scheduler", [this] { return Started(scheduling_, scheduler_election_); }, true});
    checks.push_back({.name = "scheduler-loop",
                      .check = [this] { return Moves(scheduling_); },
                      .only_health = true});
  }
  if (options_.controllers || options_.nodes) {
    checks.push_back(
        {"controllers", [this] { return Started(controlling_, controller_election_); }, true});
    checks.push_back({.name = "controllers-loop",
                      .check = [this] { return Moves(controlling_); },
                      .only_health = true});
  }
  return checks;
}

void Deciders::Measure(metrics::Readings& readings) const {
  const auto seconds = [](std::chrono::nanoseconds duration) {
    return std::chrono::duration<double>(duration).count();
  };
  const Loop* scheduler = scheduling_.load();
  const Loop* controllers = controlling_.load();
  if (scheduler != nullptr) readings.Add({"scheduler"}, seconds(scheduler->TurnAge()));
  if (controllers != nullptr) readings.Add({"controllers"}, seconds(controllers->TurnAge()));
}

}  // namespace dray::plane::internal
