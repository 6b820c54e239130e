// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_declared_features.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "fmt/format.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {
namespace {

template <typename F>
bool AnyContainer(const api::PodSpec& spec, F holds) {
  return std::ranges::any_of(spec.containers, holds) ||
         std::ranges::any_of(spec.init_containers, holds);
}

bool RestartsAll(const api::PodSpec& spec) {
  return AnyContainer(spec, [](const api::Container& container) {
    return std::ranges::any_of(container.restart_policy_rules, [](const auto& rule) {
      return rule.action == "RestartAllContainers";
    });
  });
}
bool HasUsersOnTheHostsNetwork(const api::PodSpec& spec) {
  return spec.host_network && spec.host_users == false;
}
bool HasMountOptions(const api::PodSpec& spec) {
  return AnyContainer(spec, [](const api::Container& container) {
    return std::ranges::any_of(container.volume_mounts,
                               [](const auto& mount) { return !mount.bind_mount_options.empty(); });
  });
}

struct Feature {
  std::string_view name;
  bool (*needed)(const api::PodSpec& spec);
};
constexpr std::array<Feature, 3> kFeatures = {{
    {"RestartAllContainersOnContainerExits", RestartsAll},
    {"UserNamespacesHostNetworkSupport", HasUsersOnTheHostsNetwork},
    {"VolumeBindMountOptions", HasMountOptions},
}};

// By place in kFeatures.
std::uint64_t NeedsOf(const api::PodSpec& spec) {
  std::uint64_t needs = 0;
  for (std::size_t i = 0; i < kFeatures.size(); ++i) {
    if (kFeatures[i].needed(spec)) needs |= std::uint64_t{1} << i;
  }
  return needs;
}

}  // namespace

PluginStatus NodeDeclaredFeatures::PreFilter(CycleState&, const PodInfo& pod, World&) {
  return NeedsOf(pod.pod->spec) == 0 ? PluginStatus::Skip() : PluginStatus::Success();
}

PluginStatus NodeDeclaredFeatures::Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  const std::uint64_t needs = NeedsOf(pod.pod->spec);
  const auto& declared = node.node->status.declared_features;
  Reason reason{.code = "node_features", .text = "node(s) didn't match Pod's required features"};
  for (std::size_t i = 0; i < kFeatures.size(); ++i) {
    const bool needed = (needs >> i & 1) != 0;
    if (!needed || std::ranges::find(declared, kFeatures[i].name) != declared.end()) continue;
    reason.shortages.push_back({.what = fmt::format("declared feature {}", kFeatures[i].name)});
  }
  if (reason.shortages.empty()) return PluginStatus::Success();
  return PluginStatus::Unresolvable(std::move(reason));
}

std::uint64_t NodeDeclaredFeatures::ClassOf(const CycleState&, const PodInfo& pod) const {
  return NeedsOf(pod.pod->spec);
}

Hint NodeDeclaredFeatures::Wake(const PodInfo& pod, const api::Change& change,
                                const api::Object* old) {
  if (const PodChange seen = ReadPodChange(pod, change, old); seen.kind == PodChange::Kind::kOwn) {
    const bool other = seen.after != nullptr && seen.before != nullptr &&
                       NeedsOf(seen.after->spec) != NeedsOf(seen.before->spec);
    return other ? Hint::kQueue : Hint::kSkip;
  }
  const NodeChange seen = ReadNodeChange(change, old);
  if (seen.after == nullptr) return Hint::kSkip;
  const bool same = seen.before != nullptr &&
                    seen.before->status.declared_features == seen.after->status.declared_features;
  return same ? Hint::kSkip : Hint::kQueue;
}

}  // namespace dray::scheduler
