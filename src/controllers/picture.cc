// SPDX-License-Identifier: Apache-2.0
#include "controllers/picture.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "api/custom_kind.h"
#include "base/check.h"

namespace dray::controllers {
namespace {

std::optional<std::uint64_t> RevisionOf(const api::Object& object) {
  const std::string& text = object.metadata().resource_version;
  std::uint64_t revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return revision;
}

// Whether `told` says nothing that `known` does not.
bool IsOldNews(const api::Object& told, const api::Object& known) {
  const auto a = RevisionOf(told);
  const auto b = RevisionOf(known);
  if (!a.has_value() || !b.has_value()) {
    return told.metadata().resource_version == known.metadata().resource_version;
  }
  return *a <= *b;
}

std::vector<const api::KindInfo*> EveryKind() {
  std::vector<const api::KindInfo*> kinds;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (&kind == &api::HubKind(*kind.hub)) kinds.push_back(&kind);
  }
  return kinds;
}

}  // namespace

Picture::Picture(api::Cluster& cluster) : Picture(cluster, EveryKind()) {}

std::shared_ptr<Picture> Picture::OfWhatIsListenedTo(api::Cluster& cluster) {
  return std::shared_ptr<Picture>(new Picture(cluster, Gathering()));
}

std::vector<const api::KindInfo*> Picture::ListenedTo() const {
  std::vector<const api::KindInfo*> kinds;
  for (const api::KindInfo* kind : EveryKind()) {
    const auto it = listeners_.find(kind->hub);
    const bool listened = it != listeners_.end() && !it->second.empty();
    const bool defines = !defined_.empty() && kind->hub == api::DefinitionKind().hub;
    if (listened || defines) kinds.push_back(kind);
  }
  return kinds;
}

void Picture::Listen(std::span<const api::KindInfo* const> kinds, Listener& listener) {
  DRAY_CHECK(objects_.empty(), "a listener that comes late would miss what was told");
  for (const api::KindInfo* kind : kinds) {
    std::vector<Listener*>& all = listeners_[kind->hub];
    if (all.empty() || all.back() != &listener) all.push_back(&listener);
  }
}

void Picture::Leave(const Listener& listener) {
  for (auto& [kind, all] : listeners_) std::erase(all, &listener);
  std::erase(defined_, &listener);
}

Status Picture::Stale() const {
  if (watch_ == nullptr) return base::Unavailable("nothing has been read yet");
  Status stale = watch_->Stale();
  for (const auto& [name, defined] : extra_) {
    if (!stale.ok()) break;
    stale = defined.watch->Stale();
  }
  return stale;
}

std::vector<api::UnreadableObject> Picture::Unreadable() const {
  if (watch_ == nullptr) return {};
  std::vector<api::UnreadableObject> all = watch_->Unreadable();
  for (const auto& [name, defined] : extra_) {
    for (api::UnreadableObject& object : defined.watch->Unreadable()) {
      all.push_back(std::move(object));
    }
  }
  return all;
}

std::vector<const api::KindInfo*> Picture::DefinedKinds() const {
  std::vector<const api::KindInfo*> kinds;
  for (const auto& [name, defined] : extra_) kinds.push_back(defined.kind);
  return kinds;
}

void Picture::Follow(const api::Object* definition, std::string_view name) {
  if (defined_.empty()) return;
  const auto known = extra_.find(name);
  const auto names = definition == nullptr ? std::nullopt : api::DefinedKind(*definition);
  const api::KindInfo* hub_kind = nullptr;
  if (names) {
    const auto kind = api::CustomKind(*names);
    if (!kind.ok()) return;
    hub_kind = &api::HubKind(*(*kind)->hub);
  }
  // One that went and came again while nobody was told may define another kind.
  const bool other = known != extra_.end() && hub_kind != nullptr && known->second.kind != hub_kind;
  const bool follows = known != extra_.end() && !other;
  if (known != extra_.end() && (definition == nullptr || other)) {
    // What it defined went before it did, unless somebody has let go of it by force.
    const api::TypeInfo* hub = known->second.kind->hub;
    extra_.erase(known);
    std::vector<api::Object> left;
    for (const auto& [key, object] : objects_) {
      if (object.kind().hub == hub) left.push_back(object);
    }
    for (const api::Object& object : left) {
      objects_.erase(ObjectKey::Of(object));
      Tell(&object, nullptr);
    }
  }
  if (!follows && hub_kind != nullptr) {
    const api::KindInfo* const kinds[] = {hub_kind};
    extra_.emplace(std::string(name), Defined{hub_kind, cluster_.Watch(kinds)});
  }
}

void Picture::Tell(const api::Object* before, const api::Object* after) const {
  if (api::IsCustom((after != nullptr ? after : before)->kind())) {
    for (Listener* listener : defined_) listener->OnChange(before, after);
    return;
  }
  const auto it = listeners_.find((after != nullptr ? after : before)->kind().hub);
  if (it == listeners_.end()) return;
  for (Listener* listener : it->second) listener->OnChange(before, after);
}

Picture::Writing::~Writing() {
  picture_.writing_.erase(place_);
  auto& going = picture_.going_;
  const auto& writing = picture_.writing_;
  while (!going.empty() && (writing.empty() || going.front().first <= *writing.begin())) {
    picture_.gone_.erase(going.front().second);
    going.pop_front();
  }
}

std::size_t Picture::Pull() {
  std::size_t news = 0;
  if (watch_ == nullptr) watch_ = cluster_.Watch(ListenedTo());
  while (const auto change = watch_->Next()) {
    news += Take(*change) ? 1 : 0;
    const api::Object& object = change->object;
    if (object.kind().hub != api::DefinitionKind().hub) continue;
    const bool gone = change->kind == api::Change::Kind::kDeleted;
    Follow(gone ? nullptr : &object, object.metadata().name);
  }
  for (auto& [name, defined] : extra_) {
    while (const auto change = defined.watch->Next()) news += Take(*change) ? 1 : 0;
  }
  return news;
}

bool Picture::Take(const api::Change& change) {
  if (change.kind != api::Change::Kind::kDeleted) return Put(change.object);
  ++deletions_;
  if (!writing_.empty() && gone_.insert(change.object.metadata().uid).second) {
    going_.emplace_back(deletions_, change.object.metadata().uid);
  }
  const auto it = objects_.find(ObjectKey::Of(change.object));
  if (it == objects_.end() || it->second.metadata().uid != change.object.metadata().uid) {
    return false;
  }
  const api::Object before = std::move(it->second);
  objects_.erase(it);
  Tell(&before, nullptr);
  return true;
}

bool Picture::Put(const api::Object& object) {
  if (gone_.contains(object.metadata().uid)) return false;
  const auto [it, added] = objects_.try_emplace(ObjectKey::Of(object), object);
  if (added) {
    Tell(nullptr, &object);
    return true;
  }
  if (IsOldNews(object, it->second)) return false;
  const api::Object before = std::exchange(it->second, object);
  if (before.metadata().uid == object.metadata().uid) {
    Tell(&before, &object);
  } else {
    Tell(&before, nullptr);
    Tell(nullptr, &object);
  }
  return true;
}

const api::Object* Picture::Find(const ObjectKey& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : &it->second;
}

}  // namespace dray::controllers
