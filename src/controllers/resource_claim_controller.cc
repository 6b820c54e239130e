// SPDX-License-Identifier: Apache-2.0
//
// What changes mean, and pods. Claims are in resource_claim_release.cc.
#include "controllers/resource_claim_controller.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "api/generated_name.h"
#include "api/pod_claims.h"
#include "controllers/pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// generateName leaves room for a hyphen and five characters in a DNS label.
constexpr std::size_t kNameStemMaxLength = 57;

std::vector<const api::KindInfo*> Kinds(const api::FeatureGates& gates) {
  std::vector<const api::KindInfo*> kinds = {&KindOf<api::Pod>(), &KindOf<api::ResourceClaim>(),
                                             &KindOf<api::ResourceClaimTemplate>()};
  if (gates.Enabled(api::Gate::kDRAWorkloadResourceClaims)) {
    kinds.push_back(&KindOf<api::PodGroup>());
  }
  return kinds;
}

std::string In(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}", namespace_, name);
}

// Of a long name both parts lose in proportion, so that the entry's name stays recognizable.
std::string StemFor(std::string_view pod, std::string_view entry) {
  std::string stem = fmt::format("{}-{}-", pod, entry);
  if (stem.size() <= kNameStemMaxLength) return stem;
  const auto cut = [&](std::string_view part) {
    return part.substr(0, part.size() * kNameStemMaxLength / stem.size());
  };
  return fmt::format("{}-{}", cut(pod), cut(entry));
}

bool AsksForAdminAccess(const api::ResourceClaimSpec& spec) {
  return std::ranges::any_of(spec.devices.requests, [](const api::DeviceRequest& request) {
    return request.exactly.has_value() && request.exactly->admin_access.value_or(false);
  });
}
bool HasPrioritizedList(const api::ResourceClaimSpec& spec) {
  return std::ranges::any_of(spec.devices.requests, [](const api::DeviceRequest& request) {
    return !request.first_available.empty();
  });
}

// Whether a pod is filed under the same as before.
bool NamesTheSame(const api::Pod& before, const api::Pod& after) {
  return before.spec.resource_claims == after.spec.resource_claims &&
         before.status.resource_claim_statuses == after.status.resource_claim_statuses &&
         api::GroupNameOf(before) == api::GroupNameOf(after);
}

// The scheduler reserves claims for pods that it places; others have found their node without it.
bool NeedsReservation(const api::ResourceClaim& claim, const api::Pod& pod) {
  return !pod.spec.node_name.empty() && claim.status.allocation.has_value() &&
         !api::ReservedFor(claim, pod) &&
         claim.status.reserved_for.size() < api::kResourceClaimReservedForMaxSize;
}

}  // namespace

ResourceClaimController::ResourceClaimController(const Source& source, const base::Clock& clock,
                                                 api::FeatureGates gates)
    : Reconciler(source, clock, Kinds(gates)), gates_(gates) {}

void ResourceClaimController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Pod>() != nullptr) {
    OnPod(before != nullptr ? before->As<api::Pod>() : nullptr,
          after != nullptr ? after->As<api::Pod>() : nullptr);
  } else if (either.As<api::ResourceClaim>() != nullptr) {
    OnClaim(before != nullptr ? before->As<api::ResourceClaim>() : nullptr,
            after != nullptr ? after->As<api::ResourceClaim>() : nullptr);
  } else if (either.As<api::PodGroup>() != nullptr) {
    OnGroup(before != nullptr ? before->As<api::PodGroup>() : nullptr,
            after != nullptr ? after->As<api::PodGroup>() : nullptr);
  } else if (after != nullptr) {
    OnTemplate(*after->As<api::ResourceClaimTemplate>());
  }
}

void ResourceClaimController::FileUnder(const api::Pod& pod, bool present) {
  const api::ObjectMeta& metadata = pod.metadata;
  const auto put = [&](Index& index, std::string_view name) {
    const std::string drawer = In(metadata.namespace_, name);
    present ? index.Add(drawer, metadata.name) : index.Remove(drawer, metadata.name);
  };
  if (const std::string_view group = api::GroupNameOf(pod); !group.empty()) {
    put(pods_of_group_, group);
  }
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (const auto claim = claims.NameOf(entry)) put(pods_of_claim_, *claim);
    if (entry.resource_claim_template_name.has_value()) {
      put(pods_of_template_, *entry.resource_claim_template_name);
    }
  }
}

