// SPDX-License-Identifier: Apache-2.0
#include "controllers/job_tally.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>

#include "base/seconds.h"
#include "base/string_map.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"

namespace dray::controllers {
namespace {

constexpr std::int32_t kBackoffLimit = 6;

bool Contains(const std::vector<std::string>& uids, const std::string& uid) {
  return std::ranges::find(uids, uid) != uids.end();
}

// A status says what its writer likes: more than can be counted is the most that can.
std::int32_t Sum(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(a + b, -kMost, kMost));
}

// Notes of pods that are rid of their finalizer become a number.
void CountNotes(std::vector<std::string>& uids, std::int32_t& count, const base::StringSet& held) {
  const std::size_t freed =
      std::erase_if(uids, [&](const std::string& uid) { return !held.contains(uid); });
  count = Sum(count, freed);
}

base::Time EndedAt(const api::Pod& pod) {
  base::Time end = pod.metadata.creation_timestamp.value_or(base::Time());
  for (const auto& container : pod.status.container_statuses) {
    if (!container.state.terminated.has_value()) continue;
    end = std::max(end, container.state.terminated->finished_at.value_or(end));
  }
  return std::max(end, pod.metadata.deletion_timestamp.value_or(end));
}

std::int32_t RestartsOf(const std::vector<api::Object>& pods) {
  std::int32_t restarts = 0;
  for (const api::Object& pod : pods) {
    const api::PodStatus& status = pod.As<api::Pod>()->status;
    for (const auto* list : {&status.init_container_statuses, &status.container_statuses}) {
      for (const auto& container : *list) restarts = Sum(restarts, container.restart_count);
    }
  }
  return restarts;
}

// Notes the end of one pod. `indexed`: successes are noted by index.
void NoteEnd(const api::Object& object, bool indexed, std::int32_t completions, JobTally& tally) {
  const api::Pod& pod = *object.As<api::Pod>();
  api::UncountedTerminatedPods& notes = *tally.status.uncounted_terminated_pods;
  const std::string& uid = pod.metadata.uid;
  if (pod.status.phase == api::kPodSucceeded) {
    if (indexed) {
      if (const auto index = IndexOf(pod, completions)) tally.completed.insert(*index);
    } else if (!Contains(notes.succeeded, uid)) {
      notes.succeeded.push_back(uid);
    }
  } else if (!Contains(notes.failed, uid)) {
    notes.failed.push_back(uid);
  }
  tally.noted.push_back(object);
}

void CountFailuresInARow(const std::vector<api::Object>& pods, JobTally& tally) {
  base::Time success;
  for (const api::Object& object : pods) {
    const api::Pod& pod = *object.As<api::Pod>();
    if (pod.status.phase == api::kPodSucceeded) success = std::max(success, EndedAt(pod));
  }
  for (const api::Object& object : pods) {
    const api::Pod& pod = *object.As<api::Pod>();
    if (pod.status.phase != api::kPodFailed || EndedAt(pod) < success) continue;
    ++tally.failures_in_a_row;
    tally.last_failure = std::max(tally.last_failure, EndedAt(pod));
  }
}

}  // namespace

bool HasJobFinalizer(const api::ObjectMeta& pod) {
  return std::ranges::find(pod.finalizers, kJobFinalizer) != pod.finalizers.end();
}

bool IsIndexed(const api::JobSpec& spec) {
  return spec.completion_mode == api::kCompletionModeIndexed;
}

const api::JobCondition* FindTrue(const api::JobStatus& status, std::string_view type) {
  const auto it = std::ranges::find_if(status.conditions, [&](const api::JobCondition& condition) {
    return condition.type == type && condition.status == "True";
  });
  return it == status.conditions.end() ? nullptr : &*it;
}

JobTally TallyOf(const api::Job& job, const std::vector<api::Object>& pods, const View& view) {
  JobTally tally;
  tally.status = job.status;
  const bool indexed = IsIndexed(job.spec);
  const std::int32_t completions = job.spec.completions.value_or(0);
  if (!tally.status.uncounted_terminated_pods.has_value()) {
    tally.status.uncounted_terminated_pods.emplace();
  }
  api::UncountedTerminatedPods& notes = *tally.status.uncounted_terminated_pods;
  base::StringSet held;
  for (const api::Object& pod : pods) {
    if (HasJobFinalizer(pod.metadata())) held.insert(pod.metadata().uid);
  }
  CountNotes(notes.succeeded, tally.status.succeeded, held);
  CountNotes(notes.failed, tally.status.failed, held);
  if (indexed) tally.completed = ParseIndexes(job.status.completed_indexes, completions);

  std::int32_t ready = 0;
  for (const api::Object& object : pods) {
    const api::Pod& pod = *object.As<api::Pod>();
    const bool going = view.Leaving(object);
    if (IsTerminal(pod) || going) {
      if (going && !IsTerminal(pod)) ++tally.leaving;
      if (HasJobFinalizer(pod.metadata)) NoteEnd(object, indexed, completions, tally);
      continue;
    }
    tally.active.push_back(object);
    if (const auto index = IndexOf(pod, completions)) tally.running.insert(*index);
    if (ReadySince(pod).has_value()) ++ready;
  }
  CountFailuresInARow(pods, tally);

  if (indexed) {
    tally.status.completed_indexes = ToText(tally.completed);
    tally.status.succeeded = Sum(tally.completed.size(), 0);
  }
  tally.status.ready = ready;
  tally.status.terminating = tally.leaving;
  tally.succeeded = Sum(tally.status.succeeded, std::ssize(notes.succeeded));
  tally.failed = Sum(tally.status.failed, std::ssize(notes.failed));
  return tally;
}

std::optional<JobEnd> EndOf(const api::Job& job, const JobTally& tally, base::Time now) {
  // What was decided stays so: its pods are being deleted already.
  if (const auto* decided = FindTrue(job.status, kFailureTarget)) {
    return JobEnd{false, decided->reason, decided->message};
  }
  if (const auto* decided = FindTrue(job.status, kSuccessCriteriaMet)) {
    return JobEnd{true, decided->reason, decided->message};
  }
  const std::int32_t limit = job.spec.backoff_limit.value_or(kBackoffLimit);
  const bool restarts_count =
      job.spec.template_.spec.restart_policy == api::kRestartPolicyOnFailure;
  const std::int32_t restarts = restarts_count ? RestartsOf(tally.active) : 0;
  if (tally.failed > limit || (restarts > 0 && restarts >= limit)) {
    return JobEnd{false, "BackoffLimitExceeded", "Job has reached the specified backoff limit"};
  }
  const bool suspended = job.spec.suspend.value_or(false);
  if (job.spec.active_deadline_seconds.has_value() && job.status.start_time.has_value() &&
      !suspended &&
      now - *job.status.start_time >= base::BoundedSeconds(*job.spec.active_deadline_seconds)) {
    return JobEnd{false, "DeadlineExceeded", "Job was active longer than specified deadline"};
  }
  const bool reached = job.spec.completions.has_value()
                           ? tally.succeeded >= *job.spec.completions
                           : tally.succeeded > 0 && tally.active.empty();
  if (!reached) return std::nullopt;
  return JobEnd{true, "CompletionsReached", "Reached expected number of succeeded pods"};
}

}  // namespace dray::controllers
