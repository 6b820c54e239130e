// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "api/pod.h"
#include "api/rbac.h"
#include "registry/internal/stored_roles.h"

namespace dray::registry {
namespace {

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

// All four kinds.
std::string Prefix() {
  const api::KindInfo& kind = KindOf<api::Role>();
  std::string prefix = PrefixOf(kind);
  prefix.resize(prefix.size() - kind.plural.size() - 1);
  return prefix;
}

}  // namespace

RoleAuthorizer::StoredRoles::StoredRoles(RoleAuthorizer& authorizer, const Objects& objects,
                                         Source source)
    : authorizer_(authorizer), objects_(objects), source_(source) {}

RoleAuthorizer::StoredRoles::~StoredRoles() {
  const base::MutexLock lock(authorizer_.mutex_);
  authorizer_.stored_ = nullptr;
}

// From here on `changed_` is set at the next change. What has happened before is read afterwards.
void RoleAuthorizer::StoredRoles::Rearm() {
  for (int tries = 0; tries < 2; ++tries) {
    if (watch_ == nullptr) {
      store::Store& store = objects_.store();
      auto watch = store.WatchFrom(Prefix(), store.revision(), [this] { changed_ = true; });
      if (!watch.ok()) break;
      watch_ = *std::move(watch);
    }
    for (;;) {
      const auto events = watch_->Next(1'000);
      if (events.ok() && events->empty()) return;
      if (!events.ok()) break;
    }
    // Behind the history: begin anew.
    watch_ = nullptr;
  }
  // Cannot be told: look each time.
  changed_ = true;
}

void RoleAuthorizer::StoredRoles::Refresh(std::shared_ptr<const rbac::Policy>& policy) {
  if (source_ != Source::kStored || !changed_.exchange(false)) return;
  Rearm();
  std::vector<api::Object> all;
  // What cannot be read gives no rights: roles only add.
  for (const api::KindInfo* kind :
       {&KindOf<api::ClusterRole>(), &KindOf<api::Role>(), &KindOf<api::ClusterRoleBinding>(),
        &KindOf<api::RoleBinding>()}) {
    for (const StoredObjectPtr& stored : objects_.Readable(*kind)) all.push_back(stored->object());
  }
  policy = std::make_shared<const rbac::Policy>(std::move(all));
}

std::vector<api::Object> RoleAuthorizer::StoredRoles::PodsOn(std::string_view node,
                                                             std::string_view namespace_) const {
  std::vector<api::Object> pods;
  const auto range =
      objects_.store().Range(PrefixOf(KindOf<api::Pod>(), namespace_), {.topic = node});
  if (!range.ok()) return pods;
  for (const store::EntryPtr& entry : range->entries) {
    if (auto stored = objects_.Read(*entry); stored.ok()) pods.push_back((*stored)->object());
  }
  return pods;
}

std::optional<api::Object> RoleAuthorizer::StoredRoles::Find(std::string_view group,
                                                             std::string_view resource,
                                                             std::string_view namespace_,
                                                             std::string_view name) const {
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.group != group || kind.plural != resource) continue;
    const auto found = objects_.Find(kind, namespace_, name);
    return found.ok() && *found ? std::optional((*found)->object()) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dray::registry
