// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/scheduler_page.h"

#include "plane/internal/process_metrics.h"
#include "plane/internal/server_metrics.h"
#include "plane/internal/watch_metrics.h"

namespace dray::plane::internal {

SchedulerPage::SchedulerPage(const base::Clock& clock, const SchedulerPageOptions& options)
    : scheduler_(registry_, clock),
      claims_(registry_),
      client_(registry_, options.host, options.lease) {
  AddVersionMetrics(registry_, options.kubernetes_version, options.gates);
  AddProcessMetrics(registry_);
  if (options.log != nullptr) AddLogMetrics(registry_, *options.log);
}

}  // namespace dray::plane::internal
