// SPDX-License-Identifier: Apache-2.0
#include "controllers/garbage_collector.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "api/event.h"
#include "api/kinds.h"
#include "api/pod.h"

namespace dray::controllers {
namespace {

constexpr std::chrono::seconds kLookAgain{10};

// Every kind once. Events own nothing and nobody owns them.
std::vector<const api::KindInfo*> Kinds() {
  std::vector<const api::KindInfo*> kinds;
  std::set<const api::TypeInfo*> seen = {&api::TypeInfoOf<api::Event>()};
  for (const api::KindInfo& kind : api::Kinds()) {
    if (seen.insert(kind.hub).second) kinds.push_back(&kind);
  }
  return kinds;
}

bool Has(const api::ObjectMeta& metadata, std::string_view finalizer) {
  return std::ranges::find(metadata.finalizers, finalizer) != metadata.finalizers.end();
}
// Deleted, and kept until something is done about its dependents.
bool Waits(const api::ObjectMeta& metadata, std::string_view finalizer) {
  return metadata.deletion_timestamp.has_value() && Has(metadata, finalizer);
}

}  // namespace

GarbageCollector::GarbageCollector(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds(), true) {}

void GarbageCollector::OnChange(const api::Object* before, const api::Object* after) {
  const bool moved = before == nullptr || after == nullptr ||
                     before->metadata().owner_references != after->metadata().owner_references;
  if (moved && before != nullptr) {
    for (const auto& owner : before->metadata().owner_references) {
      const auto it = dependents_.find(owner.uid);
      if (it == dependents_.end()) continue;
      it->second.erase(ObjectKey::Of(*before));
      if (it->second.empty()) dependents_.erase(it);
    }
  }
  if (moved && after != nullptr) {
    const ObjectKey key = ObjectKey::Of(*after);
    for (const auto& owner : after->metadata().owner_references) {
      dependents_[owner.uid].insert(key);
    }
  }
  if (after == nullptr) {
    const auto it = dependents_.find(before->metadata().uid);
    if (it != dependents_.end()) {
      for (const ObjectKey& key : it->second) queue().Add(key);
    }
    QueueOwners(*before);
    return;
  }
  const api::ObjectMeta& metadata = after->metadata();
  if (moved && !metadata.owner_references.empty()) queue().Add(ObjectKey::Of(*after));
  if (moved && before != nullptr) QueueOwners(*before);
  if (Waits(metadata, kOrphanFinalizer) || Waits(metadata, kForegroundFinalizer)) {
    queue().Add(ObjectKey::Of(*after));
  }
}

// Owners that may have waited for it.
void GarbageCollector::QueueOwners(const api::Object& object) {
  for (const auto& owner : object.metadata().owner_references) {
    const api::KindInfo* kind = api::FindKind(owner.api_version, owner.kind);
    if (kind == nullptr) continue;
    const ObjectKey key{kind->hub, kind->namespaced ? object.metadata().namespace_ : "",
                        owner.name};
    const api::Object* found = view().Find(key);
    if (found != nullptr && Waits(found->metadata(), kForegroundFinalizer)) queue().Add(key);
  }
}

Status GarbageCollector::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  if (Waits(object.metadata(), kOrphanFinalizer)) return Orphan(object);
  if (Waits(object.metadata(), kForegroundFinalizer)) return WaitForDependents(object);
  return ReconcileDependent(object);
}

std::vector<api::Object> GarbageCollector::DependentsOf(std::string_view uid) const {
  std::vector<api::Object> dependents;
  const auto it = dependents_.find(base::ToAbsl(uid));
  if (it == dependents_.end()) return dependents;
  for (const ObjectKey& key : it->second) {
    if (const api::Object* found = view().Find(key)) dependents.push_back(*found);
  }
  return dependents;
}

StatusOr<GarbageCollector::OwnerState> GarbageCollector::StateOf(
    const api::OwnerReference& reference, const api::Object& dependent) const {
  const api::KindInfo* kind = api::FindKind(reference.api_version, reference.kind);
  // Of a kind that nobody here can look up, or in a namespace that the dependent does not say.
  // Better to keep too much than to delete what is in use.
  if (kind == nullptr) return OwnerState::kThere;
  if (kind->namespaced && !dependent.kind().namespaced) return OwnerState::kThere;
  const std::string namespace_ = kind->namespaced ? dependent.metadata().namespace_ : "";
  const api::Object* known = view().Find(ObjectKey{kind->hub, namespace_, reference.name});
  if (known != nullptr && known->metadata().uid == reference.uid) {
    return Waits(known->metadata(), kForegroundFinalizer) ? OwnerState::kWaiting
                                                          : OwnerState::kThere;
  }
  // It may be too new for the watch, or something that cannot be read: then it is there.
  DRAY_ASSIGN_OR_RETURN(const auto stored, view().Fetch(*kind, namespace_, reference.name));
  const bool there = stored.has_value() && stored->metadata().uid == reference.uid;
  return there ? OwnerState::kThere : OwnerState::kGone;
}

