// SPDX-License-Identifier: Apache-2.0
//
// Deciders: the scheduler, the controllers and simulated nodes that are in the API server's process, each
// on a thread of its own, while they hold their leases.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/cluster.h"
#include "apiserver/certificates.h"
#include "base/clock.h"
#include "base/status.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "plane/control_plane.h"
#include "plane/internal/local_election.h"
#include "plane/internal/loop.h"
#include "plane/internal/plane_metrics.h"
#include "registry/health.h"
#include "store/store.h"

namespace dray::plane::internal {

// Thread-safe once started.
class Deciders {
 public:
  // All outlive it. The options say which there are.
  Deciders(const PlaneOptions& options, const base::Clock& clock, PlaneMetrics& metrics)
      : options_(options), clock_(clock), metrics_(metrics) {}
  ~Deciders() { Stop(); }

  // What they decide is written through the last two, their leases through the first.
  struct Clusters {
    api::Cluster* durable = nullptr;
    api::Cluster* scheduler = nullptr;
    api::Cluster* controllers = nullptr;
  };
  // Takes the leases, or waits for them. All outlive it.
  void Elect(store::Store& store, const Clusters& clusters);
  void Start(const apiserver::KeyPair& authority, const api::Authorizer& authorizer);
  // What they have in hand is finished, and the leases are given back. Idempotent.
  void Stop();

  // Not OK: a lease was lost, and the process should end.
  Status Health() const;
  std::vector<registry::HealthCheck> Checks() const;
  // How long what loops are at has taken so far.
  void Measure(metrics::Readings& readings) const;

 private:
  using Election = std::unique_ptr<LocalElection>;
  using Running = std::atomic<Loop*>;

  logs::Logger LoggerFor(std::string_view component) const {
    return options_.log == nullptr ? logs::Logger() : options_.log->For(component);
  }
  std::string SchedulerLease() const;
  static Status Started(const Running& loop, const Election& election);
  // Whether a loop comes to the end of what it does.
  Status Moves(const Running& loop) const;

  const PlaneOptions& options_;
  const base::Clock& clock_;
  PlaneMetrics& metrics_;
  store::Store* store_ = nullptr;
  api::Cluster* controllers_cluster_ = nullptr;  // of those that need no lease
  Election scheduler_election_;
  Election controller_election_;
  std::unique_ptr<api::Cluster> leading_scheduler_;
  std::unique_ptr<api::Cluster> leading_controllers_;
  Running scheduling_ = nullptr;
  Running controlling_ = nullptr;
  std::unique_ptr<Loop> scheduler_;
  std::unique_ptr<Loop> controllers_;
};

}  // namespace dray::plane::internal
