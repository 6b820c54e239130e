// SPDX-License-Identifier: Apache-2.0
#include "controllers/job_controller.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "api/generated_name.h"
#include "api/pod.h"
#include "base/seconds.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

using std::chrono::seconds;

constexpr std::string_view kManager = "kubernetes.io/job-controller";
// How many pods it makes, deletes or lets go before others come in: they share its thread.
constexpr std::int32_t kBurst = 50;
constexpr seconds kFirstBackoff{10};
constexpr seconds kLongestBackoff{600};

std::array<const api::KindInfo*, 2> Kinds() { return {&KindOf<api::Job>(), &KindOf<api::Pod>()}; }

// A field that asks for what is not done here. Null: none.
const char* UnsupportedField(const api::JobSpec& spec) {
  if (spec.pod_failure_policy.has_value()) return "spec.podFailurePolicy";
  if (spec.success_policy.has_value()) return "spec.successPolicy";
  if (spec.backoff_limit_per_index.has_value()) return "spec.backoffLimitPerIndex";
  if (spec.max_failed_indexes.has_value()) return "spec.maxFailedIndexes";
  if (spec.pod_replacement_policy == "Failed") return "spec.podReplacementPolicy";
  return nullptr;
}

bool IsOver(const api::JobStatus& status) {
  return FindTrue(status, api::kJobComplete) != nullptr ||
         FindTrue(status, api::kJobFailed) != nullptr;
}

void SetCondition(api::JobStatus& status, std::string_view type, bool holds, std::string reason,
                  std::string message, base::Time now) {
  const auto it = std::ranges::find(status.conditions, type, &api::JobCondition::type);
  const std::string value = holds ? "True" : "False";
  if (it != status.conditions.end() && it->status == value) return;
  api::JobCondition condition{.type = std::string(type),
                              .status = value,
                              .last_probe_time = now.TruncateToSeconds(),
                              .last_transition_time = now.TruncateToSeconds(),
                              .reason = std::move(reason),
                              .message = std::move(message)};
  if (it == status.conditions.end()) {
    status.conditions.push_back(std::move(condition));
  } else {
    *it = std::move(condition);
  }
}

// How many pods are to be at work.
std::int32_t WantedActive(const api::Job& job, const JobTally& tally) {
  const std::int32_t parallelism = job.spec.parallelism.value_or(1);
  if (job.spec.completions.has_value()) {
    return std::min(parallelism, std::max(*job.spec.completions - tally.succeeded, 0));
  }
  // Once one has succeeded the others end their work, and no new ones begin.
  return tally.succeeded > 0 ? std::min(parallelism, static_cast<std::int32_t>(tally.active.size()))
                             : parallelism;
}

}  // namespace

JobController::JobController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

void JobController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Job>() != nullptr) {
    queue().Add(ObjectKey::Of(either));
    if (after == nullptr) {
      for (const api::Object& pod : pods_.Of(*before)) queue().Add(ObjectKey::Of(pod));
    }
    return;
  }
  pods_.OnChange(before, after);
  for (const api::Object* pod : {before, after}) {
    if (pod == nullptr) continue;
    if (const auto job = ControllerKey<api::Job>(pod->metadata())) queue().Add(*job);
  }
  if (after != nullptr && HasJobFinalizer(after->metadata())) queue().Add(ObjectKey::Of(*after));
}

Status JobController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  return key.Is<api::Pod>() ? ReconcilePod(object) : ReconcileJob(object);
}

Status JobController::RemoveFinalizer(const api::Object& pod) {
  const Status status = view().EditObject(pod, [](api::Object& changed) {
    return std::erase(changed.MutableMetadata().finalizers, kJobFinalizer) > 0;
  });
  return status.code() == StatusCode::kNotFound ? Status() : status;
}

Status JobController::ReconcilePod(const api::Object& pod) {
  if (!HasJobFinalizer(pod.metadata())) return {};
  const api::OwnerReference* owner = api::FindController(pod.metadata());
  if (const auto job = ControllerKey<api::Job>(pod.metadata())) {
    const api::Object* known = view().Find(*job);
    if (known != nullptr && known->metadata().uid == owner->uid) return {};
    DRAY_ASSIGN_OR_RETURN(const auto stored, view().Fetch<api::Job>(job->namespace_, job->name));
    if (stored.has_value() && stored->metadata().uid == owner->uid) return {};
  }
  return RemoveFinalizer(pod);
}

