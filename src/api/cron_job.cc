// SPDX-License-Identifier: Apache-2.0
#include "api/cron_job.h"

namespace dray::api {

const StructInfo& InfoOf(const JobTemplateSpec*) {
  using T = JobTemplateSpec;
  static const StructInfo info =
      Struct<T>("JobTemplateSpec",
                {
                    Field<&T::metadata>(
                        "metadata", {.doc = "Labels and annotations of the jobs.", .proto = {1}}),
                    Field<&T::spec>("spec", {.doc = "Desired state of the jobs.", .proto = {2}}),
                },
                {.doc = "What jobs are made from."});
  return info;
}

const StructInfo& InfoOf(const CronJobSpec*) {
  using T = CronJobSpec;
  static const StructInfo info = Struct<T>(
      "CronJobSpec",
      {
          Field<&T::schedule>("schedule", {.presence = Presence::kAlways,
                                           .doc = "When: minute, hour, day of the month, month and "
                                                  "day of the week, as cron has them.",
                                           .proto = {1}}),
          Field<&T::time_zone>(
              "timeZone",
              {.doc =
                   "The time zone that the schedule is in, by its name. None: that of the server.",
               .proto = {8}}),
          Field<&T::starting_deadline_seconds>("startingDeadlineSeconds",
                                               {.doc = "How late a job may begin.", .proto = {2}}),
          Field<&T::concurrency_policy>(
              "concurrencyPolicy",
              {.doc = "What happens while the last job still runs: Allow, Forbid or Replace.",
               .proto = {3}}),
          Field<&T::suspend>("suspend", {.doc = "Whether no more jobs are made.", .proto = {4}}),
          Field<&T::job_template>("jobTemplate",
                                  {.doc = "What the jobs are made from.", .proto = {5}}),
          Field<&T::successful_jobs_history_limit>(
              "successfulJobsHistoryLimit",
              {.doc = "How many jobs that succeeded are kept.", .proto = {6}}),
          Field<&T::failed_jobs_history_limit>(
              "failedJobsHistoryLimit",
              {.doc = "How many jobs that failed are kept.", .proto = {7}}),
      },
      {.doc = "When which jobs are made."});
  return info;
}

const StructInfo& InfoOf(const CronJobStatus*) {
  using T = CronJobStatus;
  static const StructInfo info = Struct<T>(
      "CronJobStatus",
      {
          Field<&T::active>("active", {.doc = "The jobs that run.", .proto = {1}}),
          Field<&T::last_schedule_time>("lastScheduleTime",
                                        {.doc = "When a job was last due and made.", .proto = {4}}),
          Field<&T::last_successful_time>("lastSuccessfulTime",
                                          {.doc = "When a job last succeeded.", .proto = {5}}),
      },
      {.doc = "What a cron job has done."});
  return info;
}

const StructInfo& InfoOf(const CronJob*) {
  using T = CronJob;
  static const StructInfo info = Struct<T>(
      "CronJob",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the cron job.", .proto = {1}}),
          Field<&T::spec>("spec", {.doc = "When which jobs are made.", .proto = {2}}),
          Field<&T::status>("status", {.doc = "What it has done.", .proto = {3}}),
      },
      {.doc = "Jobs at certain times."});
  return info;
}

}  // namespace dray::api