void ResourceClaimController::QueueClaimsOf(const api::Pod& pod) {
  const std::string& namespace_ = pod.metadata.namespace_;
  const auto add = [&](std::string_view claim) {
    queue().Add(ObjectKey::Of<api::ResourceClaim>(namespace_, claim));
  };
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (const auto claim = claims.NameOf(entry)) add(*claim);
  }
  if (const auto& special = pod.status.extended_resource_claim_status) {
    add(special->resource_claim_name);
  }
  // Those that its status never came to name, too.
  for (const std::string& claim : claims_of_pod_.At(pod.metadata.uid)) add(claim);
}

void ResourceClaimController::OnPod(const api::Pod* before, const api::Pod* after) {
  // Most changes are of a pod's status, and leave it where it is.
  if (before == nullptr || after == nullptr || !NamesTheSame(*before, *after)) {
    if (before != nullptr) FileUnder(*before, false);
    if (after != nullptr) FileUnder(*after, true);
  }
  if (after == nullptr || IsDone(*after)) return QueueClaimsOf(after != nullptr ? *after : *before);
  if (after->spec.resource_claims.empty()) return;
  queue().Add(ObjectKey::Of<api::Pod>(after->metadata.namespace_, after->metadata.name));
}

void ResourceClaimController::OnClaim(const api::ResourceClaim* before,
                                      const api::ResourceClaim* after) {
  const api::ResourceClaim& claim = after != nullptr ? *after : *before;
  const api::ObjectMeta& metadata = claim.metadata;
  for (const auto* version : {before, after}) {
    if (version == nullptr) continue;
    const api::OwnerReference* owner = OwningPod(version->metadata);
    if (owner == nullptr) owner = api::OwningGroup(version->metadata);
    if (owner == nullptr) continue;
    version == after ? claims_of_pod_.Add(owner->uid, metadata.name)
                     : claims_of_pod_.Remove(owner->uid, metadata.name);
    // A group whose claim has gone, or is somebody else's now, gets another one.
    if (owner->kind == "PodGroup") {
      queue().Add(ObjectKey::Of<api::PodGroup>(metadata.namespace_, owner->name));
    }
  }
  NoteLeft(before, after);
  if (after != nullptr) {
    queue().Add(ObjectKey::Of<api::ResourceClaim>(metadata.namespace_, metadata.name));
  } else {
    needless_.erase(ObjectKey::Of<api::ResourceClaim>(metadata.namespace_, metadata.name));
  }
  // Its pods only when it gives them something to do: a claim may be shared by hundreds of them,
  // and each reservation is a change.
  for (const std::string& name : pods_of_claim_.At(In(metadata.namespace_, metadata.name))) {
    const api::Pod* pod = view().Find<api::Pod>(metadata.namespace_, name);
    if (pod == nullptr) continue;
    const bool lost = after == nullptr || (before != nullptr && api::OwnedBy(*before, *pod) &&
                                           !api::OwnedBy(*after, *pod));
    if (lost || NeedsReservation(*after, *pod)) {
      queue().Add(ObjectKey::Of<api::Pod>(metadata.namespace_, name));
    }
  }
}

void ResourceClaimController::OnTemplate(const api::ResourceClaimTemplate& changed) {
  const api::ObjectMeta& metadata = changed.metadata;
  for (const std::string& pod : pods_of_template_.At(In(metadata.namespace_, metadata.name))) {
    queue().Add(ObjectKey::Of<api::Pod>(metadata.namespace_, pod));
  }
  for (const std::string& group : groups_of_template_.At(In(metadata.namespace_, metadata.name))) {
    queue().Add(ObjectKey::Of<api::PodGroup>(metadata.namespace_, group));
  }
}

Status ResourceClaimController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  if (key.Is<api::PodGroup>()) return ReconcileGroup(object);
  return key.Is<api::Pod>() ? ReconcilePod(object) : ReconcileClaim(object);
}