Status GarbageCollector::ReconcileDependent(const api::Object& object) {
  const auto& references = object.metadata().owner_references;
  if (references.empty() || view().Leaving(object)) return {};
  std::vector<std::string> left;  // uids of those that do not hold it
  bool awaited = false;
  for (const auto& reference : references) {
    DRAY_ASSIGN_OR_RETURN(const OwnerState state, StateOf(reference, object));
    if (state != OwnerState::kThere) left.push_back(reference.uid);
    awaited = awaited || state == OwnerState::kWaiting;
  }
  if (left.empty()) return {};
  if (left.size() == references.size()) {
    return awaited ? DeleteInForeground(object) : view().Delete(object);
  }
  const Status status = view().EditObject(object, [&](api::Object& changed) {
    return std::erase_if(changed.MutableMetadata().owner_references, [&](const auto& reference) {
             return std::ranges::find(left, reference.uid) != left.end();
           }) > 0;
  });
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

// Whether an owner of the object is among what the object owns, however far down. Such a circle
// would wait for itself for ever.
bool GarbageCollector::OwnsAnOwner(const api::Object& object) const {
  const auto& references = object.metadata().owner_references;
  absl::flat_hash_set<std::string> seen = {object.metadata().uid};
  std::vector<std::string> left = {object.metadata().uid};
  while (!left.empty()) {
    const auto it = dependents_.find(left.back());
    left.pop_back();
    if (it == dependents_.end()) continue;
    for (const ObjectKey& key : it->second) {
      const api::Object* found = view().Find(key);
      if (found == nullptr) continue;
      const std::string& uid = found->metadata().uid;
      if (std::ranges::find(references, uid, &api::OwnerReference::uid) != references.end()) {
        return true;
      }
      if (seen.insert(uid).second) left.push_back(uid);
    }
  }
  return false;
}

// An owner waits for it, and so it waits for what it owns in turn: the owner is gone last. The
// finalizer comes before the deletion, so that one who is stopped in between goes on here.
Status GarbageCollector::DeleteInForeground(const api::Object& object) {
  // What nobody can see may be its dependent. Only pods do not wait for that: what they own (their claims) ends
  // when they have, and they are what is in the way.
  const bool childless =
      !dependents_.contains(object.metadata().uid) &&
      (object.As<api::Pod>() != nullptr || view().NothingHidden(object.metadata().namespace_).ok());
  if (childless) return view().Delete(object);
  const bool circle = OwnsAnOwner(object);
  const Status marked = view().EditObject(object, [&](api::Object& changed) {
    api::ObjectMeta& metadata = changed.MutableMetadata();
    if (metadata.deletion_timestamp.has_value()) return false;
    const api::ObjectMeta before = metadata;
    std::erase(metadata.finalizers, kOrphanFinalizer);
    if (!Has(metadata, kForegroundFinalizer))
      metadata.finalizers.emplace_back(kForegroundFinalizer);
    if (circle) {
      for (api::OwnerReference& reference : metadata.owner_references) {
        reference.block_owner_deletion = false;
      }
    }
    return metadata != before;
  });
  if (marked.code() == StatusCode::kNotFound) return {};
  DRAY_RETURN_IF_ERROR(marked);
  return view().Delete(object);
}

Status GarbageCollector::RemoveFinalizer(const api::Object& object, std::string_view finalizer) {
  const Status status = view().EditObject(object, [&](api::Object& changed) {
    return std::erase(changed.MutableMetadata().finalizers, finalizer) > 0;
  });
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

// Whether all dependents of an owner can be seen; if not, it is looked at again later. People mend or
// remove what cannot be read, and no watch tells of that.
bool GarbageCollector::SeesDependentsOf(const api::Object& owner) {
  if (view().NothingHidden(owner.metadata().namespace_).ok()) return true;
  queue().AddAfter(ObjectKey::Of(owner), kLookAgain);
  return false;
}

Status GarbageCollector::Orphan(const api::Object& owner) {
  const std::string& uid = owner.metadata().uid;
  for (const api::Object& dependent : DependentsOf(uid)) {
    const Status status = view().EditObject(dependent, [&](api::Object& changed) {
      return std::erase_if(changed.MutableMetadata().owner_references,
                           [&](const auto& reference) { return reference.uid == uid; }) > 0;
    });
    if (status.code() != StatusCode::kNotFound) DRAY_RETURN_IF_ERROR(status);
  }
  // One that cannot be read still names this owner, and would go as soon as it can be read.
  return SeesDependentsOf(owner) ? RemoveFinalizer(owner, kOrphanFinalizer) : Status();
}

Status GarbageCollector::WaitForDependents(const api::Object& owner) {
  bool blocked = false;
  Status trouble;
  for (const api::Object& dependent : DependentsOf(owner.metadata().uid)) {
    const auto& references = dependent.metadata().owner_references;
    blocked = blocked || std::ranges::any_of(references, [&](const auto& reference) {
                return reference.uid == owner.metadata().uid &&
                       reference.block_owner_deletion.value_or(false);
              });
    // One of which it cannot be found out who else owns it does not keep the others.
    const Status status = ReconcileDependent(dependent);
    if (trouble.ok()) trouble = status;
  }
  DRAY_RETURN_IF_ERROR(trouble);
  if (blocked || !SeesDependentsOf(owner)) return {};
  return RemoveFinalizer(owner, kForegroundFinalizer);
}

}  // namespace dray::controllers
