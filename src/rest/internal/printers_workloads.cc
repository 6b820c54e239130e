// SPDX-License-Identifier: Apache-2.0
#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/disruption_budget.h"
#include "api/job.h"
#include "api/label_selector.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"

namespace dray::rest::internal {
namespace {

constexpr Column kContainers = {
    .name = "Containers", .description = "The containers of its pods.", .priority = 1};
constexpr Column kImages = {.name = "Images", .description = "Their images.", .priority = 1};
constexpr Column kSelector = {
    .name = "Selector", .description = "Which pods are its own.", .priority = 1};

std::string Names(const api::PodTemplateSpec& pods) {
  std::vector<std::string> names;
  for (const api::Container& container : pods.spec.containers) names.push_back(container.name);
  return Joined(names);
}

std::string Images(const api::PodTemplateSpec& pods) {
  std::vector<std::string> images;
  for (const api::Container& container : pods.spec.containers) images.push_back(container.image);
  return Joined(images);
}

std::string Selector(const api::Box<api::LabelSelector>& selector) {
  if (!selector.has_value()) return "<none>";
  const auto matcher = api::LabelMatcher::From(*selector);
  return matcher.ok() ? OrNone(matcher->ToString()) : "<invalid>";
}

std::string JobState(const api::Job& job) {
  for (const api::JobCondition& condition : job.status.conditions) {
    if (condition.status != "True") continue;
    if (condition.type == "Complete" || condition.type == "Failed" ||
        condition.type == "Suspended" || condition.type == "FailureTarget") {
      return condition.type;
    }
  }
  return job.metadata.deletion_timestamp ? "Terminating" : "Running";
}

std::string GroupState(const api::PodGroup& group) {
  std::string state = "Pending";
  for (const api::Condition& condition : group.status.conditions) {
    if (condition.type == api::kGroupScheduledCondition) {
      state = condition.status == "True" ? api::kGroupScheduled : api::kGroupUnschedulable;
    }
  }
  for (const api::Condition& condition : group.status.conditions) {
    if (condition.type == "DisruptionTarget" && condition.status == "True")
      state = condition.reason;
  }
  return state;
}

std::string Completions(const api::Job& job) {
  if (job.spec.completions) {
    return fmt::format("{}/{}", job.status.succeeded, *job.spec.completions);
  }
  const std::int32_t parallel = job.spec.parallelism.value_or(1);
  return parallel > 1 ? fmt::format("{}/1 of {}", job.status.succeeded, parallel)
                      : fmt::format("{}/1", job.status.succeeded);
}

std::string JobDuration(const api::Job& job, base::Time now) {
  if (!job.status.start_time) return "";
  return Since(job.status.start_time, job.status.completion_time.value_or(now));
}

}  // namespace

Printer ReplicaSetPrinter() {
  return {{kNameColumn,
           {.name = "Desired", .type = "integer", .description = "Pods that are wanted."},
           {.name = "Current", .type = "integer", .description = "Pods that there are."},
           {.name = "Ready", .type = "integer", .description = "Pods that are ready."},
           kAgeColumn,
           kContainers,
           kImages,
           kSelector},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::ReplicaSet& set = *object.As<api::ReplicaSet>();
            return {set.metadata.name,
                    static_cast<std::int64_t>(set.spec.replicas.value_or(1)),
                    static_cast<std::int64_t>(set.status.replicas),
                    static_cast<std::int64_t>(set.status.ready_replicas),
                    AgeOf(object, context),
                    Names(set.spec.template_),
                    Images(set.spec.template_),
                    Selector(set.spec.selector)};
          }};
}

Printer DeploymentPrinter() {
  return {{kNameColumn,
           {.name = "Ready", .description = "Pods that are ready, of those wanted."},
           {.name = "Up-to-date", .type = "integer", .description = "Pods of the newest template."},
           {.name = "Available", .type = "integer", .description = "Pods that can be counted on."},
           kAgeColumn,
           kContainers,
           kImages,
           kSelector},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::Deployment& row = *object.As<api::Deployment>();
            return {row.metadata.name,
                    fmt::format("{}/{}", row.status.ready_replicas, row.spec.replicas.value_or(1)),
                    static_cast<std::int64_t>(row.status.updated_replicas),
                    static_cast<std::int64_t>(row.status.available_replicas),
                    AgeOf(object, context),
                    Names(row.spec.template_),
                    Images(row.spec.template_),
                    Selector(row.spec.selector)};
          }};
}

Printer DaemonSetPrinter() {
  return {{kNameColumn,
           {.name = "Desired", .type = "integer", .description = "Nodes that should have a pod."},
           {.name = "Current", .type = "integer", .description = "Those that have one."},
           {.name = "Ready", .type = "integer", .description = "Nodes whose pod is ready."},
           {.name = "Up-to-date", .type = "integer", .description = "Pods of the newest template."},
           {.name = "Available", .type = "integer", .description = "Pods that can be counted on."},
           {.name = "Node Selector", .description = "Labels of the nodes."},
           kAgeColumn,
           kContainers,
           kImages,
           kSelector},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::DaemonSet& set = *object.As<api::DaemonSet>();
            std::vector<std::string> labels;
            for (const auto& [key, value] : set.spec.template_.spec.node_selector) {
              labels.push_back(fmt::format("{}={}", std::string_view(key), value));
            }
            return {set.metadata.name,
                    static_cast<std::int64_t>(set.status.desired_number_scheduled),
                    static_cast<std::int64_t>(set.status.current_number_scheduled),
                    static_cast<std::int64_t>(set.status.number_ready),
                    static_cast<std::int64_t>(set.status.updated_number_scheduled),
                    static_cast<std::int64_t>(set.status.number_available),
                    OrNone(Joined(labels)),
                    AgeOf(object, context),
                    Names(set.spec.template_),
                    Images(set.spec.template_),
                    Selector(set.spec.selector)};
          }};
}

