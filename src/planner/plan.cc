// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/event.h"
#include "api/job.h"
#include "api/memory_cluster.h"
#include "api/pod.h"
#include "api/priority_class.h"
#include "api/stateful_set.h"
#include "api/system_priority.h"
#include "api/workloads.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "fmt/format.h"
#include "planner/internal/absent_pods.h"
#include "planner/internal/admission.h"
#include "planner/internal/holders.h"
#include "planner/internal/nodes.h"
#include "planner/internal/open_volumes.h"
#include "planner/internal/other_workloads.h"
#include "planner/internal/outcomes.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/write_guard.h"

namespace dray::planner {
namespace {

// Everything that is there but events, kind by kind, in order of namespace and name.
std::vector<api::Object> ObjectsOf(const api::MemoryCluster& cluster) {
  std::vector<api::Object> objects;
  for (const api::KindInfo& kind : api::Kinds()) {
    const bool event = kind.hub == &api::TypeInfoOf<api::Event>();
    if (event || &api::HubKind(*kind.hub) != &kind) continue;
    std::ranges::move(cluster.All(kind), std::back_inserter(objects));
  }
  return objects;
}

// Claims that may be made for pods: for those that are there by their entries, for those that
// controllers make by the longest list of any template.
std::size_t MostClaims(const std::vector<api::Object>& objects, std::size_t made_pods) {
  std::size_t claims = 0;
  std::size_t longest = 0;
  const auto take = [&](const auto* workload) {
    if (workload == nullptr) return;
    longest = std::max(longest, workload->spec.template_.spec.resource_claims.size());
  };
  for (const api::Object& object : objects) {
    if (const auto* pod = object.As<api::Pod>()) claims += pod->spec.resource_claims.size();
    take(object.As<api::Deployment>());
    take(object.As<api::ReplicaSet>());
    take(object.As<api::Job>());
    take(object.As<api::DaemonSet>());
    take(object.As<api::StatefulSet>());
    if (const auto* cron = object.As<api::CronJob>()) take(&cron->spec.job_template);
  }
  return claims + made_pods * longest;
}

// More than any plan takes that comes to an end: each object is written some times by controllers
// and scheduler, a pod and its claims more often.
std::size_t MostWrites(const std::vector<api::Object>& objects, std::size_t made_pods) {
  return 20'000 + 64 * (objects.size() + made_pods + MostClaims(objects, made_pods));
}

// The objects as controllers leave them before anything is scheduled.
StatusOr<std::vector<api::Object>> Prepare(std::vector<api::Object> objects, std::uint64_t seed,
                                           const PlanOptions& options, internal::WriteGuard& guard,
                                           std::vector<internal::TurnedAway>& away) {
  base::ManualClock clock(options.now);
  base::SeededRandomSource random(seed);
  api::MemoryCluster cluster(
      clock, random,
      {.gates = options.gates, .validate = false, .name_suffix = internal::PlannedNames()});
  DRAY_RETURN_IF_ERROR(internal::Admit(std::move(objects), cluster, guard, away));
  DRAY_RETURN_IF_ERROR(internal::MakeOtherPods(cluster, options.now));
  internal::Settle(internal::MakeControllers(cluster, clock, options.gates));
  DRAY_RETURN_IF_ERROR(guard.Verdict());
  return ObjectsOf(cluster);
}

void NoteSchedulers(const PlanOptions& given, const PlanOptions& taken,
                    std::vector<std::string>& notes) {
  for (std::size_t i = given.config.profiles.size(); i < taken.config.profiles.size(); ++i) {
    notes.push_back(
        fmt::format("the configuration of scheduler {} is unknown: its pods are planned with the "
                    "default profile; provide others with --config",
                    taken.config.profiles[i].scheduler_name));
  }
}

// Of pods that are still to be placed: a server would refuse them. Manifests without the classes of the
// cluster are planned all the same.
void NotePriorities(const std::vector<api::Object>& objects, std::vector<std::string>& notes) {
  std::set<std::string, std::less<>> missing;
  for (const api::Object& object : objects) {
    const auto* pod = object.As<api::Pod>();
    if (pod == nullptr || pod->spec.priority || !pod->spec.node_name.empty()) continue;
    const std::string& name = pod->spec.priority_class_name;
    if (!name.empty() && !api::SystemPriority(name)) missing.insert(name);
  }
  for (const api::Object& object : objects) {
    if (object.As<api::PriorityClass>() != nullptr) missing.erase(object.metadata().name);
  }
  for (const std::string& name : missing) {
    notes.push_back(fmt::format(
        "PriorityClass {} is not in the input; assuming priority 0 for the pods that name it",
        name));
  }
}

// Kinds stay together, as the scheduler wants them; the oldest first.
void SortByAge(std::vector<api::Object>& objects) {
  std::map<const api::TypeInfo*, std::size_t> ranks;
  for (const api::Object& object : objects) ranks.emplace(object.kind().hub, ranks.size());
  std::ranges::stable_sort(objects, {}, [&](const api::Object& object) {
    return std::tuple(ranks.at(object.kind().hub), object.metadata().creation_timestamp);
  });
}

}  // namespace

std::size_t Plan::Count(State state) const {
  return static_cast<std::size_t>(std::ranges::count(pods, state, &PodOutcome::state) +
                                  std::ranges::count(claims, state, &ClaimOutcome::state));
}

std::size_t Plan::SkippedObjects() const {
  std::size_t objects = 0;
  for (const Skipped& entry : skipped) objects += entry.count;
  return objects;
}

StatusOr<Plan> MakePlan(std::vector<api::Object> objects, const PlanOptions& options) {
  Plan plan;
  internal::CompleteNodes(options.assume_nodes, objects, plan.notes);
  std::vector<api::Object> left_out = internal::TakeHalfGiven(objects, plan.notes);
  internal::NoteCronJobs(objects, plan.notes);
  internal::Arrange(objects);
  const internal::AbsentPods absent(objects, plan.notes);
  DRAY_RETURN_IF_ERROR(internal::CheckSelectors(objects));
  DRAY_ASSIGN_OR_RETURN(const std::size_t made,
                        internal::CheckPodCount(objects, options.max_made_pods));
  const std::uint64_t seed = internal::SeedOf(objects);
  const internal::Given given = internal::Given::Of(objects);
  internal::WriteGuard guard(options.gates, options.now, MostWrites(objects, made));
  std::vector<internal::TurnedAway> away;
  DRAY_ASSIGN_OR_RETURN(std::vector<api::Object> prepared,
                        Prepare(std::move(objects), seed, options, guard, away));
  const internal::OpenVolumes volumes(prepared, !options.everything_given, plan.notes);
  const internal::Before before = internal::Before::Of(prepared, given);
  SortByAge(prepared);
  const PlanOptions all = internal::WithSchedulersOf(prepared, options);
  NoteSchedulers(options, all, plan.notes);
  NotePriorities(prepared, plan.notes);
  // Another source of uids than that of the preparation: none is used twice.
  internal::Rehearsal rehearsal(all, seed + 1, guard);
  DRAY_RETURN_IF_ERROR(rehearsal.Load(std::move(prepared)));
  rehearsal.Run();
  if (options.expired && options.expired()) {
    return base::MakeStatus(StatusCode::kDeadlineExceeded, "the plan takes too long");
  }
  DRAY_RETURN_IF_ERROR(guard.Verdict());
  plan.pods = internal::PodOutcomes(before, rehearsal);
  for (PodOutcome& pod : plan.pods) {
    // Written, not stored: made when the plan was. Stored times have whole seconds.
    if (pod.created && *pod.created >= options.now.TruncateToSeconds()) pod.created.reset();
  }
  plan.missing = internal::MissingIn(rehearsal.cluster(), guard);
  plan.claims = internal::PlaceLooseClaims(before, all, rehearsal);
  internal::AddTurnedAway(away, plan);
  internal::NameHolders(before, rehearsal.cluster(), options.now, plan);

  plan.objects = ObjectsOf(rehearsal.cluster());
  guard.quotas().WriteStatus(plan.objects);
  absent.Restore(plan.objects);
  volumes.Restore(plan.objects);
  std::ranges::move(left_out, std::back_inserter(plan.objects));
  internal::Arrange(plan.objects);
  return plan;
}

}  // namespace dray::planner
