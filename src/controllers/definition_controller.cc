// SPDX-License-Identifier: Apache-2.0
#include "controllers/definition_controller.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "api/custom_kind.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kCleanup = "customresourcecleanup.apiextensions.k8s.io";
constexpr std::chrono::seconds kLookAgain{5};

std::array<const api::KindInfo*, 1> DefinitionKinds() { return {&api::DefinitionKind()}; }

Status GoneIsFine(const Status& status) {
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

}  // namespace

DefinitionController::DefinitionController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, DefinitionKinds(), true) {}

void DefinitionController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  const ObjectKey key = ObjectKey::Of(either);
  if (!api::IsCustom(either.kind())) {
    unsettled_.erase(key);
    if (after == nullptr) {
      // Its names are free.
      for (const ObjectKey& other : unsettled_) queue().Add(other);
    } else if (after->metadata().deletion_timestamp.has_value() || !api::DefinedKind(*after)) {
      unsettled_.insert(key);
      queue().Add(key);
    }
    return;
  }
  auto& known = objects_[either.kind().hub];
  if (after != nullptr) {
    known.insert(key);
    return;
  }
  known.erase(key);
  if (!known.empty()) return;
  for (const ObjectKey& definition : unsettled_) queue().Add(definition);
}

Status DefinitionController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object definition = *found;
  if (definition.metadata().deletion_timestamp.has_value()) return Empty(definition);
  return api::DefinedKind(definition) ? Status() : Touch(definition);
}

Status DefinitionController::Touch(const api::Object& definition) {
  return GoneIsFine(view().EditStatus(definition, [](api::Object&) { return true; }));
}

Status DefinitionController::Empty(const api::Object& leaving) {
  const auto& finalizers = leaving.metadata().finalizers;
  if (std::ranges::find(finalizers, kCleanup) == finalizers.end()) return {};
  if (const auto names = api::DefinedKind(leaving)) {
    DRAY_RETURN_IF_ERROR(Touch(leaving));
    DRAY_ASSIGN_OR_RETURN(const api::KindInfo* kind, api::CustomKind(*names));
    const auto known = objects_.find(kind->hub);
    const absl::btree_set<ObjectKey> all =
        known == objects_.end() ? absl::btree_set<ObjectKey>() : known->second;
    // One that cannot be deleted does not keep the others.
    Status failed;
    for (const ObjectKey& key : all) {
      const api::Object* object = view().Find(key);
      if (object == nullptr || view().Leaving(*object)) continue;
      const Status status = view().Delete(api::Object(*object));
      if (failed.ok()) failed = status;
    }
    DRAY_RETURN_IF_ERROR(failed);
    // Past the watch: the last one may be too new for it. Each that goes brings the definition back.
    DRAY_ASSIGN_OR_RETURN(const auto left, view().List(*kind));
    if (!left.empty()) {
      queue().AddAfter(ObjectKey::Of(leaving), kLookAgain);
      return {};
    }
  }
  return GoneIsFine(view().EditObject(leaving, [](api::Object& changed) {
    return std::erase(changed.MutableMetadata().finalizers, kCleanup) > 0;
  }));
}

}  // namespace dray::controllers
