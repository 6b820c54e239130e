// SPDX-License-Identifier: Apache-2.0
//
// UnsupportedFields: a pod whose place depends on something that dray does not look at is refused,
// by the name of the field, instead of being put where it cannot run.
//
// Disks of a cloud without a CSI driver, which are limited per node or which two pods of a node may
// not both mount, and pods that are scheduled as a group. A runtime class needs nothing here:
// admission has written its overhead, selector and tolerations into the pod.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class UnsupportedFields final : public PreFilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "UnsupportedFields"; }
  // kSkip or kUnresolvable with one reason per field.
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler
