// SPDX-License-Identifier: Apache-2.0
//
// VolumeBinding: which nodes will do.
#include "scheduler/plugins/volume_binding.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/selection.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

PluginStatus Refused(std::string code, std::string text) {
  return PluginStatus::Unresolvable({.code = std::move(code), .text = std::move(text)});
}

std::string KeyOf(const VolumeClaim& claim) {
  return claim.metadata.namespace_ + "/" + claim.metadata.name;
}

bool IsOwnedBy(const VolumeClaim& claim, const api::Pod& pod) {
  return std::ranges::any_of(claim.metadata.owner_references, [&](const auto& owner) {
    return owner.controller.value_or(false) && owner.uid == pod.metadata.uid;
  });
}

// Why nobody can use it now; nothing: it can be used.
std::optional<PluginStatus> Unusable(const api::Pod& pod, const api::Volume& volume,
                                     std::string_view name, const VolumeClaim* claim) {
  if (claim == nullptr) {
    return Refused("volume_claim_missing",
                   volume.ephemeral
                       ? fmt::format("waiting for ephemeral volume controller to create the "
                                     "persistentvolumeclaim \"{}\"",
                                     name)
                       : fmt::format("persistentvolumeclaim \"{}\" not found", name));
  }
  if (claim->status.phase == "Lost") {
    return Refused("volume_lost", fmt::format("persistentvolumeclaim \"{}\" bound to non-existent "
                                              "persistentvolume \"{}\"",
                                              name, claim->spec.volume_name));
  }
  if (claim->metadata.deletion_timestamp) {
    return Refused("volume_claim_deleted",
                   fmt::format("persistentvolumeclaim \"{}\" is being deleted", name));
  }
  if (volume.ephemeral && !IsOwnedBy(*claim, pod)) {
    return Refused(
        "volume_claim_of_others",
        fmt::format("PVC {}/{} was not created for pod {}/{} (pod is not owner)",
                    claim->metadata.namespace_, name, pod.metadata.namespace_, pod.metadata.name));
  }
  return std::nullopt;
}

bool SameMode(const VolumeClaim& claim, const PersistentVolume& volume) {
  constexpr const char* kFilesystem = "Filesystem";
  return claim.spec.volume_mode.value_or(kFilesystem) ==
         volume.spec.volume_mode.value_or(kFilesystem);
}

bool HasModes(const VolumeClaim& claim, const PersistentVolume& volume) {
  return std::ranges::all_of(claim.spec.access_modes, [&](const std::string& mode) {
    return std::ranges::find(volume.spec.access_modes, mode) != volume.spec.access_modes.end();
  });
}

}  // namespace

bool SameReach(const VolumeBindingState* a, const VolumeBindingState* b) {
  static const VolumeBindingState kNone;
  const VolumeBindingState& x = a == nullptr ? kNone : *a;
  const VolumeBindingState& y = b == nullptr ? kNone : *b;
  const auto limits = [](const VolumeBindingState& state) {
    std::vector<const api::NodeSelector*> limits;
    for (const auto& volume : state.bound) {
      const auto& affinity = volume->spec.node_affinity;
      if (affinity && affinity->required) limits.push_back(&*affinity->required);
    }
    return limits;
  };
  return x.lost == y.lost &&
         std::ranges::equal(limits(x), limits(y),
                            [](const auto* one, const auto* other) { return *one == *other; }) &&
         std::ranges::equal(x.open, y.open, [](const auto& one, const auto& other) {
           return one->class_name() == other->class_name() &&
                  one->selected_node() == other->selected_node() && one->size() == other->size() &&
                  one->spec.access_modes == other->spec.access_modes;
         });
}

VolumeBinding::VolumeBinding(World& world, api::Cluster& cluster, const base::Clock& clock,
                             std::chrono::nanoseconds timeout)
    : world_(world), cluster_(cluster), clock_(clock), timeout_(timeout) {}

