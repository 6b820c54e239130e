// SPDX-License-Identifier: Apache-2.0
#include "controllers/namespace_controller.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <vector>

#include "api/namespace.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// What cannot be read is mended or removed by people, and no watch tells of that.
constexpr std::chrono::seconds kLookAgain{10};
constexpr std::string_view kContentFailure = "NamespaceDeletionContentFailure";

std::vector<const api::KindInfo*> Kinds() {
  std::vector<const api::KindInfo*> kinds = {&KindOf<api::Namespace>()};
  std::set<const api::TypeInfo*> seen;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.namespaced && seen.insert(kind.hub).second) kinds.push_back(&kind);
  }
  return kinds;
}

Status GoneIsFine(const Status& status) {
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

}  // namespace

NamespaceController::NamespaceController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds(), true) {}

void NamespaceController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Namespace>() != nullptr) {
    if (after != nullptr) queue().Add(ObjectKey::Of(*after));
    return;
  }
  const std::string& namespace_ = either.metadata().namespace_;
  if (before == nullptr) contents_[namespace_].insert(ObjectKey::Of(either));
  if (after == nullptr) {
    const auto contents = contents_.find(namespace_);
    contents->second.erase(ObjectKey::Of(either));
    if (contents->second.empty()) contents_.erase(contents);
  }
  if (before != nullptr && after != nullptr) return;
  const ObjectKey key = ObjectKey::Of<api::Namespace>("", namespace_);
  const api::Object* found = view().Find(key);
  if (found != nullptr && found->metadata().deletion_timestamp.has_value()) queue().Add(key);
}

Status NamespaceController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  return object.metadata().deletion_timestamp.has_value() ? Empty(object) : Protect(object);
}

Status NamespaceController::SetPhase(const api::Object& object, std::string_view phase) {
  return GoneIsFine(view().EditStatus(object, [&](api::Object& changed) {
    if (changed.As<api::Namespace>()->status.phase == phase) return false;
    changed.Mutable<api::Namespace>()->status.phase = phase;
    return true;
  }));
}

Status NamespaceController::TellWhyItStays(const api::Object& leaving, const Status& why) {
  const std::string message = fmt::format(
      "The namespace stays until everything in it can be deleted: {}", base::Message(why));
  return GoneIsFine(view().EditStatus(leaving, [&](api::Object& changed) {
    auto& conditions = changed.Mutable<api::Namespace>()->status.conditions;
    auto told = std::ranges::find(conditions, kContentFailure, &api::NamespaceCondition::type);
    if (told == conditions.end()) {
      conditions.push_back({.type = std::string(kContentFailure)});
      told = std::prev(conditions.end());
    }
    if (told->status == "True" && told->message == message) return false;
    if (told->status != "True") told->last_transition_time = clock().Now().TruncateToSeconds();
    told->status = "True";
    told->reason = "ContentDeletionFailed";
    told->message = message;
    return true;
  }));
}

Status NamespaceController::Protect(const api::Object& active) {
  DRAY_RETURN_IF_ERROR(GoneIsFine(view().EditObject(active, [&](api::Object& changed) {
    auto& finalizers = changed.Mutable<api::Namespace>()->spec.finalizers;
    if (std::ranges::find(finalizers, api::kNamespaceFinalizer) != finalizers.end()) return false;
    // One that was deleted in the meantime is not to be held.
    if (changed.metadata().deletion_timestamp.has_value()) return false;
    finalizers.emplace_back(api::kNamespaceFinalizer);
    return true;
  })));
  return SetPhase(active, api::kNamespaceActive);
}

Status NamespaceController::Empty(const api::Object& leaving) {
  DRAY_RETURN_IF_ERROR(SetPhase(leaving, api::kNamespaceTerminating));
  const auto known = contents_.find(leaving.metadata().name);
  const auto contents = known == contents_.end() ? absl::btree_set<ObjectKey>() : known->second;
  for (const ObjectKey& key : contents) {
    const api::Object* found = view().Find(key);
    if (found == nullptr || view().Leaving(*found)) continue;
    DRAY_RETURN_IF_ERROR(view().Delete(api::Object(*found)));
  }
  // Each that goes brings it back here.
  if (!contents.empty()) return {};
  // What nobody can read is there all the same: without its namespace it would stay for ever.
  if (const Status hidden = view().NothingHidden(leaving.metadata().name); !hidden.ok()) {
    queue().AddAfter(ObjectKey::Of(leaving), kLookAgain);
    return TellWhyItStays(leaving, hidden);
  }
  return GoneIsFine(view().EditObject(leaving, [](api::Object& changed) {
    return std::erase(changed.Mutable<api::Namespace>()->spec.finalizers,
                      api::kNamespaceFinalizer) > 0;
  }));
}

}  // namespace dray::controllers