void ResourceClaimController::NoteLeft(const api::ResourceClaim* before,
                                       const api::ResourceClaim* after) {
  const api::ObjectMeta& metadata = (after != nullptr ? after : before)->metadata;
  const auto key = ObjectKey::Of<api::ResourceClaim>(metadata.namespace_, metadata.name);
  const bool idle = after != nullptr && after->status.allocation.has_value() &&
                    after->status.reserved_for.empty();
  const bool same = before != nullptr && after != nullptr && before->metadata.uid == metadata.uid;
  if (!idle || !same) {
    left_.erase(key);
  } else if (!before->status.reserved_for.empty()) {
    left_.insert(key);
  }
}

StatusOr<bool> ResourceClaimController::IsThere(const api::Pod& pod,
                                                const api::PodResourceClaim& entry,
                                                std::string_view claim) const {
  const std::string& namespace_ = pod.metadata.namespace_;
  const auto fits = [&](const api::ResourceClaim& found) {
    return entry.resource_claim_name.has_value() || api::OwnedBy(found, pod);
  };
  if (const auto* known = view().Find<api::ResourceClaim>(namespace_, claim)) return fits(*known);
  DRAY_ASSIGN_OR_RETURN(const auto stored, view().Fetch<api::ResourceClaim>(namespace_, claim));
  return stored.has_value() && fits(*stored->As<api::ResourceClaim>());
}

ResourceClaimController::Entries::Entries(const api::Pod& pod, const View& view,
                                          const Index& claims_of_pod)
    : names(pod) {
  for (const std::string& name : claims_of_pod.At(pod.metadata.uid)) {
    const auto* claim = view.Find<api::ResourceClaim>(pod.metadata.namespace_, name);
    if (claim == nullptr) continue;
    const std::string* made_for = claim->metadata.annotations.Find(api::kPodClaimNameAnnotation);
    if (made_for != nullptr) made.try_emplace(*made_for, name);
  }
}

StatusOr<std::string> ResourceClaimController::CreateFrom(std::string_view made_from,
                                                          const Owner& owner,
                                                          std::string_view entry) {
  const auto* found =
      view().Find(ObjectKey::Of<api::ResourceClaimTemplate>(owner.metadata.namespace_, made_from));
  if (found == nullptr) {
    return base::NotFound(fmt::format(
        "resource claim template \"{}\": resourceclaimtemplate.resource.k8s.io \"{}\" not found",
        made_from, made_from));
  }
  const api::Object kept = *found;
  const api::ResourceClaimTemplateSpec& spec = kept.As<api::ResourceClaimTemplate>()->spec;
  if (!gates_.Enabled(api::Gate::kDRAAdminAccess) && AsksForAdminAccess(spec.spec)) {
    return base::FailedPrecondition("admin access is requested, but the feature is disabled");
  }
  if (!gates_.Enabled(api::Gate::kDRAPrioritizedList) && HasPrioritizedList(spec.spec)) {
    return base::FailedPrecondition(
        "template includes a prioritized list of subrequests, but the feature is disabled");
  }
  api::ResourceClaim claim;
  claim.metadata.namespace_ = owner.metadata.namespace_;
  claim.metadata.generate_name = StemFor(owner.metadata.name, entry);
  claim.metadata.labels = spec.metadata.labels;
  claim.metadata.annotations = spec.metadata.annotations;
  claim.metadata.annotations[api::kPodClaimNameAnnotation] = entry;
  claim.metadata.owner_references = {{.api_version = std::string(owner.api_version),
                                      .kind = std::string(owner.kind),
                                      .name = owner.metadata.name,
                                      .uid = owner.metadata.uid,
                                      .controller = true}};
  claim.spec = spec.spec;
  const std::string stem = claim.metadata.generate_name;
  auto stored = view().Create(api::Object::Of(std::move(claim)));
  if (!stored.ok()) {
    return base::Annotate(api::WithoutGeneratedParts(stored.status(), stem),
                          "create ResourceClaim");
  }
  return stored->metadata().name;
}

