// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/trial.h"

#include <utility>

#include "api/pod.h"
#include "controllers/object_key.h"
#include "planner/internal/outcomes.h"

namespace dray::planner::internal {

Trial::Answer Trial::Try(api::Object pod, const Changes& changes) {
  ++tries_;
  pod.Mutable<api::Pod>()->spec.preemption_policy = "Never";
  const std::string key = internal::KeyOf(pod.metadata());
  const std::string space = pod.metadata().namespace_;
  const std::string name = pod.metadata().name;
  const std::size_t before = sandbox_.Mark();
  for (const ObjectRef& gone : changes.gone) {
    sandbox_.Remove(*gone.kind, gone.namespace_, gone.name);
  }
  for (const api::Object& object : changes.put) {
    if (!IsPending(object)) sandbox_.Put(object);
  }
  sandbox_.Put(std::move(pod));
  sandbox_.TryOnce();

  Answer answer;
  const auto now = sandbox_.cluster().Stored(controllers::KindOf<api::Pod>(), space, name);
  if (now) answer.node = now->As<api::Pod>()->spec.node_name;
  const Rehearsal& rehearsal = sandbox_.rehearsal();
  if (answer.node.empty()) answer.node = rehearsal.WaitsFor(key);
  answer.placed = !answer.node.empty();
  if (!answer.placed) {
    if (const auto* why = rehearsal.scheduler().Explain(key)) answer.why = *why;
  }
  sandbox_.UndoTo(before);
  sandbox_.TryOnce();
  return answer;
}

}  // namespace dray::planner::internal
