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

ControllerList MakeControllers(const Source& source, const base::Clock& clock,
                               const ControllerOptions& options) {
  // One picture for all: there is no need to be told ten times.
  const Source shared = source.Shared();
  ControllerList list;
  list.push_back(std::make_unique<DefinitionController>(shared, clock));
  list.push_back(std::make_unique<NamespaceController>(shared, clock));
  list.push_back(std::make_unique<DeploymentController>(shared, clock));
  list.push_back(std::make_unique<ReplicaSetController>(shared, clock));
  list.push_back(std::make_unique<DaemonSetController>(shared, clock));
  list.push_back(std::make_unique<StatefulSetController>(shared, clock));
  list.push_back(std::make_unique<JobController>(shared, clock));
  list.push_back(std::make_unique<CronJobController>(shared, clock, options.time_zones));
  list.push_back(std::make_unique<DisruptionController>(shared, clock));
  list.push_back(std::make_unique<ResourceClaimController>(shared, clock, options.gates));
  list.push_back(std::make_unique<DeviceTaintEviction>(shared, clock, options.gates));
  if (options.gates.Enabled(api::Gate::kDRAResourcePoolStatus)) {
    list.push_back(std::make_unique<PoolStatusController>(shared, clock, options.gates));
  }
  if (options.gates.Enabled(api::Gate::kGenericWorkload)) {
    list.push_back(std::make_unique<PodGroupProtection>(shared, clock));
  }
  list.push_back(std::make_unique<NodeLifecycle>(shared, clock, options.node_lifecycle));
  list.push_back(std::make_unique<TaintEviction>(shared, clock));
  list.push_back(std::make_unique<PodCleanup>(shared, clock, options.pod_cleanup));
  list.push_back(std::make_unique<EventCleanup>(shared, clock, options.event_cleanup));
  list.push_back(std::make_unique<GarbageCollector>(shared, clock));
  list.push_back(std::make_unique<RoleAggregation>(shared, clock));
  if (options.service_accounts) {
    list.push_back(std::make_unique<NamespaceContents>(shared, clock, options.authority));
    list.push_back(std::make_unique<TokenCleanup>(shared, clock));
  }
  list.push_back(std::make_unique<QuotaController>(shared, clock, options.gates));
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
