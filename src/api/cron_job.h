// SPDX-License-Identifier: Apache-2.0
//
// batch/v1 CronJob: jobs at certain times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/event.h"
#include "api/field_table.h"
#include "api/job.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kConcurrencyAllow = "Allow";
inline constexpr std::string_view kConcurrencyForbid = "Forbid";
inline constexpr std::string_view kConcurrencyReplace = "Replace";
// Of a job: when it was due.
inline constexpr std::string_view kCronJobScheduledAnnotation =
    "batch.kubernetes.io/cronjob-scheduled-timestamp";

// What jobs are made from.
struct JobTemplateSpec {
  ObjectMeta metadata;
  JobSpec spec;
  UnknownFields unknown;
  friend bool operator==(const JobTemplateSpec&, const JobTemplateSpec&) = default;
};
const StructInfo& InfoOf(const JobTemplateSpec*);

// When which jobs are made.
struct CronJobSpec {
  std::string schedule;
  std::optional<std::string> time_zone;
  std::optional<std::int64_t> starting_deadline_seconds;
  std::string concurrency_policy;
  std::optional<bool> suspend;
  JobTemplateSpec job_template;
  std::optional<std::int32_t> successful_jobs_history_limit;
  std::optional<std::int32_t> failed_jobs_history_limit;
  UnknownFields unknown;
  friend bool operator==(const CronJobSpec&, const CronJobSpec&) = default;
};
const StructInfo& InfoOf(const CronJobSpec*);

// What a cron job has done.
struct CronJobStatus {
  std::vector<ObjectReference> active;
  std::optional<base::Time> last_schedule_time;
  std::optional<base::Time> last_successful_time;
  UnknownFields unknown;
  friend bool operator==(const CronJobStatus&, const CronJobStatus&) = default;
};
const StructInfo& InfoOf(const CronJobStatus*);

// Jobs at certain times.
struct CronJob {
  ObjectMeta metadata;
  CronJobSpec spec;
  CronJobStatus status;
  UnknownFields unknown;
  friend bool operator==(const CronJob&, const CronJob&) = default;
};
const StructInfo& InfoOf(const CronJob*);

}  // namespace dray::api
