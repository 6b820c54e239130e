// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods: the search over all pods and nodes (group_search.h), and taking what it has found.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "scheduler/group_search.h"
#include "scheduler/internal/group_try.h"

namespace dray::scheduler {
namespace {

// Whether where the pod may go depends on where others are, so that nodes cannot be looked at one by one.
bool LooksAtOthers(const PodInfo& pod) {
  return WantsToBeNear(*pod.pod) || pod.has_required_anti_affinity ||
         std::ranges::any_of(pod.pod->spec.topology_spread_constraints, DecidesOfNodes);
}

}  // namespace

std::unique_ptr<Cycle> Scheduler::Impl::CycleOf(const GroupTry& group,
                                                const std::shared_ptr<const PodInfo>& pod) {
  Cycle::Environment environment = EnvironmentOf(group.profile);
  environment.nominations = &group.nominations;
  auto cycle = std::make_unique<Cycle>(environment, pod);
  cycle->state().Get<GroupOfPod>().group = group.object;
  if (group.domain != nullptr) {
    cycle->state().Get<GroupPlacement>() = {&group.domain->nodes, group.domain->label};
  }
  current.cycle = cycle.get();
  return cycle;
}

void Scheduler::Impl::PlaceJointly(GroupTry& group) {
  const bool alone = std::ranges::none_of(
      group.members, [](const QueuedPod& member) { return LooksAtOthers(*member.pod); });
  if (!alone) return PlaceMutually(group);
  GroupSearch search(world, profiles[group.profile].devices,
                     [&](const std::shared_ptr<const PodInfo>& pod) -> std::unique_ptr<Cycle> {
                       auto cycle = CycleOf(group, pod);
                       return cycle->Prepare() ? std::move(cycle) : nullptr;
                     });
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (const QueuedPod& member : group.members) pods.push_back(member.pod);
  if (!search.Add(pods)) return;  // no node will do, as it was said
  const std::optional<GroupSearch::Found> found =
      search.Run(group.least, group.domain == nullptr ? nullptr : &group.domain->nodes);
  group.steps += search.spent();
  if (!found) {
    const std::size_t most = group.scheduled + search.could_run();
    group.could_run = most;
    group.joint =
        search.proved()
            ? fmt::format("no assignment of pods to nodes places them: at most {} could run", most)
            : fmt::format(
                  "whether another assignment places them is not known: the search was "
                  "given up, {} could run",
                  most);
    if (!search.more().empty()) group.joint += fmt::format("; {}", search.more());
    return;
  }
  TakeFound(group, *found);
}

void Scheduler::Impl::TakeFound(GroupTry& group, const GroupSearch::Found& found) {
  std::vector<bool> has_node(group.members.size());
  for (const GroupSearch::Found::Load& load : found.loads) {
    NodeInfo& node = *load.node;
    for (const std::size_t i : load.pods) {
      Binding binding{.pod = group.members[i], .profile = group.profile, .node = node.name()};
      const auto cycle = CycleOf(group, binding.pod.pod);
      // What only this pod has (volumes, say) was not asked about.
      PluginStatus status = cycle->Prepare() ? cycle->Filter(cycle->state(), *binding.pod.pod, node)
                                             : cycle->status();
      if (status.ok()) {
        binding.state = cycle->TakeState();
        binding.state.Get<PresetDevices>() =
            DynamicResources::PresetFor(binding.state, found.devices);
        status = Hold(binding, node);
      }
      if (!status.ok()) {
        group.joint = status.reasons.empty() ? "" : status.reasons.front().text;
        return LetGo(group.placed);
      }
      has_node[i] = true;
      group.placed.push_back(std::move(binding));
    }
  }
  group.unplaced.clear();
  for (std::size_t i = 0; i < has_node.size(); ++i) {
    if (!has_node[i]) group.unplaced.push_back(i);
  }
}

}  // namespace dray::scheduler
