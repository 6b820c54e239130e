// SPDX-License-Identifier: Apache-2.0
//
// RemoteScheduler: the scheduler alone, for an API server somewhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/cluster.h"
#include "api/gates.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/status.h"
#include "base/uuid.h"
#include "client/http_client.h"
#include "client/kubeconfig.h"
#include "client/leader_election.h"
#include "logs/log.h"
#include "plane/scheduler_serving.h"
#include "scheduler/config.h"
#include "scheduler/scheduler.h"

namespace dray::plane {

// Stands between a scheduler and its cluster, and tries pods in its place: for a simulation that holds what is decided
// against the truth. Used as the scheduler is.
class Between {
 public:
  virtual ~Between() = default;
  virtual api::Cluster& cluster() = 0;
  virtual std::optional<scheduler::Outcome> ScheduleOne(scheduler::Scheduler& scheduler) = 0;
};

struct RemoteSchedulerOptions {
  client::ServerAccess access;
  api::FeatureGates gates;
  scheduler::Config config;
  // Decide only while holding a lease. One without a name has that of the first profile, so that
  // two who do not schedule the same pods do not keep each other from it.
  bool leader_elect = true;
  client::LeaseOptions lease = {};
  std::string identity;  // in the lease; empty: this machine's name and something unique
  // So many requests a second, and so many at once; 0: as many as one likes.
  double qps = 0;
  int burst = 0;
  std::optional<ServingOptions> serving;  // none: there is no port
  // Gates of which the server knows no field go off, and that is told in the log.
  bool fit_gates = false;
  std::size_t writers = 32;  // pods that are being bound at the same time
  logs::Log* log = nullptr;  // null: nobody reads one. Outlives it
  // A decision that takes longer is logged; 0: none is.
  std::chrono::nanoseconds slow_decision = std::chrono::milliseconds(100);
  // What a simulation has in place of the machine: where it runs and waits, where uids come from,
  // and the way to the server. Null: threads, the system's randomness, and sockets. All outlive it.
  base::Host* host = nullptr;
  base::RandomSource* random = nullptr;
  std::function<StatusOr<std::unique_ptr<client::HttpClient>>(client::HttpOptions)> connect =
      nullptr;
  std::function<std::unique_ptr<Between>(api::Cluster&)> between = nullptr;
};

// Runs from Start until it is destroyed: bindings under way are finished then, and the lease is
// given back. Thread-safe.
class RemoteScheduler {
 public:
  virtual ~RemoteScheduler() = default;
  // The clock outlives it. An error: the server cannot be reached, or does not want to talk to us.
  static StatusOr<std::unique_ptr<RemoteScheduler>> Start(RemoteSchedulerOptions options,
                                                          const base::Clock& clock);

  // Whether it may decide and write, by the clock; without an election always.
  virtual bool leading() const = 0;
  // Who has the lease; empty: nobody, or there is no election.
  virtual std::string leader() const = 0;
  // Not OK: it led and does not any more. The process should end, as Kubernetes's scheduler does.
  virtual Status Health() const = 0;
  // Not OK: what keeps it from seeing what happens at the moment. Nothing is decided then.
  virtual Status Connection() const = 0;
  // Not OK: why the lease can be neither taken nor renewed, such as a role that does not allow it.
  virtual Status Election() const = 0;
  virtual scheduler::Statistics statistics() const = 0;
  // "kube-system/dray"; empty: there is no election.
  virtual std::string lease() const = 0;
  // Where it can be asked how it is: https://127.0.0.1:10259; empty: nowhere.
  virtual std::string serving() const = 0;
};

}  // namespace dray::plane
