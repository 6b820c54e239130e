// SPDX-License-Identifier: Apache-2.0
//
// All controllers together, for whoever runs a whole cluster.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/gates.h"
#include "base/clock.h"
#include "controllers/controller.h"
#include "controllers/cron_job_controller.h"
#include "controllers/event_cleanup.h"
#include "controllers/node_lifecycle.h"
#include "controllers/picture.h"
#include "controllers/pod_cleanup.h"

namespace dray::controllers {

// Controllers that share a thread where each write is waited for: those that write much for every pod
// are apart from each other, and from those that now and then have much to do.
enum class ControllerGroup : std::uint8_t { kWorkloads, kClaims, kUpkeep };
inline constexpr ControllerGroup kControllerGroups[] = {
    ControllerGroup::kWorkloads, ControllerGroup::kClaims, ControllerGroup::kUpkeep};

struct ControllerOptions {
  api::FeatureGates gates;
  PodCleanupOptions pod_cleanup;
  EventCleanupOptions event_cleanup;
  NodeLifecycleOptions node_lifecycle;
  // Every namespace gets a ServiceAccount "default", and kube-root-ca.crt with this certificate.
  bool service_accounts = false;
  std::string authority = {};
  TimeZones time_zones = UtcOnly();                    // of cron jobs
  Observer* observer = nullptr;                        // null: nobody watches. Outlives them
  std::optional<ControllerGroup> only = std::nullopt;  // of this group; none: all
};

using ControllerList = std::vector<std::unique_ptr<Controller>>;

// They share one picture. What the source names and the clock outlive them.
ControllerList MakeControllers(const Source& source, const base::Clock& clock,
                               const ControllerOptions& options = {});

// In turns until none has anything to do now. The number of writes.
std::size_t SyncAll(std::span<const std::unique_ptr<Controller>> controllers);
// The earliest of all.
std::optional<std::chrono::nanoseconds> NextDue(
    std::span<const std::unique_ptr<Controller>> controllers);

}  // namespace dray::controllers
