// SPDX-License-Identifier: Apache-2.0
#include "controllers/view.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace dray::controllers {
namespace {

// As often as Kubernetes's clients do.
constexpr int kTries = 5;

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

}  // namespace

View::View(api::Cluster& cluster, std::span<const api::KindInfo* const> kinds, Listener& listener)
    : cluster_(cluster), listener_(listener), watch_(cluster.Watch(kinds)) {}

std::size_t View::Pull() {
  std::size_t news = 0;
  while (const auto change = watch_->Next()) news += Take(*change) ? 1 : 0;
  return news;
}

bool View::Take(const api::Change& change) {
  if (change.kind != api::Change::Kind::kDeleted) return Put(change.object);
  told_to_go_.erase(change.object.metadata().uid);
  const auto it = objects_.find(ObjectKey::Of(change.object));
  if (it == objects_.end() || it->second.metadata().uid != change.object.metadata().uid) {
    return false;
  }
  const api::Object before = std::move(it->second);
  objects_.erase(it);
  listener_.OnChange(&before, nullptr);
  return true;
}

bool View::Put(const api::Object& object) {
  const auto [it, added] = objects_.try_emplace(ObjectKey::Of(object), object);
  if (added) {
    listener_.OnChange(nullptr, &object);
    return true;
  }
  const api::Object before = it->second;
  const bool same = before.metadata().uid == object.metadata().uid;
  if (IsOldNews(object, before)) return false;
  it->second = object;
  if (same) {
    listener_.OnChange(&before, &object);
  } else {
    listener_.OnChange(&before, nullptr);
    listener_.OnChange(nullptr, &object);
  }
  return true;
}

const api::Object* View::Find(const ObjectKey& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : &it->second;
}

StatusOr<api::Object> View::Written(StatusOr<api::Object> stored) {
  if (stored.ok()) {
    ++writes_;
    Put(*stored);
  }
  return stored;
}

StatusOr<api::Object> View::Create(api::Object object) {
  return Written(cluster_.Create(std::move(object)));
}
StatusOr<api::Object> View::Update(api::Object object) {
  return Written(cluster_.Update(std::move(object)));
}
StatusOr<api::Object> View::UpdateStatus(api::Object object) {
  return Written(cluster_.UpdateStatus(std::move(object)));
}

Status View::EditObject(const api::Object& object, const Edit& edit) {
  return EditWith(object, edit, &View::Update);
}
Status View::EditStatus(const api::Object& object, const Edit& edit) {
  return EditWith(object, edit, &View::UpdateStatus);
}

Status View::EditWith(const api::Object& object, const Edit& edit, Write write) {
  api::Object changed = object;
  for (int left = kTries;; --left) {
    if (!edit(changed)) return {};
    const Status status = (this->*write)(std::move(changed)).status();
    if (left == 1 || status.code() != StatusCode::kAborted) return status;
    const api::ObjectMeta& metadata = object.metadata();
    auto stored = cluster_.Find(object.kind(), metadata.namespace_, metadata.name);
    if (!stored.has_value() || stored->metadata().uid != metadata.uid) {
      return base::NotFound("it was deleted in the meantime");
    }
    changed = *std::move(stored);
  }
}

Status View::Delete(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  if (told_to_go_.contains(metadata.uid)) return {};
  const Status status =
      cluster_.Delete(object.kind(), metadata.namespace_, metadata.name, metadata.uid);
  if (status.code() == StatusCode::kNotFound) return {};
  if (!status.ok()) return status;
  ++writes_;
  told_to_go_.insert(metadata.uid);
  return {};
}

bool View::Leaving(const api::Object& object) const {
  return object.metadata().deletion_timestamp.has_value() ||
         told_to_go_.contains(object.metadata().uid);
}

}  // namespace dray::controllers
