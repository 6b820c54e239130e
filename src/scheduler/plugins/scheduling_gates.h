// SPDX-License-Identifier: Apache-2.0
//
// SchedulingGates: a pod with gates is not tried until they are all gone.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class SchedulingGates final : public PreEnqueuePlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "SchedulingGates"; }
  PluginStatus PreEnqueue(const PodInfo& pod) override;
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler
