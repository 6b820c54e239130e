// SPDX-License-Identifier: Apache-2.0
//
// Jobs: pods until enough of them have succeeded, or too many have failed; and their removal some
// time after.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/job.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/children.h"
#include "controllers/job_tally.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class JobController final : public Reconciler {
 public:
  // Both outlive it.
  JobController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "job-controller"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;

  Status Reconcile(const ObjectKey& key) override;
  Status ReconcileJob(const api::Object& job);
  // Of a pod whose job is gone.
  Status ReconcilePod(const api::Object& pod);
  // TTL and leftovers.
  Status AfterEnd(const api::Object& job, const std::vector<api::Object>& pods);

  Status Manage(const api::Object& job, const JobTally& tally);
  Status MakePods(const api::Object& job, const JobTally& tally, std::int32_t count);
  // `counted`: their end counts as a failure; otherwise it is nobody's fault.
  // Of the job's pods; some of them now, the rest once others had their turn.
  Status DeletePods(const api::Object& job, const std::vector<api::Object>& pods,
                    std::int32_t count, bool counted);
  Status LetGo(const api::Object& job, const std::vector<api::Object>& pods);
  Status RemoveFinalizer(const api::Object& pod);
  void WriteConditions(const api::Object& job, const std::optional<JobEnd>& end,
                       const JobTally& tally, api::JobStatus& status);

  Children pods_;
};

}  // namespace dray::controllers
