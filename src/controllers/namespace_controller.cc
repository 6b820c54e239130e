// SPDX-License-Identifier: Apache-2.0
#include "controllers/namespace_controller.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// What cannot be read is mended or removed by people, and no watch tells of that.
constexpr std::chrono::seconds kLookAgain{10};
constexpr std::string_view kContentFailure = "NamespaceDeletionContentFailure";
// Most are empty by then, and nobody has looked.
constexpr std::chrono::seconds kQuietTime{2};

// Writes nothing where that is what is said already.
bool SetCondition(api::NamespaceStatus& status, api::NamespaceCondition condition, base::Time now) {
  auto& conditions = status.conditions;
  auto told = std::ranges::find(conditions, condition.type, &api::NamespaceCondition::type);
  if (told == conditions.end()) {
    conditions.push_back({.type = condition.type});
    told = std::prev(conditions.end());
  }
  if (told->status == condition.status && told->reason == condition.reason &&
      told->message == condition.message) {
    return false;
  }
  condition.last_transition_time =
      told->status == condition.status ? told->last_transition_time : now.TruncateToSeconds();
  *told = std::move(condition);
  return true;
}

// "a. has 1 resource instances, b.group has 2 resource instances", as Kubernetes counts.
std::string Counted(const std::map<std::string, int>& counts, std::string_view words) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text +=
        fmt::format("{}{} {} {} resource instances", text.empty() ? "" : ", ", name, words, count);
  }
  return text;
}

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
    if (after == nullptr) tell_at_.erase(before->metadata().uid);
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
    return SetCondition(changed.Mutable<api::Namespace>()->status,
                        {.type = std::string(kContentFailure),
                         .status = "True",
                         .reason = "ContentDeletionFailed",
                         .message = message},
                        clock().Now());
  }));
}

Status NamespaceController::TellWhatRemains(const api::Object& leaving,
                                            const absl::btree_set<ObjectKey>& contents) {
  const ObjectKey key = ObjectKey::Of(leaving);
  const std::chrono::nanoseconds now = clock().Monotonic();
  const auto [due, first] = tell_at_.try_emplace(leaving.metadata().uid, now + kQuietTime);
  if (now < due->second) {
    queue().AddAfter(key, due->second - now);
    return {};
  }
  due->second = now + kLookAgain;
  queue().AddAfter(key, kLookAgain);
  std::map<std::string, int> kinds;
  std::map<std::string, int> finalizers;
  for (const ObjectKey& content : contents) {
    const api::Object* found = view().Find(content);
    if (found == nullptr) continue;
    const api::KindInfo& kind = api::HubKind(*content.kind);
    ++kinds[fmt::format("{}.{}", kind.plural, kind.group)];
    for (const std::string& finalizer : found->metadata().finalizers) ++finalizers[finalizer];
  }
  if (kinds.empty()) return {};
  return GoneIsFine(view().EditStatus(leaving, [&](api::Object& changed) {
    api::NamespaceStatus& status = changed.Mutable<api::Namespace>()->status;
    const bool remain = SetCondition(
        status,
        {.type = "NamespaceContentRemaining",
         .status = "True",
         .reason = "SomeResourcesRemain",
         .message = fmt::format("Some resources are remaining: {}", Counted(kinds, "has"))},
        clock().Now());
    const bool held =
        finalizers.empty()
            ? SetCondition(status,
                           {.type = "NamespaceFinalizersRemaining",
                            .status = "False",
                            .reason = "ContentHasNoFinalizers",
                            .message = "All content-preserving finalizers finished"},
                           clock().Now())
            : SetCondition(status,
                           {.type = "NamespaceFinalizersRemaining",
                            .status = "True",
                            .reason = "SomeFinalizersRemain",
                            .message = fmt::format("Some content in the namespace has finalizers "
                                                   "remaining: {}",
                                                   Counted(finalizers, "in"))},
                           clock().Now());
    return remain || held;
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
  if (!contents.empty()) return TellWhatRemains(leaving, contents);
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
