// SPDX-License-Identifier: Apache-2.0
#include "controllers/view.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/custom_kind.h"

namespace dray::controllers {
namespace {

// As often as Kubernetes's clients do.
constexpr int kTries = 5;

}  // namespace

namespace {

std::vector<const api::KindInfo*> WithDefinitions(std::span<const api::KindInfo* const> kinds,
                                                  bool defined) {
  std::vector<const api::KindInfo*> all(kinds.begin(), kinds.end());
  const api::KindInfo* definitions = &api::DefinitionKind();
  if (defined && std::ranges::find(all, definitions) == all.end()) all.push_back(definitions);
  return all;
}

}  // namespace

View::View(const Source& source, std::span<const api::KindInfo* const> kinds, Listener& listener,
           bool defined)
    : picture_(source.Open(WithDefinitions(kinds, defined))),
      cluster_(picture_->cluster()),
      listener_(listener) {
  if (defined) picture_->ListenToDefined(*this);
  picture_->Listen(kinds, *this);
}

void View::OnChange(const api::Object* before, const api::Object* after) {
  if (after == nullptr) told_to_go_.erase(before->metadata().uid);
  listener_.OnChange(before, after);
}

Status View::NothingHidden(std::string_view namespace_) const {
  Status stale = picture_->Stale();
  if (stale.ok() || namespace_.empty()) return stale;
  std::vector<const api::KindInfo*> kinds;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.namespaced && &kind == &api::HubKind(*kind.hub)) kinds.push_back(&kind);
  }
  for (const api::KindInfo* kind : picture_->DefinedKinds()) {
    if (kind->namespaced) kinds.push_back(kind);
  }
  // Of a kind whose definition cannot be read there may be anything.
  DRAY_RETURN_IF_ERROR(cluster_.List(api::DefinitionKind()).status());
  return cluster_.Watch(kinds, {.namespace_ = std::string(namespace_)})->Stale();
}

StatusOr<api::Object> View::Written(StatusOr<api::Object> stored) {
  if (stored.ok()) {
    ++writes_;
    picture_->Put(*stored);
  }
  return stored;
}

StatusOr<api::Object> View::Create(api::Object object) {
  const Picture::Writing writing(*picture_);
  return Written(cluster_.Create(std::move(object)));
}
StatusOr<api::Object> View::Update(api::Object object) {
  const Picture::Writing writing(*picture_);
  return Written(cluster_.Update(std::move(object)));
}
StatusOr<api::Object> View::UpdateStatus(api::Object object) {
  const Picture::Writing writing(*picture_);
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
    DRAY_ASSIGN_OR_RETURN(auto stored,
                          cluster_.Find(object.kind(), metadata.namespace_, metadata.name));
    if (!stored.has_value() || stored->metadata().uid != metadata.uid) {
      return base::NotFound("it was deleted in the meantime");
    }
    changed = *std::move(stored);
  }
}

Status View::Delete(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  // Before it is known: its end may be told while the answer is waited for.
  if (!told_to_go_.insert(metadata.uid).second) return {};
  const Status status =
      cluster_.Delete(object.kind(), metadata.namespace_, metadata.name, metadata.uid);
  if (!status.ok()) told_to_go_.erase(metadata.uid);
  if (status.code() == StatusCode::kNotFound) return {};
  if (!status.ok()) return status;
  ++writes_;
  return {};
}

bool View::Leaving(const api::Object& object) const {
  return object.metadata().deletion_timestamp.has_value() ||
         told_to_go_.contains(object.metadata().uid);
}

}  // namespace dray::controllers