Printer StatefulSetPrinter() {
  return {{kNameColumn,
           {.name = "Ready", .description = "Pods that are ready, of those wanted."},
           kAgeColumn,
           kContainers,
           kImages},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::StatefulSet& set = *object.As<api::StatefulSet>();
            return {set.metadata.name,
                    fmt::format("{}/{}", set.status.ready_replicas, set.spec.replicas.value_or(1)),
                    AgeOf(object, context), Names(set.spec.template_), Images(set.spec.template_)};
          }};
}

Printer ControllerRevisionPrinter() {
  return {{kNameColumn,
           {.name = "Controller", .description = "Whose template it was."},
           {.name = "Revision", .type = "integer", .description = "Which one it was."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::OwnerReference* owner = api::FindController(object.metadata());
            return {object.metadata().name,
                    owner == nullptr ? std::string("<none>")
                                     : fmt::format("{}/{}", owner->kind, owner->name),
                    object.As<api::ControllerRevision>()->revision, AgeOf(object, context)};
          }};
}

Printer CronJobPrinter() {
  return {{kNameColumn,
           {.name = "Schedule", .description = "When jobs are due."},
           {.name = "Timezone", .description = "The zone of the schedule."},
           {.name = "Suspend", .description = "Whether no more jobs are made."},
           {.name = "Active", .type = "integer", .description = "Jobs that run."},
           {.name = "Last Schedule", .description = "How long ago a job was due."},
           kAgeColumn,
           kContainers,
           kImages,
           kSelector},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::CronJob& job = *object.As<api::CronJob>();
            const api::JobSpec& made = job.spec.job_template.spec;
            return {job.metadata.name,
                    job.spec.schedule,
                    job.spec.time_zone.value_or("<none>"),
                    std::string(job.spec.suspend.value_or(false) ? "True" : "False"),
                    static_cast<std::int64_t>(job.status.active.size()),
                    job.status.last_schedule_time
                        ? Since(job.status.last_schedule_time, context.now)
                        : std::string("<none>"),
                    AgeOf(object, context),
                    Names(made.template_),
                    Images(made.template_),
                    Selector(made.selector)};
          }};
}

Printer DisruptionBudgetPrinter() {
  return {{kNameColumn,
           {.name = "Min Available", .description = "How many must stay."},
           {.name = "Max Unavailable", .description = "How many may be missing."},
           {.name = "Allowed Disruptions",
            .type = "integer",
            .description = "How many may be evicted now."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::PodDisruptionBudget& budget = *object.As<api::PodDisruptionBudget>();
            const auto shown = [](const std::optional<api::IntOrString>& amount) -> std::string {
              if (!amount) return "N/A";
              const auto* number = std::get_if<std::int32_t>(&amount->value);
              return number != nullptr ? std::to_string(*number)
                                       : std::get<std::string>(amount->value);
            };
            return {budget.metadata.name, shown(budget.spec.min_available),
                    shown(budget.spec.max_unavailable),
                    static_cast<std::int64_t>(budget.status.disruptions_allowed),
                    AgeOf(object, context)};
          }};
}

Printer PodGroupPrinter() {
  return {{kNameColumn,
           {.name = "Policy",
            .description = "Gang: all pods at once, or none. Basic: each on its own."},
           {.name = "Workload", .description = "What the group was made from."},
           {.name = "Status", .description = "Whether it was scheduled."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::PodGroup& group = *object.As<api::PodGroup>();
            const api::PodGroupSchedulingPolicy& policy = group.spec.scheduling_policy;
            return {group.metadata.name,
                    std::string(policy.gang    ? "Gang"
                                : policy.basic ? "Basic"
                                               : ""),
                    OrNone(group.spec.workload_ref ? group.spec.workload_ref->workload_name : ""),
                    GroupState(group), AgeOf(object, context)};
          }};
}

Printer LimitRangePrinter() {
  return {{kNameColumn, {.name = "Created At", .description = "When it was made."}},
          [](const api::Object& object, const TableContext&) -> std::vector<Cell> {
            const auto& made = object.metadata().creation_timestamp;
            return {object.metadata().name, made ? made->ToRfc3339() : std::string("<unknown>")};
          }};
}

Printer JobPrinter() {
  return {{kNameColumn,
           {.name = "Status", .description = "Whether it runs, or how it ended."},
           {.name = "Completions", .description = "Pods that succeeded, of those wanted."},
           {.name = "Duration", .description = "How long it has taken."},
           kAgeColumn,
           kContainers,
           kImages,
           kSelector},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::Job& job = *object.As<api::Job>();
            return {job.metadata.name,          JobState(job),
                    Completions(job),           JobDuration(job, context.now),
                    AgeOf(object, context),     Names(job.spec.template_),
                    Images(job.spec.template_), Selector(job.spec.selector)};
          }};
}

}  // namespace dray::rest::internal
