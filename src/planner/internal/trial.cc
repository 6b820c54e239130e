// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/trial.h"

#include <limits>
#include <set>
#include <tuple>

#include "api/event.h"
#include "api/pod.h"
#include "base/check.h"
#include "controllers/object_key.h"
#include "planner/internal/outcomes.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

bool IsPending(const api::Object& object) {
  const auto* pod = object.As<api::Pod>();
  return pod != nullptr && pod->spec.node_name.empty() && !scheduler::IsTerminated(*pod);
}

std::vector<const api::KindInfo*> AllKinds() {
  std::vector<const api::KindInfo*> kinds;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.hub != &api::TypeInfoOf<api::Event>()) kinds.push_back(&kind);
  }
  return kinds;
}

}  // namespace

Trial::Key Trial::KeyOf(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  return {object.kind().hub, object.kind().namespaced ? metadata.namespace_ : "", metadata.name};
}

Trial::Trial(const std::vector<api::Object>& objects, const PlanOptions& options)
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

const api::Object* Trial::Find(const api::KindInfo& kind, std::string_view namespace_,
                               std::string_view name) const {
  const auto found = stored_.find(
      Key{kind.hub, kind.namespaced ? std::string(namespace_) : "", std::string(name)});
  return found == stored_.end() ? nullptr : &found->second;
}

std::vector<const api::Object*> Trial::List(const api::KindInfo& kind) const {
  std::vector<const api::Object*> list;
  for (auto it = stored_.lower_bound(Key{kind.hub, "", ""});
       it != stored_.end() && std::get<0>(it->first) == kind.hub; ++it) {
    list.push_back(&it->second);
  }
  return list;
}

void Trial::Remove(const api::KindInfo& kind, const std::string& namespace_,
                   const std::string& name) {
  api::MemoryCluster& cluster = rehearsal_.cluster();
  if (!cluster.Delete(kind, namespace_, name).ok()) return;  // it is not there
  auto held = cluster.Stored(kind, namespace_, name);
  if (!held) return;
  held->MutableMetadata().finalizers.clear();
  const auto gone = cluster.Update(*std::move(held));
  DRAY_CHECK(gone.ok(), base::Message(gone.status()));
}

void Trial::Put(api::Object object) {
  Remove(object.kind(), object.metadata().namespace_, object.metadata().name);
  std::vector<api::Object> one;
  one.push_back(std::move(object));
  const Status loaded = rehearsal_.Load(std::move(one));
  DRAY_CHECK(loaded.ok(), base::Message(loaded));
}

void Trial::Restore() {
  std::set<Key> changed;
  std::vector<api::Object> now;
  while (const auto change = watch_->Next()) {
    if (changed.insert(KeyOf(change->object)).second) now.push_back(change->object);
  }
  for (const api::Object& object : now) {
    Remove(object.kind(), object.metadata().namespace_, object.metadata().name);
    const auto stored = stored_.find(KeyOf(object));
    if (stored != stored_.end()) Put(stored->second);
  }
  rehearsal_.TryOnce();
  while (watch_->Next()) {
  }
}

Trial::Answer Trial::Try(api::Object pod, const Changes& changes) {
  ++tries_;
  pod.Mutable<api::Pod>()->spec.preemption_policy = "Never";
  const std::string key = internal::KeyOf(pod.metadata());
  const std::string space = pod.metadata().namespace_;
  const std::string name = pod.metadata().name;
  for (const ObjectRef& gone : changes.gone) Remove(*gone.kind, gone.namespace_, gone.name);
  for (const api::Object& object : changes.put) {
    if (!IsPending(object)) Put(object);
  }
  Put(std::move(pod));
  rehearsal_.TryOnce();

  Answer answer;
  const auto now = rehearsal_.cluster().Stored(controllers::KindOf<api::Pod>(), space, name);
  if (now) answer.node = now->As<api::Pod>()->spec.node_name;
  if (answer.node.empty()) answer.node = rehearsal_.WaitsFor(key);
  answer.placed = !answer.node.empty();
  if (!answer.placed) {
    if (const auto* why = rehearsal_.scheduler().Explain(key)) answer.why = *why;
  }
  Restore();
  return answer;
}

}  // namespace dray::planner::internal