Status JobController::ReconcileJob(const api::Object& object) {
  const api::Job& job = *object.As<api::Job>();
  if (job.spec.managed_by.value_or(std::string(kManager)) != kManager) return {};
  const std::vector<api::Object> pods = pods_.Of(object);
  if (IsOver(job.status)) return AfterEnd(object, pods);
  if (const char* field = UnsupportedField(job.spec)) {
    Tell(view(), object,
         {.component = name(),
          .warning = true,
          .reason = "UnsupportedField",
          .message = fmt::format("{} is not supported: the job does not run", field)});
    return {};
  }
  const base::Time now = clock().Now();
  const JobTally tally = TallyOf(job, pods, view());
  const std::optional<JobEnd> end = EndOf(job, tally, now);
  Status managed;
  if (end.has_value()) {
    managed = DeletePods(object, tally.active, static_cast<std::int32_t>(tally.active.size()),
                         /*counted=*/!end->success);
  } else if (!view().Leaving(object)) {
    managed = Manage(object, tally);
  }

  // What was just made or deleted counts already; what has ended is as it was noted.
  JobTally after = TallyOf(job, pods_.Of(object), view());
  api::JobStatus& status = after.status;
  status.active = static_cast<std::int32_t>(after.active.size());
  WriteConditions(object, end, after, status);
  if (status != job.status) {
    api::Object changed = object;
    changed.Mutable<api::Job>()->status = status;
    DRAY_RETURN_IF_ERROR(view().UpdateStatus(std::move(changed)).status());
  }
  DRAY_RETURN_IF_ERROR(LetGo(object, after.noted));
  return managed;
}

void JobController::WriteConditions(const api::Object& object, const std::optional<JobEnd>& end,
                                    const JobTally& tally, api::JobStatus& status) {
  const api::Job& job = *object.As<api::Job>();
  const base::Time now = clock().Now();
  const bool suspended = job.spec.suspend.value_or(false);
  if (!suspended && !status.start_time.has_value()) status.start_time = now.TruncateToSeconds();
  if (end.has_value()) {
    SetCondition(status, end->success ? kSuccessCriteriaMet : kFailureTarget, true, end->reason,
                 end->message, now);
    // It is over when the last pod has ended and is counted.
    const api::UncountedTerminatedPods& notes = *status.uncounted_terminated_pods;
    if (!tally.active.empty() || !tally.noted.empty() || tally.leaving > 0 ||
        !notes.succeeded.empty() || !notes.failed.empty()) {
      return;
    }
    SetCondition(status, end->success ? api::kJobComplete : api::kJobFailed, true, end->reason,
                 end->message, now);
    if (end->success) status.completion_time = now.TruncateToSeconds();
    Tell(view(), object,
         {.component = name(),
          .warning = !end->success,
          .reason = end->success ? std::string_view("Completed") : end->reason,
          .message = end->success ? "Job completed" : end->message});
    return;
  }
  const bool was = FindTrue(status, api::kJobSuspended) != nullptr;
  if (suspended && !was) {
    SetCondition(status, api::kJobSuspended, true, "JobSuspended", "Job suspended", now);
    status.start_time.reset();
  } else if (!suspended && was) {
    SetCondition(status, api::kJobSuspended, false, "JobResumed", "Job resumed", now);
  }
  if (suspended) return;
  if (job.spec.active_deadline_seconds.has_value()) {
    const auto deadline =
        *status.start_time + base::BoundedSeconds(*job.spec.active_deadline_seconds);
    if (deadline > now) queue().AddAfter(ObjectKey::Of(object), deadline - now);
  }
}

Status JobController::AfterEnd(const api::Object& object, const std::vector<api::Object>& pods) {
  DRAY_RETURN_IF_ERROR(LetGo(object, pods));
  const api::Job& job = *object.As<api::Job>();
  if (!job.spec.ttl_seconds_after_finished.has_value() || view().Leaving(object)) return {};
  const api::JobCondition* end = FindTrue(job.status, api::kJobComplete);
  if (end == nullptr) end = FindTrue(job.status, api::kJobFailed);
  const base::Time now = clock().Now();
  const base::Time due = end->last_transition_time.value_or(now) +
                         base::BoundedSeconds(*job.spec.ttl_seconds_after_finished);
  if (due <= now) return view().Delete(object);
  queue().AddAfter(ObjectKey::Of(object), due - now);
  return {};
}

