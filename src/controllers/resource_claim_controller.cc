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

std::array<const api::KindInfo*, 3> Kinds() {
  return {&KindOf<api::Pod>(), &KindOf<api::ResourceClaim>(),
          &KindOf<api::ResourceClaimTemplate>()};
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

// The scheduler reserves claims for pods that it places; others have found their node without it.
bool NeedsReservation(const api::ResourceClaim& claim, const api::Pod& pod) {
  return !pod.spec.node_name.empty() && claim.status.allocation.has_value() &&
         !api::ReservedFor(claim, pod) &&
         claim.status.reserved_for.size() < api::kResourceClaimReservedForMaxSize;
}

}  // namespace

ResourceClaimController::ResourceClaimController(const Source& source, const base::Clock& clock,
                                                 api::FeatureGates gates)
    : Reconciler(source, clock, Kinds()), gates_(gates) {}

void ResourceClaimController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Pod>() != nullptr) {
    OnPod(before != nullptr ? before->As<api::Pod>() : nullptr,
          after != nullptr ? after->As<api::Pod>() : nullptr);
  } else if (either.As<api::ResourceClaim>() != nullptr) {
    OnClaim(before != nullptr ? before->As<api::ResourceClaim>() : nullptr,
            after != nullptr ? after->As<api::ResourceClaim>() : nullptr);
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
  if (before != nullptr) FileUnder(*before, false);
  if (after != nullptr) FileUnder(*after, true);
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
    const api::OwnerReference* pod = OwningPod(version->metadata);
    if (pod == nullptr) continue;
    version == after ? claims_of_pod_.Add(pod->uid, metadata.name)
                     : claims_of_pod_.Remove(pod->uid, metadata.name);
  }
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
}

Status ResourceClaimController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  return key.Is<api::Pod>() ? ReconcilePod(object) : ReconcileClaim(object);
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

StatusOr<std::string> ResourceClaimController::CreateFrom(
    const api::ResourceClaimTemplate& made_from, const api::Pod& pod,
    const api::PodResourceClaim& entry) {
  const api::ResourceClaimTemplateSpec& spec = made_from.spec;
  if (!gates_.Enabled(api::Gate::kDRAAdminAccess) && AsksForAdminAccess(spec.spec)) {
    return base::FailedPrecondition("admin access is requested, but the feature is disabled");
  }
  if (!gates_.Enabled(api::Gate::kDRAPrioritizedList) && HasPrioritizedList(spec.spec)) {
    return base::FailedPrecondition(
        "template includes a prioritized list of subrequests, but the feature is disabled");
  }
  api::ResourceClaim claim;
  claim.metadata.namespace_ = pod.metadata.namespace_;
  claim.metadata.generate_name = StemFor(pod.metadata.name, entry.name);
  claim.metadata.labels = spec.metadata.labels;
  claim.metadata.annotations = spec.metadata.annotations;
  claim.metadata.annotations[api::kPodClaimNameAnnotation] = entry.name;
  claim.metadata.owner_references = {{.api_version = "v1",
                                      .kind = "Pod",
                                      .name = pod.metadata.name,
                                      .uid = pod.metadata.uid,
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
  const std::string& wanted = *entry.resource_claim_template_name;
  const auto* found =
      view().Find(ObjectKey::Of<api::ResourceClaimTemplate>(pod.metadata.namespace_, wanted));
  if (found == nullptr) {
    return base::NotFound(fmt::format(
        "resource claim template \"{}\": resourceclaimtemplate.resource.k8s.io \"{}\" not found",
        wanted, wanted));
  }
  const api::Object made_from = *found;
  return CreateFrom(*made_from.As<api::ResourceClaimTemplate>(), pod, entry);
}

Status ResourceClaimController::ReconcilePod(const api::Object& object) {
  const api::Pod& pod = *object.As<api::Pod>();
  if (pod.metadata.deletion_timestamp.has_value() || IsDone(pod)) return {};
  std::map<std::string, std::string> made;
  const Entries entries(pod, view(), claims_of_pod_);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto claim = MakeClaim(pod, entry, entries);
    if (!claim.ok()) {
      view().Note({.about = object,
                   .type = "Warning",
                   .reason = "FailedResourceClaimCreation",
                   .message = fmt::format("PodResourceClaim {}: {}", entry.name,
                                          base::Message(claim.status())),
                   .component = std::string(name()),
                   .action = ""});
      // A template that comes is a change; there is no need to ask for it.
      if (claim.status().code() == StatusCode::kNotFound) return {};
      return claim.status();
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
    changed.Mutable<api::ResourceClaim>()->status.reserved_for.push_back(api::ConsumerOf(pod));
    DRAY_RETURN_IF_ERROR(view().UpdateStatus(std::move(changed)).status());
  }
  return {};
}

}  // namespace dray::controllers