PluginStatus VolumeBinding::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  const Volumes& volumes = world_.volumes();
  const api::Pod& spec = *pod.pod;
  State* data = nullptr;
  for (const api::Volume& volume : spec.spec.volumes) {
    const std::string name = VolumeClaimName(spec, volume);
    if (name.empty()) continue;
    if (data == nullptr) data = &(state.Get<State>() = {});
    const auto claim = volumes.FindClaim(spec.metadata.namespace_, name);
    if (auto refused = Unusable(spec, volume, name, claim.get())) return *std::move(refused);
    if (claim->bound()) {
      auto bound = volumes.FindVolume(claim->spec.volume_name);
      if (bound == nullptr)
        data->lost = true;
      else
        data->bound.push_back(std::move(bound));
      continue;
    }
    const StorageClass* storage = nullptr;
    if (const std::string_view class_name = claim->class_name(); !class_name.empty()) {
      storage = volumes.FindClass(class_name);
      if (storage == nullptr) {
        return Refused("storage_class_missing",
                       fmt::format("storageclass.storage.k8s.io \"{}\" not found", class_name));
      }
    }
    // One that names its volume is bound to that by its controller, whatever the class says.
    if (storage == nullptr || !storage->waits_for_consumer() || !claim->spec.volume_name.empty()) {
      return Refused("volume_not_bound", "pod has unbound immediate PersistentVolumeClaims");
    }
    data->open.push_back(claim);
  }
  if (data == nullptr) return PluginStatus::Skip();
  std::ranges::stable_sort(data->open, {}, [](const auto& claim) { return claim->size(); });
  for (const auto& claim : data->open) data->fitting.push_back(Fitting(*claim));
  return PluginStatus::Success();
}

