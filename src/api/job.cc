// SPDX-License-Identifier: Apache-2.0
#include "api/job.h"

namespace dray::api {

const StructInfo& InfoOf(const JobCondition*) {
  using T = JobCondition;
  static const StructInfo info =
      Struct<T>("JobCondition", {
                                    Field<&T::type>("type", {.presence = Presence::kAlways}),
                                    Field<&T::status>("status", {.presence = Presence::kAlways}),
                                    Field<&T::last_probe_time>("lastProbeTime"),
                                    Field<&T::last_transition_time>("lastTransitionTime"),
                                    Field<&T::reason>("reason"),
                                    Field<&T::message>("message"),
                                });
  return info;
}

const StructInfo& InfoOf(const UncountedTerminatedPods*) {
  using T = UncountedTerminatedPods;
  static const StructInfo info = Struct<T>(
      "UncountedTerminatedPods", {
                                     Field<&T::succeeded>("succeeded", {.list = ListKind::kSet}),
                                     Field<&T::failed>("failed", {.list = ListKind::kSet}),
                                 });
  return info;
}

const StructInfo& InfoOf(const JobSpec*) {
  using T = JobSpec;
  static const StructInfo info =
      Struct<T>("JobSpec", {
                               Field<&T::parallelism>("parallelism"),
                               Field<&T::completions>("completions"),
                               Field<&T::active_deadline_seconds>("activeDeadlineSeconds"),
                               Field<&T::pod_failure_policy>("podFailurePolicy"),
                               Field<&T::success_policy>("successPolicy"),
                               Field<&T::backoff_limit>("backoffLimit"),
                               Field<&T::backoff_limit_per_index>("backoffLimitPerIndex"),
                               Field<&T::max_failed_indexes>("maxFailedIndexes"),
                               Field<&T::selector>("selector"),
                               Field<&T::manual_selector>("manualSelector"),
                               Field<&T::template_>("template", {.presence = Presence::kAlways}),
                               Field<&T::ttl_seconds_after_finished>("ttlSecondsAfterFinished"),
                               Field<&T::completion_mode>("completionMode"),
                               Field<&T::suspend>("suspend"),
                               Field<&T::pod_replacement_policy>("podReplacementPolicy"),
                               Field<&T::managed_by>("managedBy"),
                               Field<&T::scheduling>("scheduling"),
                           });
  return info;
}

const StructInfo& InfoOf(const JobStatus*) {
  using T = JobStatus;
  static const StructInfo info =
      Struct<T>("JobStatus", {
                                 Field<&T::conditions>("conditions", {.patch_key = "type"}),
                                 Field<&T::start_time>("startTime"),
                                 Field<&T::completion_time>("completionTime"),
                                 Field<&T::active>("active"),
                                 Field<&T::succeeded>("succeeded"),
                                 Field<&T::failed>("failed"),
                                 Field<&T::terminating>("terminating"),
                                 Field<&T::completed_indexes>("completedIndexes"),
                                 Field<&T::failed_indexes>("failedIndexes"),
                                 Field<&T::uncounted_terminated_pods>("uncountedTerminatedPods"),
                                 Field<&T::ready>("ready"),
                             });
  return info;
}

const StructInfo& InfoOf(const Job*) {
  using T = Job;
  static const StructInfo info = Struct<T>("Job", {
                                                      Field<&T::metadata>("metadata"),
                                                      Field<&T::spec>("spec"),
                                                      Field<&T::status>("status"),
                                                  });
  return info;
}

}  // namespace dray::api
