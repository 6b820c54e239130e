// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/other_workloads.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/job.h"
#include "api/kinds.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/stateful_set.h"
#include "controllers/cron_job_controller.h"
#include "controllers/daemon_set_controller.h"
#include "controllers/rollout.h"
#include "controllers/stateful_set_controller.h"
#include "fmt/format.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

constexpr std::int64_t kMostOrdinal = std::numeric_limits<std::int32_t>::max();

// Pods and jobs that have not ended, by the uid of their owner.
using Families = std::map<std::string, std::vector<api::Object>, std::less<>>;

bool HasEnded(const api::Job& job) {
  return std::ranges::any_of(job.status.conditions, [](const api::JobCondition& condition) {
    return condition.status == "True" &&
           (condition.type == api::kJobComplete || condition.type == api::kJobFailed);
  });
}

Families FamiliesIn(const api::MemoryCluster& cluster) {
  Families families;
  const auto add = [&](const api::Object& object) {
    const api::OwnerReference* owner = api::FindController(object.metadata());
    if (owner != nullptr) families[owner->uid].push_back(object);
  };
  for (const api::Object& pod : cluster.All(KindOf<api::Pod>())) {
    if (!scheduler::IsTerminated(*pod.As<api::Pod>())) add(pod);
  }
  for (const api::Object& job : cluster.All(KindOf<api::Job>())) {
    if (!HasEnded(*job.As<api::Job>())) add(job);
  }
  return families;
}

const std::vector<api::Object>& FamilyOf(const Families& families, const api::Object& owner) {
  static const std::vector<api::Object> none;
  const auto found = families.find(owner.metadata().uid);
  return found == families.end() ? none : found->second;
}

bool IsLeaving(const api::Object& object) {
  return object.metadata().deletion_timestamp.has_value();
}

// A quota's refusal is told by whoever has it. Something of that name that belongs to others stays.
Status Make(api::MemoryCluster& cluster, api::Object object) {
  const Status made = cluster.Create(std::move(object)).status();
  const bool refused =
      made.code() == StatusCode::kFailedPrecondition || made.code() == StatusCode::kAlreadyExists;
  return refused ? Status() : made;
}

Status MakeDaemons(const api::Object& set, const std::vector<api::Object>& pods,
                   const std::vector<api::Object>& nodes, api::MemoryCluster& cluster) {
  const api::DaemonSetSpec& spec = set.As<api::DaemonSet>()->spec;
  std::set<std::string, std::less<>> there;
  for (const api::Object& pod : pods) {
    there.emplace(controllers::DaemonNodeOf(*pod.As<api::Pod>()));
  }
  for (const api::Object& node : nodes) {
    const std::string& name = node.metadata().name;
    if (there.contains(name)) continue;
    if (!controllers::DaemonFitOf(spec.template_.spec, *node.As<api::Node>()).should_run) continue;
    DRAY_RETURN_IF_ERROR(Make(cluster, api::Object::Of(controllers::DaemonPod(
                                           set, name, controllers::HashOf(spec.template_, 0)))));
  }
  return {};
}

Status MakeNumbered(const api::Object& set, const std::vector<api::Object>& pods,
                    api::MemoryCluster& cluster) {
  const api::StatefulSetSpec& spec = set.As<api::StatefulSet>()->spec;
  std::set<std::int32_t> there;
  for (const api::Object& pod : pods) {
    const auto ordinal = controllers::OrdinalOf(set.metadata().name, pod.metadata().name);
    if (ordinal) there.insert(*ordinal);
  }
  const std::int64_t first = spec.ordinals ? spec.ordinals->start : 0;
  const std::int64_t end = std::min<std::int64_t>(first + spec.replicas.value_or(1), kMostOrdinal);
  const std::string revision =
      fmt::format("{}-{}", set.metadata().name, controllers::HashOf(spec.template_, 0));
  for (std::int64_t number = first; number < end; ++number) {
    const auto i = static_cast<std::int32_t>(number);
    if (there.contains(i)) continue;
    for (api::Object& claim : controllers::StatefulVolumeClaims(set, i)) {
      const auto& metadata = claim.metadata();
      if (cluster.Stored(claim.kind(), metadata.namespace_, metadata.name)) continue;
      DRAY_RETURN_IF_ERROR(Make(cluster, std::move(claim)));
    }
    DRAY_RETURN_IF_ERROR(
        Make(cluster, api::Object::Of(controllers::StatefulPod(set, spec.template_, i, revision))));
  }
  return {};
}

}  // namespace

Status MakeOtherPods(api::MemoryCluster& cluster, base::Time now) {
  const Families families = FamiliesIn(cluster);
  const std::vector<api::Object> nodes = cluster.All(KindOf<api::Node>());
  for (const api::Object& set : cluster.All(KindOf<api::DaemonSet>())) {
    if (IsLeaving(set)) continue;
    DRAY_RETURN_IF_ERROR(MakeDaemons(set, FamilyOf(families, set), nodes, cluster));
  }
  for (const api::Object& set : cluster.All(KindOf<api::StatefulSet>())) {
    if (IsLeaving(set)) continue;
    DRAY_RETURN_IF_ERROR(MakeNumbered(set, FamilyOf(families, set), cluster));
  }
  for (const api::Object& cron : cluster.All(KindOf<api::CronJob>())) {
    if (IsLeaving(cron) || cron.As<api::CronJob>()->spec.suspend.value_or(false)) continue;
    if (!FamilyOf(families, cron).empty()) continue;
    DRAY_RETURN_IF_ERROR(Make(cluster, api::Object::Of(controllers::JobOfCron(cron, now))));
  }
  return {};
}

void NoteCronJobs(const std::vector<api::Object>& objects, std::vector<std::string>& notes) {
  std::set<std::string, std::less<>> running;  // uids of owners
  for (const api::Object& object : objects) {
    const auto* job = object.As<api::Job>();
    const api::OwnerReference* owner = api::FindController(object.metadata());
    if (job != nullptr && owner != nullptr && !HasEnded(*job)) running.insert(owner->uid);
  }
  const auto planned = std::ranges::count_if(objects, [&](const api::Object& object) {
    const auto* cron = object.As<api::CronJob>();
    if (cron == nullptr || cron->spec.suspend.value_or(false)) return false;
    return cron->metadata.uid.empty() || !running.contains(cron->metadata.uid);
  });
  if (planned == 0) return;
  notes.push_back(
      planned == 1
          ? "1 CronJob: its job is planned once, as if it were due"
          : fmt::format("{} CronJobs: their jobs are planned once, as if they were due", planned));
}

std::int64_t DaemonsWanted(const api::Object& set, const std::vector<api::Object>& nodes) {
  const api::PodSpec& spec = set.As<api::DaemonSet>()->spec.template_.spec;
  return std::ranges::count_if(nodes, [&](const api::Object& node) {
    return controllers::DaemonFitOf(spec, *node.As<api::Node>()).should_run;
  });
}

}  // namespace dray::planner::internal
