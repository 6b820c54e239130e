// SPDX-License-Identifier: Apache-2.0
//
// How far a job is, from its status and its pods.
//
// A pod's end must be counted once, even if the controller is stopped in between or the pod is
// deleted. So pods have a finalizer; their end is first noted in the status by uid, then the
// finalizer goes, then the note becomes a number. With indexes the note is the index itself.
//
// Spec: KEP-2307 (job tracking without lingering pods), KEP-2214 (indexed jobs).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/kinds.h"
#include "base/time.h"
#include "controllers/job_indexes.h"
#include "controllers/view.h"

namespace dray::controllers {

inline constexpr std::string_view kJobFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kSuccessCriteriaMet = "SuccessCriteriaMet";
inline constexpr std::string_view kFailureTarget = "FailureTarget";

bool HasJobFinalizer(const api::ObjectMeta& pod);
bool IsIndexed(const api::JobSpec& spec);
// The condition with status True, or null.
const api::JobCondition* FindTrue(const api::JobStatus& status, std::string_view type);

struct JobTally {
  api::JobStatus status;            // the job's, with all ends noted that can be seen
  std::vector<api::Object> active;  // pods that run or will
  std::vector<api::Object> noted;   // pods whose end the status has: the finalizer can go
  std::int32_t succeeded = 0;       // counted and noted ones
  std::int32_t failed = 0;
  std::int32_t leaving = 0;  // deleted, not ended
  JobIndexes completed;
  JobIndexes running;  // of active pods
  // Failures in a row since the last success, and when the last one was.
  std::int32_t failures_in_a_row = 0;
  base::Time last_failure;
};

// `pods`: those that the job controls. `view` knows which were just deleted.
JobTally TallyOf(const api::Job& job, const std::vector<api::Object>& pods, const View& view);

// Why a job ends, if it does.
struct JobEnd {
  bool success = false;
  std::string reason;
  std::string message;
};
std::optional<JobEnd> EndOf(const api::Job& job, const JobTally& tally, base::Time now);

}  // namespace dray::controllers
