// SPDX-License-Identifier: Apache-2.0
#include "controllers/cron_job_controller.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "api/event.h"
#include "api/job.h"
#include "base/seconds.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr int kManyMissed = 100;

std::array<const api::KindInfo*, 2> CronKinds() {
  return {&KindOf<api::CronJob>(), &KindOf<api::Job>()};
}

// How it ended: Complete, Failed, or nothing.
std::string_view EndOf(const api::Job& job) {
  for (const api::JobCondition& condition : job.status.conditions) {
    if (condition.status != "True") continue;
    if (condition.type == api::kJobComplete) return api::kJobComplete;
    if (condition.type == api::kJobFailed) return api::kJobFailed;
  }
  return {};
}

// A name that the same time always gives, so that no time has two jobs.
std::string JobName(const api::CronJob& cron, base::Time due) {
  return fmt::format("{}-{}", cron.metadata.name, due.seconds() / 60);
}

api::ObjectReference ReferenceTo(const api::Object& job) {
  return {.kind = "Job",
          .namespace_ = job.metadata().namespace_,
          .name = job.metadata().name,
          .uid = job.metadata().uid,
          .api_version = "batch/v1",
          .resource_version = job.metadata().resource_version};
}

}  // namespace

api::Job JobOfCron(const api::Object& cron, base::Time due) {
  const api::CronJob& owner = *cron.As<api::CronJob>();
  const api::JobTemplateSpec& made_from = owner.spec.job_template;
  api::Job job;
  job.metadata.name = JobName(owner, due);
  job.metadata.namespace_ = owner.metadata.namespace_;
  job.metadata.labels = made_from.metadata.labels;
  job.metadata.annotations = made_from.metadata.annotations;
  job.metadata.annotations[api::kCronJobScheduledAnnotation] = due.ToRfc3339();
  job.metadata.owner_references = {ControllerReference(cron)};
  job.spec = made_from.spec;
  return job;
}

TimeZones UtcOnly() {
  return [](std::string_view zone) -> std::optional<api::UtcOffset> {
    if (!zone.empty() && zone != "UTC" && zone != "Etc/UTC") return std::nullopt;
    return [](base::Time) { return std::chrono::seconds(0); };
  };
}

MissedRuns MissedSince(const api::CronSchedule& schedule, const api::UtcOffset& offset,
                       base::Time last, base::Time now) {
  MissedRuns runs;
  int missed = 0;
  base::Time at = last;
  for (;;) {
    const auto next = schedule.Next(at, offset);
    if (!next) return runs;
    if (*next > now) {
      runs.next = next;
      return runs;
    }
    runs.due = next;
    at = *next;
    if (++missed <= kManyMissed) continue;
    // Too far back to walk: the last minute that counts is looked for from the other end.
    runs.many = true;
    for (std::int64_t back = 60; back < now.seconds() - last.seconds(); back *= 2) {
      const base::Time from = base::Time::FromUnix(now.seconds() - back);
      const auto first = schedule.Next(from, offset);
      if (!first || *first > now) continue;
      for (auto step = first; step && *step <= now; step = schedule.Next(*step, offset)) {
        runs.due = step;
      }
      break;
    }
    runs.next = schedule.Next(now, offset);
    return runs;
  }
}

CronJobController::CronJobController(const Source& source, const base::Clock& clock,
                                     TimeZones zones)
    : Reconciler(source, clock, CronKinds()), zones_(std::move(zones)) {}

void CronJobController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::CronJob>() != nullptr) {
    if (after != nullptr) queue().Add(ObjectKey::Of(*after));
    return;
  }
  jobs_.OnChange(before, after);
  for (const api::Object* job : {before, after}) {
    if (job == nullptr) continue;
    if (const auto cron = ControllerKey<api::CronJob>(job->metadata())) queue().Add(*cron);
  }
}

Status CronJobController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  const api::Object cron = *found;
  const api::CronJobSpec& spec = cron.As<api::CronJob>()->spec;
  DRAY_RETURN_IF_ERROR(RemoveHistory(cron, jobs_.Of(cron)));
  DRAY_RETURN_IF_ERROR(WriteStatus(cron, std::nullopt));
  if (spec.suspend.value_or(false)) return {};
  const auto schedule = api::CronSchedule::Parse(spec.schedule);
  const auto offset = zones_ ? zones_(spec.time_zone.value_or("")) : std::nullopt;
  if (!schedule.ok() || !offset) {
    Tell(view(), cron,
         {.component = name(),
          .warning = true,
          .reason = schedule.ok() ? "UnknownTimeZone" : "UnparseableSchedule",
          .message = schedule.ok() ? fmt::format("there is no time zone \"{}\" on this server",
                                                 spec.time_zone.value_or(""))
                                   : std::string(base::Message(schedule.status()))});
    return {};  // a change of the object may help, time does not
  }
  const base::Time now = clock().Now();
  const api::CronJob& stored = *view().Find(key)->As<api::CronJob>();
  base::Time last = stored.metadata.creation_timestamp.value_or(now);
  if (stored.status.last_schedule_time) last = *stored.status.last_schedule_time;
  if (spec.starting_deadline_seconds) {
    last = std::max(last, now - base::BoundedSeconds(*spec.starting_deadline_seconds));
  }
  const MissedRuns runs = MissedSince(*schedule, *offset, last, now);
  if (runs.next) queue().AddAfter(key, *runs.next - now);
  if (runs.many) {
    Tell(view(), cron,
         {.component = name(),
          .warning = true,
          .reason = "TooManyMissedTimes",
          .message = "more than 100 start times were missed; set or decrease "
                     ".spec.startingDeadlineSeconds or check clock skew"});
  }
  if (!runs.due) return {};
  const api::Object current = *view().Find(key);
  return Run(current, *runs.due, jobs_.Of(cron));
}