PluginStatus VolumeBinding::Filter(CycleState& state, const PodInfo&, const NodeInfo& node) {
  const State* data = state.Find<State>();
  if (data == nullptr) return PluginStatus::Success();
  std::vector<Reason> reasons;
  if (std::ranges::any_of(data->bound,
                          [&](const auto& volume) { return !volume->ReachableFrom(*node.node); })) {
    reasons.push_back({.code = "volume_node_affinity",
                       .text = "node(s) didn't match PersistentVolume's node affinity"});
  }
  Choose(*data, *node.node, reasons);
  if (data->lost) {
    reasons.push_back(
        {.code = "volume_lost",
         .text = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"});
  }
  if (reasons.empty()) return PluginStatus::Success();
  return {PluginStatus::Code::kUnresolvable, std::move(reasons)};
}

std::string_view VolumeBinding::NodeOf(const VolumeClaim& claim) const {
  if (const auto chosen = nodes_chosen_.find(KeyOf(claim)); chosen != nodes_chosen_.end()) {
    return chosen->second;
  }
  return claim.selected_node();
}

VolumeBindingState::VolumeList VolumeBinding::Fitting(const VolumeClaim& claim) const {
  State::VolumeList fitting;
  for (const auto& volume : world_.volumes().OfClass(claim.class_name())) {
    const PersistentVolume& v = *volume;
    if (v.metadata.deletion_timestamp || (v.spec.claim_ref && !v.IsFor(claim))) continue;
    if (v.size() < claim.size() || !SameMode(claim, v)) continue;
    if (claim.spec.volume_attributes_class_name.value_or("") !=
        v.spec.volume_attributes_class_name.value_or("")) {
      continue;
    }
    // Somebody has kept it for this claim: it is this one or none.
    if (v.IsFor(claim)) return {volume};
    if (v.status.phase != "Available" || !HasModes(claim, v)) continue;
    if (claim.spec.selector && !Matches(*claim.spec.selector, v.metadata.labels)) continue;
    fitting.push_back(volume);
  }
  std::ranges::stable_sort(fitting, {}, [](const auto& volume) { return volume->size(); });
  return fitting;
}

std::shared_ptr<const PersistentVolume> VolumeBinding::FirstFree(
    const State::VolumeList& fitting, const VolumeClaim& claim, const api::Node& node,
    const std::set<std::string_view>& taken) const {
  for (const auto& volume : fitting) {
    const std::string& name = volume->metadata.name;
    if (taken.contains(name) || !volume->ReachableFrom(node)) continue;
    const auto other = volumes_taken_.find(name);
    if (other == volumes_taken_.end() || other->second == KeyOf(claim)) return volume;
  }
  return nullptr;
}

std::optional<std::vector<VolumeBinding::Choice>> VolumeBinding::Choose(
    const State& data, const api::Node& node, std::vector<Reason>& reasons) const {
  const auto none = [&] {
    reasons.push_back({.code = "no_volume_to_bind",
                       .text = "node(s) didn't find available persistent volumes to bind"});
    return std::nullopt;
  };
  std::vector<Choice> choices;
  std::set<std::string_view> taken;
  for (std::size_t i = 0; i < data.open.size(); ++i) {
    const std::shared_ptr<const VolumeClaim>& claim = data.open[i];
    const std::string_view chosen = NodeOf(*claim);
    if (!chosen.empty() && chosen != node.metadata.name) return none();
    std::shared_ptr<const PersistentVolume> volume;
    if (chosen.empty() || claim->selected_node().empty()) {
      volume = FirstFree(data.fitting[i], *claim, node, taken);
    }
    if (volume != nullptr) {
      taken.insert(volume->metadata.name);
    } else {
      const StorageClass* storage = world_.volumes().FindClass(claim->class_name());
      if (storage == nullptr || storage->provisioner.empty() ||
          storage->provisioner == kNoProvisioner || !storage->AllowsOn(node)) {
        return none();
      }
      if (!world_.volumes().HasRoom(*storage, *claim, node)) {
        reasons.push_back(
            {.code = "insufficient_storage", .text = "node(s) did not have enough free storage"});
        return std::nullopt;
      }
    }
    choices.push_back({.claim = claim, .volume = std::move(volume)});
  }
  return choices;
}

Hint VolumeBinding::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const api::Object& object = change.object;
  const auto names = [&](std::string_view name) {
    return std::ranges::any_of(pod.pod->spec.volumes, [&](const api::Volume& volume) {
      return VolumeClaimName(*pod.pod, volume) == name;
    });
  };
  if (Volumes::Concerns(object)) {
    if (object.kind().kind != "PersistentVolumeClaim") return Hint::kQueue;
    return object.metadata().namespace_ == pod.pod->metadata.namespace_ &&
                   names(object.metadata().name)
               ? Hint::kQueue
               : Hint::kSkip;
  }
  const NodeChange node = ReadNodeChange(change, old);
  if (node.after != nullptr) {
    const bool same =
        node.before != nullptr && node.before->metadata.labels == node.after->metadata.labels;
    return same ? Hint::kSkip : Hint::kQueue;
  }
  // A pod that does not get its node gives back the volumes that were chosen for it.
  const PodChange other = ReadPodChange(pod, change, old);
  if (other.kind != PodChange::Kind::kGone) return Hint::kSkip;
  const bool had = std::ranges::any_of(other.before->spec.volumes, [&](const auto& volume) {
    return !VolumeClaimName(*other.before, volume).empty();
  });
  return had ? Hint::kQueue : Hint::kSkip;
}

PluginStatus VolumeBinding::Reserve(CycleState& state, const PodInfo&, const NodeInfo& node,
                                    World&) {
  State& data = state.Get<State>();
  if (data.open.empty()) return PluginStatus::Success();
  std::vector<Reason> reasons;
  auto choices = Choose(data, *node.node, reasons);
  if (!choices) return {PluginStatus::Code::kUnschedulable, std::move(reasons)};
  data.choices = *std::move(choices);
  for (const Choice& choice : data.choices) {
    const std::string key = KeyOf(*choice.claim);
    if (choice.volume != nullptr) volumes_taken_[choice.volume->metadata.name] = key;
    nodes_chosen_[key] = node.name();
  }
  return PluginStatus::Success();
}

void VolumeBinding::Unreserve(CycleState& state, const PodInfo&, World&) {
  Release(state.Get<State>());
}

void VolumeBinding::Release(State& data) {
  for (const Choice& choice : data.choices) {
    if (choice.volume != nullptr) volumes_taken_.erase(choice.volume->metadata.name);
    nodes_chosen_.erase(KeyOf(*choice.claim));
  }
  data.choices.clear();
}

}  // namespace dray::scheduler
