// SPDX-License-Identifier: Apache-2.0
//
// The deciders as workers of loops.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "api/authorization.h"
#include "api/cluster.h"
#include "api/gates.h"
#include "apiserver/certificates.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "controllers/all_controllers.h"
#include "plane/internal/certificate_signing.h"
#include "plane/internal/controller_metrics.h"
#include "plane/internal/loop.h"
#include "plane/internal/scheduler_metrics.h"
#include "plane/internal/slow_decisions.h"
#include "plane/remote_scheduler.h"
#include "scheduler/background.h"
#include "scheduler/config.h"
#include "scheduler/scheduler.h"

namespace dray::plane::internal {

class SchedulerWorker : public Worker {
 public:
  virtual scheduler::Statistics statistics() const = 0;
  // See scheduler::Scheduler.
  virtual Status Paused() const = 0;
};

// Everything outlives them. `metrics` may be null; `background`: see scheduler::SchedulerOptions;
// `random`: where uids come from, null: the system's; `between`: see remote_scheduler.h.
std::unique_ptr<SchedulerWorker> MakeSchedulerWorker(
    api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates,
    const scheduler::Config& config, SchedulerMetrics* metrics,
    scheduler::Background* background = nullptr, base::RandomSource* random = nullptr,
    const DecisionLogOptions& log = {}, Between* between = nullptr);

// What works on the controllers' thread.
struct ControllerParts {
  bool controllers = true;
  bool nodes = true;  // hollow ones
  // Of the certificate authority, PEM; empty: namespaces get no service accounts either.
  std::string authority = {};
  // Signs certificates of nodes and clients for who may have them; null: nobody does. Both outlive
  // the worker.
  const apiserver::KeyPair* signer = nullptr;
  const api::Authorizer* authorizer = nullptr;
  CertificateSigning::WriteApproval write_approval = nullptr;
  // Those of one group only, with a picture of what they need: where each watch and each write costs
  // a way to the server. None: all, with a picture of everything.
  std::optional<controllers::ControllerGroup> only = std::nullopt;
  // Where each write is waited for: what lets those about different objects overlap, and how many.
  controllers::Launch launch = nullptr;
  std::size_t most_under_way = 0;
};
std::unique_ptr<Worker> MakeControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                                             const api::FeatureGates& gates,
                                             ControllerMetrics& metrics,
                                             ControllerParts parts = {});

}  // namespace dray::plane::internal