StatusOr<std::optional<std::string>> ResourceClaimController::MakeClaim(
    const api::Pod& pod, const api::PodResourceClaim& entry, const Entries& entries) {
  if (entry.resource_claim_template_name.has_value()) {
    const std::optional<bool> shared = IsOfGroup(pod, entry);
    if (!shared.has_value()) return std::nullopt;  // the group is on its way
    if (*shared) {
      // What the group has; it is told when it has something else.
      const auto& statuses = GroupOf(pod)->status.resource_claim_statuses;
      const auto made =
          std::ranges::find(statuses, entry.name, &api::PodGroupResourceClaimStatus::name);
      if (made == statuses.end() || !made->resource_claim_name) return std::nullopt;
      const auto known = entries.names.NameOf(entry);
      if (known.has_value() && *known == *made->resource_claim_name) return std::nullopt;
      return *made->resource_claim_name;
    }
  }
  if (const auto claim = entries.names.NameOf(entry)) {
    // Even one that the status names may have been deleted by somebody.
    DRAY_ASSIGN_OR_RETURN(const bool there, IsThere(pod, entry, *claim));
    if (there) return std::nullopt;
  } else if (entries.names.FindStatus(entry) != nullptr) {
    return std::nullopt;  // on purpose there is none
  }
  if (!entry.resource_claim_template_name.has_value()) return std::nullopt;
  if (const auto orphan = entries.made.find(entry.name); orphan != entries.made.end()) {
    return orphan->second;
  }
  return CreateFrom(*entry.resource_claim_template_name, {pod.metadata, "v1", "Pod"}, entry.name);
}

Status ResourceClaimController::NotMade(const api::Object& about, std::string_view entry,
                                        const Status& why) {
  view().Note({.about = about,
               .type = "Warning",
               .reason = "FailedResourceClaimCreation",
               .message = fmt::format("{}: {}", entry, base::Message(why)),
               .component = std::string(name()),
               .action = ""});
  // A template that comes is a change; there is no need to ask for it.
  return why.code() == StatusCode::kNotFound ? Status() : why;
}

Status ResourceClaimController::ReconcilePod(const api::Object& object) {
  const api::Pod& pod = *object.As<api::Pod>();
  if (pod.metadata.deletion_timestamp.has_value() || IsDone(pod)) return {};
  std::map<std::string, std::string> made;
  const Entries entries(pod, view(), claims_of_pod_);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto claim = MakeClaim(pod, entry, entries);
    if (!claim.ok()) {
      return NotMade(object, fmt::format("PodResourceClaim {}", entry.name), claim.status());
    }
    if (claim->has_value()) made[entry.name] = **claim;
  }
  if (!made.empty()) {
    DRAY_RETURN_IF_ERROR(view().EditStatus(object, [&](api::Object& changed) {
      auto& statuses = changed.Mutable<api::Pod>()->status.resource_claim_statuses;
      std::map<std::string, std::string> all;
      if (statuses.has_value()) {
        for (const api::PodResourceClaimStatus& status : *statuses) {
          if (status.resource_claim_name) all[status.name] = *status.resource_claim_name;
        }
      }
      for (const auto& [entry, claim] : made) all[entry] = claim;
      statuses.emplace();
      for (const auto& [entry, claim] : all) {
        statuses->push_back({.name = entry, .resource_claim_name = claim});
      }
      return true;
    }));
  }
  return Reserve(pod);
}

Status ResourceClaimController::Reserve(const api::Pod& pod) {
  if (pod.spec.node_name.empty()) return {};
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto claim = claims.NameOf(entry);
    if (!claim.has_value()) continue;
    const api::Object* found =
        view().Find(ObjectKey::Of<api::ResourceClaim>(pod.metadata.namespace_, *claim));
    if (found == nullptr) continue;
    const api::ResourceClaim& known = *found->As<api::ResourceClaim>();
    if (!entry.resource_claim_name.has_value() && !api::OwnedBy(known, pod)) continue;
    if (!NeedsReservation(known, pod)) continue;
    api::Object changed = *found;
    const bool shared = IsOfGroup(pod, entry).value_or(false);
    changed.Mutable<api::ResourceClaim>()->status.reserved_for.push_back(
        shared ? api::ConsumerOf(*GroupOf(pod)) : api::ConsumerOf(pod));
    DRAY_RETURN_IF_ERROR(view().UpdateStatus(std::move(changed)).status());
  }
  return {};
}

}  // namespace dray::controllers
