// SPDX-License-Identifier: Apache-2.0
#include "controllers/quota_controller.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "api/device_class.h"
#include "api/pod_resources.h"
#include "api/quota_scopes.h"
#include "base/seconds.h"

namespace dray::controllers {
namespace {

// How often a quota is looked at whose sum is partly assumed: nobody tells that something which
// could not be read is gone.
constexpr std::chrono::minutes kLookAgain{1};

// Whatever can be counted, and the classes that names depend on.
std::vector<const api::KindInfo*> Kinds() {
  std::vector<const api::KindInfo*> kinds = {&KindOf<api::DeviceClass>()};
  std::set<const api::TypeInfo*> seen;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (api::IsCounted(kind) && seen.insert(kind.hub).second) kinds.push_back(&kind);
  }
  return kinds;
}

// When a pod that is being deleted stops to count although it is still there.
std::optional<base::Time> GraceEnd(const api::Pod& pod) {
  const api::ObjectMeta& metadata = pod.metadata;
  if (!metadata.deletion_timestamp || !metadata.deletion_grace_period_seconds) return std::nullopt;
  return *metadata.deletion_timestamp +
         base::BoundedSeconds(*metadata.deletion_grace_period_seconds);
}

// Whether its usage can be another one: most changes of pods are about their status.
bool MattersToQuotas(const api::Object& before, const api::Object& after) {
  const api::Pod* was = before.As<api::Pod>();
  const api::Pod* is = after.As<api::Pod>();
  if (was == nullptr) {
    return after.As<api::ResourceClaim>() != nullptr || api::QuotaHandlesUpdate(after, before);
  }
  return was->status.phase != is->status.phase || was->spec != is->spec ||
         was->metadata.deletion_timestamp != is->metadata.deletion_timestamp ||
         was->status.extended_resource_claim_status != is->status.extended_resource_claim_status ||
         was->status.container_statuses != is->status.container_statuses ||
         was->status.resources != is->status.resources ||
         was->status.allocated_resources != is->status.allocated_resources;
}

}  // namespace

QuotaController::QuotaController(const Source& source, const base::Clock& clock,
                                 api::FeatureGates gates)
    : Reconciler(source, clock, Kinds(), true), gates_(gates) {}

void QuotaController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::DeviceClass>() != nullptr) {
    return OnClass(after != nullptr ? after->As<api::DeviceClass>() : nullptr,
                   before != nullptr ? before->As<api::DeviceClass>() : nullptr);
  }
  const api::ObjectMeta& metadata = either.metadata();
  const ObjectKey key = ObjectKey::Of(either);
  if (before == nullptr) objects_[metadata.namespace_].insert(key);
  if (after == nullptr) {
    const auto objects = objects_.find(metadata.namespace_);
    objects->second.erase(key);
    if (objects->second.empty()) objects_.erase(objects);
  }
  if (either.As<api::ResourceQuota>() != nullptr) OnQuota(before, after);
  if (const auto* claim = either.As<api::ResourceClaim>()) {
    if (const api::OwnerReference* pod = api::ExtendedResourcePod(*claim)) {
      after != nullptr ? claims_of_pod_.Add(pod->uid, metadata.name)
                       : claims_of_pod_.Remove(pod->uid, metadata.name);
      // Only one claim of a pod counts less for it; which one may be another now.
      MarkClaimsOf(metadata.namespace_, pod->uid);
    }
  }
  if (before != nullptr && after != nullptr && !MattersToQuotas(*before, *after)) return;
  Mark(key);
  if (either.As<api::Pod>() != nullptr) MarkClaimsOf(metadata.namespace_, metadata.uid);
}

void QuotaController::OnQuota(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  const ObjectKey key = ObjectKey::Of(either);
  const std::string& namespace_ = key.namespace_;
  if (after == nullptr) {
    const auto quotas = quotas_.find(namespace_);
    quotas->second.erase(key);
    if (quotas->second.empty()) quotas_.erase(quotas);
    sums_.erase(key);
    return;
  }
  quotas_[namespace_].insert(key);
  queue().Add(key);
  const auto spec = [](const api::Object& quota) { return quota.As<api::ResourceQuota>()->spec; };
  if (before != nullptr && spec(*before) == spec(*after)) return;
  sums_[key] = {};
  for (const ObjectKey& object : objects_[namespace_]) marked_[namespace_].insert(object);
}

void QuotaController::OnClass(const api::DeviceClass* after, const api::DeviceClass* before) {
  after != nullptr ? classes_.OnUpdate(*after) : classes_.OnDelete(*before);
  for (const auto& [namespace_, quotas] : quotas_) {
    if (quotas.empty()) continue;
    for (const ObjectKey& object : objects_[namespace_]) {
      if (object.Is<api::ResourceClaim>()) Mark(object);
    }
  }
}

void QuotaController::MarkClaimsOf(std::string_view namespace_, std::string_view pod_uid) {
  for (const std::string& name : claims_of_pod_.At(pod_uid)) {
    Mark(ObjectKey::Of<api::ResourceClaim>(namespace_, name));
  }
}

void QuotaController::Mark(const ObjectKey& key) {
  const auto quotas = quotas_.find(key.namespace_);
  if (quotas == quotas_.end() || quotas->second.empty()) return;  // a quota marks all when it comes
  marked_[key.namespace_].insert(key);
  for (const ObjectKey& quota : quotas->second) queue().Add(quota);
}

Status QuotaController::Reconcile(const ObjectKey& key) {
  if (!key.Is<api::ResourceQuota>()) {
    Mark(key);  // its time has come
    return {};
  }
  Recount(key.namespace_);
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  Assume(key, *found->As<api::ResourceQuota>());
  return WriteStatus(api::Object(*found));
}

