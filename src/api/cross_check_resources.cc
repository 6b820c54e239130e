// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of extended resources (KEP-5004): names that containers ask for and that nobody has.
// Implicit names, which are always a class's, are in cross_check_pods.cc.
#include <string>
#include <string_view>
#include <vector>

#include "api/extended_resources.h"
#include "api/internal/cross_world.h"
#include "base/edit_distance.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// Everything that a class serves or a node has by a device plugin.
base::StringSet OfferedResources(const World& world) {
  base::StringSet offered;
  for (const Given<DeviceClass>& given : world.classes) {
    if (given.object->spec.extended_resource_name) {
      offered.insert(*given.object->spec.extended_resource_name);
    }
  }
  for (const Given<Node>& node : world.nodes) {
    for (const auto* amounts : {&node.object->status.allocatable, &node.object->status.capacity}) {
      for (const auto& [name, amount] : *amounts) {
        if (IsExtendedResourceName(name)) offered.insert(std::string(std::string_view(name)));
      }
    }
  }
  return offered;
}

class ResourceCheck {
 public:
  ResourceCheck(const World& world, Findings& findings)
      : world_(world),
        offered_(OfferedResources(world)),
        names_(offered_.begin(), offered_.end()),
        all_given_(!world.nodes.empty() && !world.classes.empty()),
        findings_(findings) {}

  void Look(const GivenPod& pod, std::string_view field, const std::vector<Container>& containers) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const base::FieldPath at = (pod.path / field).Index(i) / "resources";
      const ResourceRequirements& resources = containers[i].resources;
      for (const auto& [name, amount] : resources.limits) Look(pod, at / "limits", name);
      for (const auto& [name, amount] : resources.requests) {
        if (!resources.limits.contains(name)) Look(pod, at / "requests", name);
      }
    }
  }

 private:
  void Look(const GivenPod& pod, const base::FieldPath& at, std::string_view name) {
    if (!IsExtendedResourceName(name) || offered_.contains(name)) return;
    // It may come by a device plugin of a node that is not given, unless it looks like a slip.
    const auto [known, added] = near_.try_emplace(std::string(name), false);
    if (added) known->second = base::ClosestMatch(name, names_).has_value();
    const bool near = known->second;
    if (!near && !all_given_) return;
    findings_.push_back({.object = pod.index,
                         .path = at.Key(name),
                         .severity = Severity::kWarning,
                         .reason = "UnknownExtendedResource",
                         .message = fmt::format(
                             "no DeviceClass in the input serves \"{}\", and no node has it", name),
                         .hint = HintAmong(world_, name, offered_, "there is")});
  }

  const World& world_;
  const base::StringSet offered_;
  const std::vector<std::string_view> names_;
  const bool all_given_;
  base::StringMap<bool> near_;  // whether a name looks like one that there is
  Findings& findings_;
};

}  // namespace

void CheckExtendedResourcesExist(const World& world, Findings& findings) {
  if (world.classes.empty() && world.nodes.empty()) return;
  ResourceCheck check(world, findings);
  for (const GivenPod& pod : world.pods) {
    check.Look(pod, "initContainers", pod.spec->init_containers);
    check.Look(pod, "containers", pod.spec->containers);
  }
}

}  // namespace dray::api::internal
