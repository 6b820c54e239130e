// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/sandbox.h"

#include <limits>
#include <set>

#include "api/event.h"
#include "api/pod.h"
#include "base/check.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

std::vector<const api::KindInfo*> AllKinds() {
  std::vector<const api::KindInfo*> kinds;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.hub != &api::TypeInfoOf<api::Event>()) kinds.push_back(&kind);
  }
  return kinds;
}

}  // namespace

bool IsPending(const api::Object& object) {
  const auto* pod = object.As<api::Pod>();
  return pod != nullptr && pod->spec.node_name.empty() && !scheduler::IsTerminated(*pod);
}

Sandbox::Key Sandbox::KeyOf(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  return {object.kind().hub, object.kind().namespaced ? metadata.namespace_ : "", metadata.name};
}

Sandbox::Sandbox(const std::vector<api::Object>& objects, const PlanOptions& options)
    : guard_(options.gates, options.now, std::numeric_limits<std::size_t>::max()),
      rehearsal_(options, /*seed=*/1, guard_) {
  std::vector<api::Object> kept;
  for (const api::Object& object : objects) {
    if (!IsPending(object)) kept.push_back(object);
  }
  const Status loaded = rehearsal_.Load(std::move(kept));
  DRAY_CHECK(loaded.ok(), base::Message(loaded));
  rehearsal_.TryOnce();
  const auto kinds = AllKinds();
  watch_ = rehearsal_.cluster().Watch(kinds);
  while (const auto change = watch_->Next()) stored_.emplace(KeyOf(change->object), change->object);
}

const api::Object* Sandbox::Find(const api::KindInfo& kind, std::string_view namespace_,
                                 std::string_view name) const {
  const auto found = stored_.find(
      Key{kind.hub, kind.namespaced ? std::string(namespace_) : "", std::string(name)});
  return found == stored_.end() ? nullptr : &found->second;
}

std::vector<const api::Object*> Sandbox::List(const api::KindInfo& kind) const {
  std::vector<const api::Object*> list;
  for (auto it = stored_.lower_bound(Key{kind.hub, "", ""});
       it != stored_.end() && std::get<0>(it->first) == kind.hub; ++it) {
    list.push_back(&it->second);
  }
  return list;
}

void Sandbox::Remove(const api::KindInfo& kind, const std::string& namespace_,
                     const std::string& name) {
  api::MemoryCluster& cluster = rehearsal_.cluster();
  if (!cluster.Delete(kind, namespace_, name).ok()) return;  // it is not there
  auto held = cluster.Stored(kind, namespace_, name);
  if (!held) return;
  held->MutableMetadata().finalizers.clear();
  const auto gone = cluster.Update(*std::move(held));
  DRAY_CHECK(gone.ok(), base::Message(gone.status()));
}

void Sandbox::Put(api::Object object) {
  Remove(object.kind(), object.metadata().namespace_, object.metadata().name);
  std::vector<api::Object> one;
  one.push_back(std::move(object));
  const Status loaded = rehearsal_.Load(std::move(one));
  DRAY_CHECK(loaded.ok(), base::Message(loaded));
}

void Sandbox::Absorb() {
  while (const auto change = watch_->Next()) {
    Key key = KeyOf(change->object);
    const auto stored = stored_.find(key);
    std::optional<api::Object> before;
    if (stored != stored_.end()) before = stored->second;
    if (change->kind == api::Change::Kind::kDeleted) {
      if (stored != stored_.end()) stored_.erase(stored);
    } else if (stored != stored_.end()) {
      stored->second = change->object;
    } else {
      stored_.emplace(key, change->object);
    }
    log_.emplace_back(std::move(key), std::move(before));
  }
}

std::size_t Sandbox::Mark() {
  Absorb();
  return log_.size();
}

void Sandbox::UndoTo(std::size_t mark) {
  Absorb();
  std::set<Key> done;
  for (std::size_t i = mark; i < log_.size(); ++i) {
    const auto& [key, before] = log_[i];
    if (!done.insert(key).second) continue;
    Remove(api::HubKind(*std::get<0>(key)), std::get<1>(key), std::get<2>(key));
    if (before) {
      Put(*before);
      stored_.insert_or_assign(key, *before);
    } else {
      stored_.erase(key);
    }
  }
  log_.resize(mark);
  while (watch_->Next()) {
  }
}

}  // namespace dray::planner::internal
