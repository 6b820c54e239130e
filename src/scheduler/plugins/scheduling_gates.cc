// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/scheduling_gates.h"

#include <string>

#include "fmt/format.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {

PluginStatus SchedulingGates::PreEnqueue(const PodInfo& pod) {
  std::string gates;
  for (const api::PodSchedulingGate& gate : pod.pod->spec.scheduling_gates) {
    if (!gates.empty()) gates += ' ';
    gates += gate.name;
  }
  if (pod.pod->spec.scheduling_gates.empty()) return PluginStatus::Success();
  return PluginStatus::Unresolvable(
      {.code = "scheduling_gates",
       .text = fmt::format("waiting for scheduling gates: [{}]", gates)});
}

Hint SchedulingGates::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const PodChange seen = ReadPodChange(pod, change, old);
  const bool open = seen.kind == PodChange::Kind::kOwn && seen.after != nullptr &&
                    seen.after->spec.scheduling_gates.empty();
  return open ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler
