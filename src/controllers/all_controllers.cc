// SPDX-License-Identifier: Apache-2.0
#include "controllers/all_controllers.h"

#include <algorithm>

#include "controllers/cron_job_controller.h"
#include "controllers/daemon_set_controller.h"
#include "controllers/definition_controller.h"
#include "controllers/deployment_controller.h"
#include "controllers/device_taint_eviction.h"
#include "controllers/disruption_controller.h"
#include "controllers/garbage_collector.h"
#include "controllers/job_controller.h"
#include "controllers/namespace_contents.h"
#include "controllers/namespace_controller.h"
#include "controllers/pod_group_protection.h"
#include "controllers/pool_status_controller.h"
#include "controllers/quota_controller.h"
#include "controllers/replica_set_controller.h"
#include "controllers/resource_claim_controller.h"
#include "controllers/role_aggregation.h"
#include "controllers/stateful_set_controller.h"
#include "controllers/taint_eviction.h"
#include "controllers/token_cleanup.h"

namespace dray::controllers {

namespace {

void MakeWorkloads(const Source& source, const base::Clock& clock, const ControllerOptions& options,
                   ControllerList& list) {
  list.push_back(std::make_unique<DeploymentController>(source, clock));
  list.push_back(std::make_unique<ReplicaSetController>(source, clock));
  list.push_back(std::make_unique<DaemonSetController>(source, clock));
  list.push_back(std::make_unique<StatefulSetController>(source, clock));
  list.push_back(std::make_unique<JobController>(source, clock));
  list.push_back(std::make_unique<CronJobController>(source, clock, options.time_zones));
  list.push_back(std::make_unique<DisruptionController>(source, clock));
}

void MakeOfClaims(const Source& source, const base::Clock& clock, const ControllerOptions& options,
                  ControllerList& list) {
  list.push_back(std::make_unique<ResourceClaimController>(source, clock, options.gates));
  list.push_back(std::make_unique<DeviceTaintEviction>(source, clock, options.gates));
  if (options.gates.Enabled(api::Gate::kDRAResourcePoolStatus)) {
    list.push_back(std::make_unique<PoolStatusController>(source, clock, options.gates));
  }
  if (options.gates.Enabled(api::Gate::kGenericWorkload)) {
    list.push_back(std::make_unique<PodGroupProtection>(source, clock));
  }
}

void MakeUpkeep(const Source& source, const base::Clock& clock, const ControllerOptions& options,
                ControllerList& list) {
  list.push_back(std::make_unique<NodeLifecycle>(source, clock, options.node_lifecycle));
  list.push_back(std::make_unique<TaintEviction>(source, clock));
  list.push_back(std::make_unique<PodCleanup>(source, clock, options.pod_cleanup));
  list.push_back(std::make_unique<EventCleanup>(source, clock, options.event_cleanup));
  list.push_back(std::make_unique<GarbageCollector>(source, clock));
  list.push_back(std::make_unique<RoleAggregation>(source, clock));
  if (options.service_accounts) {
    list.push_back(std::make_unique<NamespaceContents>(source, clock, options.authority));
    list.push_back(std::make_unique<TokenCleanup>(source, clock));
  }
  list.push_back(std::make_unique<QuotaController>(source, clock, options.gates));
}

}  // namespace

ControllerList MakeControllers(const Source& source, const base::Clock& clock,
                               const ControllerOptions& options) {
  // One picture for all: there is no need to be told ten times.
  const Source shared = source.Shared();
  const auto wanted = [&](ControllerGroup group) { return options.only.value_or(group) == group; };
  ControllerList list;
  if (wanted(ControllerGroup::kUpkeep)) {
    list.push_back(std::make_unique<DefinitionController>(shared, clock));
    list.push_back(std::make_unique<NamespaceController>(shared, clock));
  }
  if (wanted(ControllerGroup::kWorkloads)) MakeWorkloads(shared, clock, options, list);
  if (wanted(ControllerGroup::kClaims)) MakeOfClaims(shared, clock, options, list);
  if (wanted(ControllerGroup::kUpkeep)) MakeUpkeep(shared, clock, options, list);
  for (const auto& controller : list) controller->Observe(options.observer);
  return list;
}

std::size_t SyncAll(std::span<const std::unique_ptr<Controller>> controllers) {
  std::size_t writes = 0;
  for (;;) {
    std::size_t round = 0;
    for (const auto& controller : controllers) round += controller->Sync();
    if (round == 0) return writes;
    writes += round;
  }
}

std::optional<std::chrono::nanoseconds> NextDue(
    std::span<const std::unique_ptr<Controller>> controllers) {
  std::optional<std::chrono::nanoseconds> next;
  for (const auto& controller : controllers) {
    const auto due = controller->NextDue();
    if (due.has_value()) next = std::min(next.value_or(*due), *due);
  }
  return next;
}

}  // namespace dray::controllers
