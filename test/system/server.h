// SPDX-License-Identifier: Apache-2.0
//
// Server: the process that `dray up` is, on simulated time: a store over a disk, the registry as
// clients see it and as deciders do, controllers, simulated nodes and, if wanted, the scheduler.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "apiserver/http.h"
#include "cel/device_env.h"
#include "controllers/controller.h"
#include "registry/handler.h"
#include "registry/local_cluster.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "scheduler/ids.h"
#include "scheduler/scheduler.h"
#include "store/manual/manual_store.h"
#include "store/store.h"
#include "system/stage.h"

namespace dray::system {

api::FeatureGates Gates();
// How all schedulers of a run are set up.
scheduler::Config ConfigOf(const Stage& stage);

class Ids final : public scheduler::Ids {
 public:
  explicit Ids(base::RandomSource& random) : random_(random) {}
  std::string Uid() override { return base::NewUuid(random_); }

 private:
  base::RandomSource& random_;
};

// Made, killed and destroyed by a fiber.
class Server final : public apiserver::Handler {
 public:
  // All outlive it. `dies`: is told when a write to the disk has killed it.
  Server(Stage& stage, store::ManualDisk& disk, bool with_scheduler, std::function<void()> dies);
  // Kills it.
  ~Server() override;

  // From now on nothing that it does has an effect, and nobody hears of it.
  void Kill();

  void Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) override;

  store::Store& store() { return *store_; }
  registry::Registry& registry() { return *registry_; }
  // For those who look on.
  api::Cluster& cluster() { return *onlookers_; }
  scheduler::Scheduler* scheduler() { return scheduler_.get(); }
  Process& process() { return process_; }
  Status Health() const { return store_->Health(); }

 private:
  class Deciding;
  class UncheckedQuota;
  class LookAway;
  class Forgetful;

  void WriteSoon();
  void Write();
  void RunControllers();
  void RunScheduler();
  void Post(std::function<void()> task);

  Stage& stage_;
  store::ManualDisk& disk_;
  Process process_;
  const std::function<void()> dies_;
  const std::shared_ptr<bool> alive_;
  bool stopping_ = false;
  bool write_scheduled_ = false;
  Ids ids_;
  cel::DeviceExpressionChecker expressions_;
  registry::RoleAuthorizer roles_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Store> seen_;  // what the registries are handed
  std::unique_ptr<store::Store> early_;
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<registry::Registry> deciding_;
  std::unique_ptr<registry::LocalCluster> onlookers_;
  std::unique_ptr<registry::LocalCluster> scheduler_cluster_;
  std::unique_ptr<registry::LocalCluster> controller_cluster_;
  std::unique_ptr<api::Cluster> scheduler_way_;
  std::unique_ptr<api::Cluster> controller_way_;
  std::unique_ptr<api::Cluster> controller_eyes_;
  std::unique_ptr<registry::RestHandler> handler_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<base::Alarm> controller_alarm_;
  std::unique_ptr<base::Alarm> scheduler_alarm_;
  std::unique_ptr<base::Running> controllers_running_;
  std::unique_ptr<base::Running> scheduler_running_;
};

}  // namespace dray::system
