// SPDX-License-Identifier: Apache-2.0
//
// CronJobs: jobs at certain times.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/cron_job.h"
#include "api/cron_schedule.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/children.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// How local time goes in a zone, by its name. Nothing: there is no such zone. Reading what the
// machine knows of zones is not for who decides.
using TimeZones = std::function<std::optional<api::UtcOffset>(std::string_view)>;

// Knows UTC, which also is the zone of those who name none.
TimeZones UtcOnly();

// Which of the times that have gone by since `last` is to be made up for: the last one. More than a
// hundred are told: then the clock is wrong, or somebody was away for long.
struct MissedRuns {
  std::optional<base::Time> due;
  bool many = false;
  std::optional<base::Time> next;  // after now
};
MissedRuns MissedSince(const api::CronSchedule& schedule, const api::UtcOffset& offset,
                       base::Time last, base::Time now);

// The job of a time that was due. The same time always gives the same name, so that no time has two.
api::Job JobOfCron(const api::Object& cron, base::Time due);

// One thread.
class CronJobController final : public Reconciler {
 public:
  // What the source names and the clock outlive it.
  CronJobController(const Source& source, const base::Clock& clock, TimeZones zones);

  std::string_view name() const override { return "cronjob-controller"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
  // When it was, if it was; nothing: the job is to wait.
  Status Run(const api::Object& cron, base::Time due, const std::vector<api::Object>& jobs);
  Status RemoveHistory(const api::Object& cron, const std::vector<api::Object>& jobs);
  Status WriteStatus(const api::Object& cron, std::optional<base::Time> scheduled);

  TimeZones zones_;
  Children jobs_;
};

}  // namespace dray::controllers
