// SPDX-License-Identifier: Apache-2.0
//
// batch/v1 Job. The policies on failures and on success are carried as they are: a controller that
// does not know them must refuse such a job, not run it as if they were absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/values.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kJobComplete = "Complete";
inline constexpr std::string_view kJobFailed = "Failed";
inline constexpr std::string_view kJobSuspended = "Suspended";
inline constexpr std::string_view kCompletionModeNonIndexed = "NonIndexed";
inline constexpr std::string_view kCompletionModeIndexed = "Indexed";

struct JobCondition {
  std::string type;
  std::string status;
  std::optional<base::Time> last_probe_time;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const JobCondition&, const JobCondition&) = default;
};
const StructInfo& InfoOf(const JobCondition*);

// Pods whose finalizer is still there although their end was already noted: uids.
struct UncountedTerminatedPods {
  std::vector<std::string> succeeded;
  std::vector<std::string> failed;
  UnknownFields unknown;
  friend bool operator==(const UncountedTerminatedPods&, const UncountedTerminatedPods&) = default;
};
const StructInfo& InfoOf(const UncountedTerminatedPods*);

struct JobSpec {
  std::optional<std::int32_t> parallelism;
  std::optional<std::int32_t> completions;
  std::optional<std::int64_t> active_deadline_seconds;
  Box<RawJson> pod_failure_policy;
  Box<RawJson> success_policy;
  std::optional<std::int32_t> backoff_limit;
  std::optional<std::int32_t> backoff_limit_per_index;
  std::optional<std::int32_t> max_failed_indexes;
  Box<LabelSelector> selector;
  std::optional<bool> manual_selector;
  PodTemplateSpec template_;
  std::optional<std::int32_t> ttl_seconds_after_finished;
  std::optional<std::string> completion_mode;
  std::optional<bool> suspend;
  std::optional<std::string> pod_replacement_policy;
  std::optional<std::string> managed_by;  // set to another name: not our controller's
  Box<RawJson> scheduling;
  UnknownFields unknown;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};
const StructInfo& InfoOf(const JobSpec*);

struct JobStatus {
  std::vector<JobCondition> conditions;
  std::optional<base::Time> start_time;
  std::optional<base::Time> completion_time;
  std::int32_t active = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::optional<std::int32_t> terminating;
  std::string completed_indexes;  // such as 1,3-5,7
  std::optional<std::string> failed_indexes;
  Box<UncountedTerminatedPods> uncounted_terminated_pods;
  std::optional<std::int32_t> ready;
  UnknownFields unknown;
  friend bool operator==(const JobStatus&, const JobStatus&) = default;
};
const StructInfo& InfoOf(const JobStatus*);

struct Job {
  ObjectMeta metadata;
  JobSpec spec;
  JobStatus status;
  UnknownFields unknown;
  friend bool operator==(const Job&, const Job&) = default;
};
const StructInfo& InfoOf(const Job*);

}  // namespace dray::api