Status CronJobController::Run(const api::Object& cron, base::Time due,
                              const std::vector<api::Object>& jobs) {
  const api::CronJobSpec& spec = cron.As<api::CronJob>()->spec;
  std::vector<api::Object> active;
  for (const api::Object& job : jobs) {
    if (EndOf(*job.As<api::Job>()).empty() && !view().Leaving(job)) active.push_back(job);
  }
  if (!active.empty() && spec.concurrency_policy == api::kConcurrencyForbid) {
    Tell(view(), cron,
         {.component = name(),
          .reason = "JobAlreadyActive",
          .message = "Not starting job because prior execution is running and concurrency policy "
                     "is Forbid"});
    return {};  // the end of that job brings it here again
  }
  if (spec.concurrency_policy == api::kConcurrencyReplace) {
    for (const api::Object& job : active) {
      DRAY_RETURN_IF_ERROR(view().Delete(job));
      Tell(view(), cron,
           {.component = name(),
            .reason = "SuccessfulDelete",
            .message = fmt::format("Deleted job {}", job.metadata().name)});
    }
  }
  const auto made = view().Create(api::Object::Of(JobOfCron(cron, due)));
  if (!made.ok() && made.status().code() != StatusCode::kAlreadyExists) {
    Tell(view(), cron,
         {.component = name(),
          .warning = true,
          .reason = "FailedCreate",
          .message = fmt::format("Error creating job: {}", base::Message(made.status()))});
    return made.status();
  }
  if (made.ok()) {
    Tell(view(), cron,
         {.component = name(),
          .reason = "SuccessfulCreate",
          .message = fmt::format("Created job {}", made->metadata().name)});
  }
  return WriteStatus(cron, due);
}

Status CronJobController::RemoveHistory(const api::Object& cron,
                                        const std::vector<api::Object>& jobs) {
  const api::CronJobSpec& spec = cron.As<api::CronJob>()->spec;
  const auto trim = [&](std::string_view end, std::optional<std::int32_t> keep) -> Status {
    if (!keep) return {};
    std::vector<api::Object> ended;
    for (const api::Object& job : jobs) {
      if (EndOf(*job.As<api::Job>()) == end && !view().Leaving(job)) ended.push_back(job);
    }
    // The oldest first.
    std::ranges::stable_sort(ended, {}, [](const api::Object& job) {
      return job.As<api::Job>()->status.start_time.value_or(base::Time()).seconds();
    });
    const std::size_t most = static_cast<std::size_t>(std::max(*keep, 0));
    for (std::size_t i = 0; i + most < ended.size(); ++i) {
      DRAY_RETURN_IF_ERROR(view().Delete(ended[i]));
    }
    return {};
  };
  DRAY_RETURN_IF_ERROR(trim(api::kJobComplete, spec.successful_jobs_history_limit));
  return trim(api::kJobFailed, spec.failed_jobs_history_limit);
}

Status CronJobController::WriteStatus(const api::Object& cron,
                                      std::optional<base::Time> scheduled) {
  std::vector<api::ObjectReference> active;
  std::optional<base::Time> succeeded;
  for (const api::Object& job : jobs_.Of(cron)) {
    const std::string_view end = EndOf(*job.As<api::Job>());
    if (end.empty() && !view().Leaving(job)) active.push_back(ReferenceTo(job));
    const auto& at = job.As<api::Job>()->status.completion_time;
    if (end == api::kJobComplete && at) succeeded = succeeded ? std::max(*succeeded, *at) : *at;
  }
  const Status written = view().EditStatus(cron, [&](api::Object& changed) {
    const api::CronJobStatus before = changed.As<api::CronJob>()->status;
    api::CronJobStatus status = before;
    // Which jobs, not which version of them: that changes all the time.
    const auto uids = [](const std::vector<api::ObjectReference>& list) {
      std::vector<std::string> all;
      for (const api::ObjectReference& row : list) all.push_back(row.uid);
      return all;
    };
    if (uids(status.active) != uids(active)) status.active = active;
    if (scheduled) status.last_schedule_time = scheduled;
    if (succeeded && (!status.last_successful_time || *status.last_successful_time < *succeeded)) {
      status.last_successful_time = succeeded;
    }
    if (status == before) return false;
    changed.Mutable<api::CronJob>()->status = std::move(status);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers
