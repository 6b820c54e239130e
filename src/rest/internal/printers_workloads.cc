// SPDX-License-Identifier: Apache-2.0
#include "api/job.h"
#include "api/label_selector.h"
#include "api/pod.h"
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