std::vector<ObjectKey> QuotaController::UnreadIn(std::string_view namespace_) const {
  std::vector<ObjectKey> unread;
  for (const api::UnreadableObject& object : view().Unreadable()) {
    if (object.namespace_ != namespace_ || !api::IsCounted(*object.kind)) continue;
    const ObjectKey key{object.kind->hub, object.namespace_, object.name};
    // As it last could be read it is in the sum.
    if (view().Find(key) == nullptr) unread.push_back(key);
  }
  std::sort(unread.begin(), unread.end());
  return unread;
}

void QuotaController::Assume(const ObjectKey& key, const api::ResourceQuota& quota) {
  Sums& sums = sums_[key];
  std::vector<ObjectKey> unread = UnreadIn(key.namespace_);
  if (!unread.empty()) queue().AddAfter(key, kLookAgain);
  if (unread == sums.unread) return;
  sums.unread = std::move(unread);
  sums.assumed = {};
  if (sums.unread.empty()) return;
  // Whatever was admitted is in the status; what was taken out and not yet counted makes this too
  // much, never too little. Of other kinds only the number counts.
  const bool amounts = std::ranges::any_of(sums.unread, [](const ObjectKey& object) {
    return object.Is<api::Pod>() || object.Is<api::ResourceClaim>();
  });
  for (const auto& [name, used] : amounts ? quota.status.used : Amounts()) {
    const base::Quantity* known = sums.total.Find(name);
    const base::Quantity beyond = known != nullptr ? used - *known : used;
    if (beyond > base::Quantity()) sums.assumed[name] = beyond;
  }
  if (!quota.spec.scopes.empty() || quota.spec.scope_selector) return;
  // How many there are is known without reading them. Whether a pod has ended is not: it counts.
  Amounts counts;
  for (const ObjectKey& object : sums.unread) {
    counts[api::CountQuotaName(api::HubKind(*object.kind))] += base::Quantity::FromInt(1);
  }
  for (const auto& [name, count] : counts) sums.assumed[name] = count;
  if (const base::Quantity* pods = counts.Find(api::kPodCountQuota)) {
    base::Quantity& assumed = sums.assumed[api::kPodsQuota];
    if (assumed < *pods) assumed = *pods;
  }
}

void QuotaController::Recount(const std::string& namespace_) {
  const auto it = marked_.find(namespace_);
  if (it == marked_.end()) return;
  const auto marked = std::move(it->second);
  marked_.erase(it);
  const auto quotas = quotas_.find(namespace_);
  if (quotas == quotas_.end()) return;
  for (const ObjectKey& object : marked) {
    for (const ObjectKey& quota : quotas->second) Charge(quota, object);
  }
}

QuotaController::Amounts QuotaController::PartOf(const api::ResourceQuotaSpec& quota,
                                                 const ObjectKey& key) {
  const api::Object* object = view().Find(key);
  if (object == nullptr) return {};
  const base::Time now = clock().Now();
  if (const auto* pod = object->As<api::Pod>()) {
    const auto end = GraceEnd(*pod);
    if (end.has_value() && *end >= now) {
      queue().AddAfter(key, *end - now + std::chrono::nanoseconds(1));
    }
  }
  if (!api::QuotaCounts(quota, *object)) return {};
  return api::QuotaUsage(*object,
                         {.classes = classes_, .objects = *this, .gates = gates_, .now = now});
}

void QuotaController::Charge(const ObjectKey& quota, const ObjectKey& object) {
  const auto* found = view().Find<api::ResourceQuota>(quota.namespace_, quota.name);
  if (found == nullptr) return;
  Sums& sums = sums_[quota];
  Amounts part = PartOf(found->spec, object);
  Amounts& known = sums.parts[object];
  for (const auto& [name, amount] : known) sums.total[name] -= amount;
  api::AddResources(sums.total, part);
  if (part.empty()) {
    sums.parts.erase(object);
  } else {
    known = std::move(part);
  }
}

Status QuotaController::WriteStatus(const api::Object& object) {
  const api::ResourceQuota& quota = *object.As<api::ResourceQuota>();
  const Sums& sums = sums_[ObjectKey::Of(object)];
  Amounts total = sums.total;
  api::AddResources(total, sums.assumed);
  api::ResourceQuotaStatus status;
  status.hard = api::NormalizeHard(quota.spec.hard);
  for (const auto& [name, limit] : status.hard) {
    const base::Quantity* used = total.Find(name);
    status.used[name] = used != nullptr ? *used : base::Quantity();
  }
  status.unknown = quota.status.unknown;
  if (quota.status == status) return {};
  // Once, and only over the version that the sum belongs to. Whoever charges the quota changes it in
  // the transaction that adds the object, and a watch tells the object first: so what a version's
  // sum lacks came after that version. When somebody was faster, that is told next, and the sum is
  // made again.
  api::Object changed = object;
  changed.Mutable<api::ResourceQuota>()->status = std::move(status);
  const Status written = view().UpdateStatus(std::move(changed)).status();
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

const api::Pod* QuotaController::FindPod(std::string_view namespace_, std::string_view name) const {
  return view().Find<api::Pod>(namespace_, name);
}

std::vector<const api::ResourceClaim*> QuotaController::ExtendedResourceClaimsOf(
    std::string_view namespace_, std::string_view pod_uid) const {
  std::vector<const api::ResourceClaim*> claims;
  for (const std::string& name : claims_of_pod_.At(pod_uid)) {
    const auto* claim = view().Find<api::ResourceClaim>(namespace_, name);
    if (claim != nullptr) claims.push_back(claim);
  }
  return claims;
}

}  // namespace dray::controllers
