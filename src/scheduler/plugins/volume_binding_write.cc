// SPDX-License-Identifier: Apache-2.0
//
// VolumeBinding: saying which volume a claim gets, and waiting until it has it.
#include <charconv>
#include <utility>

#include "api/document.h"
#include "api/kinds.h"
#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/volume_binding.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

using api::DocumentNode;

DocumentNode Text(std::string_view text) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kString;
  node.text = text;
  return node;
}

// The volume, kept for the claim.
StatusOr<api::Object> KeptFor(const api::Object& volume, const VolumeClaim& claim) {
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode tree = api::ParseJson(volume.ToJson(), diagnostics);
  DocumentNode reference;
  reference.kind = DocumentNode::Kind::kMap;
  const std::pair<std::string_view, std::string_view> fields[] = {
      {"apiVersion", "v1"},
      {"kind", "PersistentVolumeClaim"},
      {"name", claim.metadata.name},
      {"namespace", claim.metadata.namespace_},
      {"resourceVersion", claim.metadata.resource_version},
      {"uid", claim.metadata.uid}};
  for (const auto& [key, value] : fields) {
    reference.members.push_back({.key = std::string(key), .value = Text(value)});
  }
  for (api::Member& member : tree.members) {
    if (member.key != "spec") continue;
    std::erase_if(member.value.members, [](const auto& field) { return field.key == "claimRef"; });
    member.value.members.push_back({.key = "claimRef", .value = std::move(reference)});
  }
  api::JsonDecoder decoder;
  DRAY_ASSIGN_OR_RETURN(api::Object kept, api::DecodeObject(decoder, ToJson(tree)));
  if (!kept.metadata().annotations.contains(kBoundByController)) {
    kept.MutableMetadata().annotations[kBoundByController] = "yes";
  }
  return kept;
}

// Revisions are numbers, whatever clients are told about them.
std::uint64_t NumberOf(std::string_view version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

// Whether what is known of the object is at least as new as what was written.
bool AsNewAs(const api::ObjectMeta& known, std::string_view written) {
  return NumberOf(known.resource_version) >= NumberOf(written);
}

}  // namespace

StatusOr<api::Object> VolumeBinding::Write(const Choice& choice, std::string_view node) const {
  api::Object object = choice.volume != nullptr ? *choice.volume->object : *choice.claim->object;
  if (choice.in_doubt) {
    // It may have been written: what is stored says so.
    const api::ObjectMeta& meta = object.metadata();
    DRAY_ASSIGN_OR_RETURN(const auto stored,
                          cluster_.Find(object.kind(), meta.namespace_, meta.name));
    if (!stored || stored->metadata().uid != meta.uid) {
      return base::Aborted(fmt::format("{} is gone", meta.name));
    }
    object = *stored;
    Volumes now;
    now.Apply({api::Change::Kind::kAdded, object});
    const bool done = choice.volume != nullptr
                          ? now.FindVolume(meta.name)->IsFor(*choice.claim)
                          : now.FindClaim(meta.namespace_, meta.name)->selected_node() == node;
    if (done) return object;
  }
  if (choice.volume != nullptr) {
    // Somebody has kept it for this very claim, and nothing is to be written.
    if (choice.volume->IsFor(*choice.claim) && !choice.volume->spec.claim_ref->uid.empty()) {
      return object;
    }
    DRAY_ASSIGN_OR_RETURN(object, KeptFor(object, *choice.claim));
  } else {
    if (choice.claim->selected_node() == node) return object;
    object.MutableMetadata().annotations[kSelectedNode] = node;
  }
  return cluster_.Update(std::move(object));
}

StatusOr<bool> VolumeBinding::Done(const Choice& choice, std::string_view node) const {
  const Volumes& volumes = world_.volumes();
  const api::ObjectMeta& meta = choice.claim->metadata;
  const auto claim = volumes.FindClaim(meta.namespace_, meta.name);
  if (claim == nullptr || claim->metadata.uid != meta.uid) {
    return base::NotFound(fmt::format("persistentvolumeclaim \"{}\" not found", meta.name));
  }
  if (choice.volume != nullptr) {
    const auto volume = volumes.FindVolume(choice.volume->metadata.name);
    if (volume == nullptr) {
      return base::NotFound(
          fmt::format("persistentvolume \"{}\" not found", choice.volume->metadata.name));
    }
    if (AsNewAs(volume->metadata, choice.written) && !volume->spec.claim_ref) {
      return base::Aborted(fmt::format("ClaimRef got reset for pv \"{}\"", volume->metadata.name));
    }
  } else if (AsNewAs(claim->metadata, choice.written) && claim->selected_node() != node) {
    // That is how a provisioner says that it cannot do it there.
    return base::Aborted(fmt::format("provisioning failed for PVC \"{}\"", meta.name));
  }
  if (!claim->bound()) return false;
  const auto volume = volumes.FindVolume(claim->spec.volume_name);
  if (volume == nullptr) return false;  // not told of yet
  const NodeInfo* there = world_.FindNode(node);
  if (there == nullptr || !volume->ReachableFrom(*there->node)) {
    return base::Aborted(fmt::format("pv \"{}\" node affinity doesn't match node \"{}\"",
                                     volume->metadata.name, node));
  }
  return true;
}

PluginStatus VolumeBinding::PreBind(CycleState& state, const PodInfo&, std::string_view node,
                                    World&) {
  State& data = state.Get<State>();
  if (data.choices.empty()) return PluginStatus::Success();
  const auto failed = [](const Status& why) {
    return PluginStatus::Error(fmt::format("binding volumes: {}", base::Message(why)));
  };
  for (Choice& choice : data.choices) {
    if (!choice.written.empty()) continue;
    auto written = Write(choice, node);
    if (written.ok()) {
      choice.written = written->metadata().resource_version;
      choice.in_doubt = false;
      continue;
    }
    // Reading what is in doubt may fail, too.
    choice.in_doubt = choice.in_doubt ? written.status().code() == StatusCode::kUnavailable ||
                                            api::MayHaveHappened(written.status())
                                      : api::MayHaveHappened(written.status());
    if (!choice.in_doubt) return failed(written.status());
    state.Get<WaitsUntil>() = {.time = clock_.Now() + kDoubtNap, .in_doubt = true};
    return {PluginStatus::Code::kWait, {}};
  }
  bool waits = false;
  for (const Choice& choice : data.choices) {
    const auto done = Done(choice, node);
    if (!done.ok()) return failed(done.status());
    waits = waits || !*done;
  }
  if (!waits) {
    Release(data);
    return PluginStatus::Success();
  }
  if (!data.waits_since) data.waits_since = clock_.Now();
  const base::Time over = *data.waits_since + timeout_;
  if (over <= clock_.Now()) {
    return failed(base::Unavailable("timed out waiting for the volumes of the pod"));
  }
  state.Get<WaitsUntil>() = {.time = over};
  return {PluginStatus::Code::kWait, {}};
}

}  // namespace dray::scheduler