Status JobController::Manage(const api::Object& object, const JobTally& tally) {
  const api::Job& job = *object.As<api::Job>();
  const auto active = static_cast<std::int32_t>(tally.active.size());
  if (job.spec.suspend.value_or(false)) return DeletePods(object, tally.active, active, false);
  const std::int32_t wanted = WantedActive(job, tally);
  if (active > wanted) return DeletePods(object, tally.active, active - wanted, false);
  if (active == wanted) return {};
  if (tally.failures_in_a_row > 0) {
    const int doublings = std::min(tally.failures_in_a_row - 1, 6);
    const auto wait = std::min(kFirstBackoff * (1 << doublings), kLongestBackoff);
    const auto left = tally.last_failure + wait - clock().Now();
    if (left > std::chrono::nanoseconds::zero()) {
      queue().AddAfter(ObjectKey::Of(object), left);
      return {};
    }
  }
  return MakePods(object, tally, wanted - active);
}

Status JobController::MakePods(const api::Object& object, const JobTally& tally,
                               std::int32_t count) {
  const api::Job& job = *object.As<api::Job>();
  api::Pod pod = PodFromTemplate(job.spec.template_, object);
  pod.metadata.finalizers.emplace_back(kJobFinalizer);
  for (const std::string_view prefix : {"batch.kubernetes.io/", ""}) {
    pod.metadata.labels[fmt::format("{}controller-uid", prefix)] = job.metadata.uid;
    pod.metadata.labels[fmt::format("{}job-name", prefix)] = job.metadata.name;
  }
  JobIndexes taken;
  if (IsIndexed(job.spec)) {
    taken = tally.completed;
    for (const auto& [first, last] : tally.running.ranges()) taken.Insert(first, last);
  }
  for (std::int32_t i = 0; i < std::min(count, kBurst); ++i) {
    api::Pod next = pod;
    if (IsIndexed(job.spec)) {
      // There is one: no more are wanted than there are indexes left.
      const auto index = static_cast<std::int32_t>(taken.NextMissing(0));
      taken.insert(index);
      SetIndex(next, job.metadata.name, index);
    }
    const auto made = view().Create(api::Object::Of(next));
    if (!made.ok()) {
      Tell(view(), object,
           {.component = name(),
            .warning = true,
            .reason = "FailedCreate",
            .message = fmt::format("Error creating: {}",
                                   api::WithoutGeneratedParts(base::Message(made.status()),
                                                              next.metadata.generate_name))});
      return made.status();
    }
    Tell(view(), object,
         {.component = name(),
          .reason = "SuccessfulCreate",
          .message = fmt::format("Created pod: {}", made->metadata().name)});
  }
  if (count > kBurst) queue().Add(ObjectKey::Of(object));
  return {};
}

Status JobController::LetGo(const api::Object& job, const std::vector<api::Object>& pods) {
  int writes = 0;
  for (const api::Object& pod : pods) {
    if (!HasJobFinalizer(pod.metadata())) continue;
    if (++writes > kBurst) {
      queue().Add(ObjectKey::Of(job));
      break;
    }
    DRAY_RETURN_IF_ERROR(RemoveFinalizer(pod));
  }
  return {};
}

Status JobController::DeletePods(const api::Object& job, const std::vector<api::Object>& pods,
                                 std::int32_t count, bool counted) {
  // Those that have not come far go first.
  std::vector<api::Object> order = pods;
  std::ranges::stable_sort(order, {}, [](const api::Object& pod) {
    return std::pair(ReadySince(*pod.As<api::Pod>()).has_value(),
                     !pod.As<api::Pod>()->spec.node_name.empty());
  });
  for (std::int32_t i = 0; i < std::min(count, kBurst); ++i) {
    if (!counted) DRAY_RETURN_IF_ERROR(RemoveFinalizer(order[i]));
    DRAY_RETURN_IF_ERROR(view().Delete(order[i]));
  }
  if (count > kBurst) queue().Add(ObjectKey::Of(job));
  return {};
}

}  // namespace dray::controllers
