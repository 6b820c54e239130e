// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/controller_metrics.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/forwarding_cluster.h"
#include "api/resource_claim.h"
#include "plane/internal/claims.h"
#include "plane/internal/measures.h"

namespace dray::plane::internal {

ControllerMetrics::ControllerMetrics(metrics::Registry& registry)
    : depth_(registry.Gauges(
          {"workqueue_depth", "Current depth of the controller's work queue.", {"name"}})),
      adds_(registry.Counters(
          {"workqueue_adds_total", "Objects added to the controller's work queue.", {"name"}})),
      retries_(
          registry.Counters({"workqueue_retries_total", "Retries after a failure.", {"name"}})),
      waited_(registry.Histograms({"workqueue_queue_duration_seconds",
                                   "Time that objects waited in the controller's work queue.",
                                   {"name"}},
                                  metrics::ExponentialBounds(1e-8, 10, 12))),
      took_(registry.Histograms({"workqueue_work_duration_seconds",
                                 "Time to process an object of the controller's work queue.",
                                 {"name"}},
                                metrics::ExponentialBounds(1e-8, 10, 12))),
      evictions_(registry
                     .Counters({"device_taint_eviction_controller_pod_deletions_total",
                                "Pods deleted because of tainted devices.",
                                {}})
                     .With({})),
      evictions_late_(
          registry
              .Histograms(
                  {"device_taint_eviction_controller_pod_deletion_duration_seconds",
                   "Time from a device taint taking effect on a pod to the deletion of the pod.",
                   {}},
                  {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240})
              .With({})) {}

void ControllerMetrics::OnReconciled(std::string_view controller, bool,
                                     std::chrono::nanoseconds waited,
                                     std::chrono::nanoseconds took) {
  waited_.With({controller}).Observe(Seconds(waited));
  took_.With({controller}).Observe(Seconds(took));
}

void ControllerMetrics::OnTaintEviction(std::chrono::nanoseconds late) {
  evictions_.Add();
  evictions_late_.Observe(Seconds(late));
}

void ControllerMetrics::Publish(const controllers::ControllerList& controllers) {
  for (const auto& controller : controllers) {
    const controllers::QueueStatistics statistics = controller->queue_statistics();
    depth_.With({controller->name()}).Set(static_cast<double>(statistics.depth));
    Raise(adds_.With({controller->name()}), statistics.adds);
    Raise(retries_.With({controller->name()}), statistics.retries);
  }
}

// Creations of claims are counted.
class ClaimMetrics::CountedCluster final : public api::ForwardingCluster {
 public:
  CountedCluster(api::Cluster& inner, ClaimMetrics& metrics, bool scheduler)
      : ForwardingCluster(inner), metrics_(metrics), scheduler_(scheduler) {}

  StatusOr<api::Object> Create(api::Object object) override {
    if (object.As<api::ResourceClaim>() == nullptr) return inner().Create(std::move(object));
    const api::Object claim = object;
    auto created = inner().Create(std::move(object));
    metrics_.Created(claim, created.ok(), scheduler_);
    return created;
  }

 private:
  ClaimMetrics& metrics_;
  const bool scheduler_;
};

ClaimMetrics::ClaimMetrics(metrics::Registry& registry)
    : all_(registry.Counters({"dynamic_resource_allocation_resourceclaim_creates_total",
                              "ResourceClaims created for pods, by outcome and owner.",
                              {"status", "admin_access", "owner_api_group", "owner_api_kind"}})),
      scheduler_(
          registry.Counters({"scheduler_resourceclaim_creates_total",
                             "ResourceClaims created by the scheduler for extended resources.",
                             {"status"}})),
      controllers_(registry.Counters({"resourceclaim_controller_creates_total",
                                      "ResourceClaims created from templates.",
                                      {"status", "admin_access"}})) {}

std::unique_ptr<api::Cluster> ClaimMetrics::ForScheduler(api::Cluster& cluster) {
  return std::make_unique<CountedCluster>(cluster, *this, true);
}

std::unique_ptr<api::Cluster> ClaimMetrics::ForControllers(api::Cluster& cluster) {
  return std::make_unique<CountedCluster>(cluster, *this, false);
}

void ClaimMetrics::Created(const api::Object& object, bool ok, bool by_scheduler) {
  const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
  const std::string_view status = ok ? "success" : "failure";
  const std::string_view admin = AsksForAdminAccess(claim) ? "true" : "false";
  const api::OwnerReference* owner = api::FindController(claim.metadata);
  std::string_view group;
  if (owner != nullptr) {
    group = owner->api_version;
    group = group.substr(0, group.find('/') == group.npos ? 0 : group.find('/'));
  }
  all_.With({status, admin, group, owner == nullptr ? std::string_view() : owner->kind}).Add();
  if (by_scheduler) {
    scheduler_.With({status}).Add();
  } else {
    controllers_.With({status, admin}).Add();
  }
}

}  // namespace dray::plane::internal
