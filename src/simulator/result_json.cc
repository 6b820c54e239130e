// SPDX-License-Identifier: Apache-2.0
//
// A result for machines, by field tables as the API's objects have them. Names are stable; times
// are in seconds, shares from 0 to 1.
#include <chrono>
#include <string>
#include <vector>

#include "api/field_table.h"
#include "api/json.h"
#include "simulator/result.h"

namespace dray::simulator {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

namespace {

constexpr api::FieldOptions kAlways{.presence = Presence::kAlways};

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// The same values in types that field tables know.
struct JsonTimes {
  std::int64_t count = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
};
struct JsonPods {
  std::int64_t warm_up = 0;
  std::int64_t created = 0;
  std::int64_t placed = 0;
  std::int64_t departed = 0;
  std::int64_t lost = 0;
  std::int64_t preempted = 0;
  std::int64_t running = 0;
  std::int64_t refused = 0;
  std::int64_t pending = 0;
};
struct JsonMeasured {
  JsonTimes decisions;
  double scheduler_seconds = 0;
  double controller_seconds = 0;
  double attempts_per_second = 0;
};
struct JsonClass {
  std::string name;
  std::int64_t typical_count = 0;
  std::int64_t devices = 0;
  std::int64_t blocked = 0;
  double used = 0;
  double free = 0;
  double utilisation = 0;
  double mean_utilisation = 0;
  double peak_utilisation = 0;
  double fragmentation = 0;
  double mean_fragmentation = 0;
  std::int64_t waiting_count = 0;
  double waiting_fragmentation = 0;
};
struct JsonWorkload {
  std::string name;
  std::int64_t created = 0;
  std::int64_t placed = 0;
  std::int64_t waiting = 0;
  JsonTimes times;
  // The same under the names that pages know.
  std::int64_t asked = 0;
  std::int64_t still_waiting = 0;
  double wait_p50 = 0;
  double wait_p99 = 0;
};
struct JsonGroup {
  std::string name;
  std::int64_t nodes = 0;
  std::int64_t placed = 0;
};
struct JsonReason {
  std::string plugin;
  std::string code;
  std::string text;
  std::int64_t attempts = 0;
  std::int64_t pods = 0;
};
struct JsonSample {
  double seconds = 0;
  std::int64_t waiting = 0;
  std::int64_t running = 0;
  std::vector<double> utilisation;
  std::vector<double> fragmentation;
};
struct JsonResult {
  std::string title;
  std::int64_t seed = 0;
  std::string policy;
  std::int64_t nodes = 0;
  std::int64_t devices = 0;
  double simulated_seconds = 0;
  JsonPods pods;
  std::int64_t attempts = 0;
  std::int64_t errors = 0;
  std::int64_t failed_writes = 0;
  std::int64_t device_changes = 0;
  std::int64_t node_failures = 0;
  std::int64_t node_evaluations = 0;
  std::int64_t allocator_steps = 0;
  JsonTimes waiting;
  std::int64_t still_waiting = 0;
  JsonMeasured measured;
  std::vector<JsonClass> classes;
  std::vector<JsonWorkload> workloads;
  std::vector<JsonGroup> groups;
  std::vector<JsonReason> reasons;
  std::vector<JsonSample> samples;
};

const StructInfo& InfoOf(const JsonTimes*) {
  using T = JsonTimes;
  static const StructInfo info = Struct<T>("Times", {
                                                        Field<&T::count>("count", kAlways),
                                                        Field<&T::p50>("p50", kAlways),
                                                        Field<&T::p90>("p90", kAlways),
                                                        Field<&T::p99>("p99", kAlways),
                                                        Field<&T::max>("max", kAlways),
                                                        Field<&T::mean>("mean", kAlways),
                                                    });
  return info;
}
const StructInfo& InfoOf(const JsonPods*) {
  using T = JsonPods;
  static const StructInfo info = Struct<T>("Pods", {
                                                       Field<&T::warm_up>("warmUp", kAlways),
                                                       Field<&T::created>("created", kAlways),
                                                       Field<&T::placed>("placed", kAlways),
                                                       Field<&T::departed>("departed", kAlways),
                                                       Field<&T::lost>("lost", kAlways),
                                                       Field<&T::preempted>("preempted", kAlways),
                                                       Field<&T::running>("running", kAlways),
                                                       Field<&T::refused>("refused", kAlways),
                                                       Field<&T::pending>("pending", kAlways),
                                                   });
  return info;
}
const StructInfo& InfoOf(const JsonMeasured*) {
  using T = JsonMeasured;
  static const StructInfo info =
      Struct<T>("Measured", {
                                Field<&T::decisions>("decisions", kAlways),
                                Field<&T::scheduler_seconds>("schedulerSeconds", kAlways),
                                Field<&T::controller_seconds>("controllerSeconds", kAlways),
                                Field<&T::attempts_per_second>("attemptsPerSecond", kAlways),
                            });
  return info;
}
const StructInfo& InfoOf(const JsonClass*) {
  using T = JsonClass;
  static const StructInfo info =
      Struct<T>("Class", {
                             Field<&T::name>("name", kAlways),
                             Field<&T::typical_count>("typicalCount", kAlways),
                             Field<&T::devices>("devices", kAlways),
                             Field<&T::blocked>("blocked", kAlways),
                             Field<&T::used>("used", kAlways),
                             Field<&T::free>("free", kAlways),
                             Field<&T::utilisation>("utilisation", kAlways),
                             Field<&T::mean_utilisation>("meanUtilisation", kAlways),
                             Field<&T::peak_utilisation>("peakUtilisation", kAlways),
                             Field<&T::fragmentation>("fragmentation", kAlways),
                             Field<&T::mean_fragmentation>("meanFragmentation", kAlways),
                             Field<&T::waiting_count>("waitingCount", kAlways),
                             Field<&T::waiting_fragmentation>("waitingFragmentation", kAlways),
                         });
  return info;
}
const StructInfo& InfoOf(const JsonWorkload*) {
  using T = JsonWorkload;
  static const StructInfo info =
      Struct<T>("Workload", {
                                Field<&T::name>("name", kAlways),
                                Field<&T::created>("created", kAlways),
                                Field<&T::placed>("placed", kAlways),
                                Field<&T::waiting>("waiting", kAlways),
                                Field<&T::times>("times", kAlways),
                                Field<&T::asked>("asked", kAlways),
                                Field<&T::still_waiting>("stillWaiting", kAlways),
                                Field<&T::wait_p50>("waitP50", kAlways),
                                Field<&T::wait_p99>("waitP99", kAlways),
                            });
  return info;
}
const StructInfo& InfoOf(const JsonGroup*) {
  using T = JsonGroup;
  static const StructInfo info = Struct<T>("Group", {
                                                        Field<&T::name>("name", kAlways),
                                                        Field<&T::nodes>("nodes", kAlways),
                                                        Field<&T::placed>("placed", kAlways),
                                                    });
  return info;
}
const StructInfo& InfoOf(const JsonReason*) {
  using T = JsonReason;
  static const StructInfo info = Struct<T>("Reason", {
                                                         Field<&T::plugin>("plugin", kAlways),
                                                         Field<&T::code>("code", kAlways),
                                                         Field<&T::text>("text", kAlways),
                                                         Field<&T::attempts>("attempts", kAlways),
                                                         Field<&T::pods>("pods", kAlways),
                                                     });
  return info;
}
const StructInfo& InfoOf(const JsonSample*) {
  using T = JsonSample;
  static const StructInfo info =
      Struct<T>("Sample", {
                              Field<&T::seconds>("seconds", kAlways),
                              Field<&T::waiting>("waiting", kAlways),
                              Field<&T::running>("running", kAlways),
                              Field<&T::utilisation>("utilisation", kAlways),
                              Field<&T::fragmentation>("fragmentation", kAlways),
                          });
  return info;
}
const StructInfo& InfoOf(const JsonResult*) {
  using T = JsonResult;
  static const StructInfo info =
      Struct<T>("Result", {
                              Field<&T::title>("title", kAlways),
                              Field<&T::seed>("seed", kAlways),
                              Field<&T::policy>("policy", kAlways),
                              Field<&T::nodes>("nodes", kAlways),
                              Field<&T::devices>("devices", kAlways),
                              Field<&T::simulated_seconds>("simulatedSeconds", kAlways),
                              Field<&T::pods>("pods", kAlways),
                              Field<&T::attempts>("attempts", kAlways),
                              Field<&T::errors>("errors", kAlways),
                              Field<&T::failed_writes>("failedWrites", kAlways),
                              Field<&T::device_changes>("deviceChanges", kAlways),
                              Field<&T::node_failures>("nodeFailures", kAlways),
                              Field<&T::node_evaluations>("nodeEvaluations", kAlways),
                              Field<&T::allocator_steps>("allocatorSteps", kAlways),
                              Field<&T::waiting>("waiting", kAlways),
                              Field<&T::still_waiting>("stillWaiting", kAlways),
                              Field<&T::measured>("measured", kAlways),
                              Field<&T::classes>("classes", kAlways),
                              Field<&T::workloads>("workloads", kAlways),
                              Field<&T::groups>("groups", kAlways),
                              Field<&T::reasons>("reasons", kAlways),
                              Field<&T::samples>("samples", kAlways),
                          });
  return info;
}

JsonTimes Json(const Percentiles& times) {
  return {times.count,        Seconds(times.p50), Seconds(times.p90),
          Seconds(times.p99), Seconds(times.max), Seconds(times.mean)};
}

double Parts(std::int64_t parts) {
  return static_cast<double>(parts) / static_cast<double>(kWholeDevice);
}

JsonClass Json(const ClassResult& row) {
  return {.name = row.name,
          .typical_count = row.typical_count,
          .devices = row.end.devices,
          .blocked = row.end.blocked,
          .used = Parts(row.end.used),
          .free = Parts(row.end.free),
          .utilisation = row.end.Utilisation(),
          .mean_utilisation = row.mean_utilisation,
          .peak_utilisation = row.peak_utilisation,
          .fragmentation = row.end.Fragmentation(),
          .mean_fragmentation = row.mean_fragmentation,
          .waiting_count = row.waiting_count,
          .waiting_fragmentation = row.waiting_fragmentation};
}

JsonSample Json(const Sample& sample) {
  JsonSample made{
      .seconds = Seconds(sample.at), .waiting = sample.waiting, .running = sample.running};
  for (const ClassUse& use : sample.classes) {
    made.utilisation.push_back(use.Utilisation());
    made.fragmentation.push_back(use.Fragmentation());
  }
  return made;
}

}  // namespace

std::string ToJson(const Result& result) {
  const PodCounts& pods = result.pods;
  JsonResult made{.title = result.title,
                  .seed = static_cast<std::int64_t>(result.seed),
                  .policy = result.policy,
                  .nodes = result.nodes,
                  .devices = result.devices,
                  .simulated_seconds = Seconds(result.simulated),
                  .pods = {pods.warm_up, pods.created, pods.placed, pods.departed, pods.lost,
                           pods.preempted, pods.running, pods.refused, pods.pending},
                  .attempts = result.attempts,
                  .errors = result.errors,
                  .failed_writes = result.failed_writes,
                  .device_changes = result.device_changes,
                  .node_failures = result.node_failures,
                  .node_evaluations = static_cast<std::int64_t>(result.node_evaluations),
                  .allocator_steps = static_cast<std::int64_t>(result.allocator_steps),
                  .waiting = Json(result.waiting),
                  .still_waiting = result.still_waiting};
  made.measured = {Json(result.decisions), Seconds(result.scheduler_time),
                   Seconds(result.controller_time), result.Throughput()};
  for (const ClassResult& row : result.classes) made.classes.push_back(Json(row));
  for (const WorkloadResult& row : result.workloads) {
    made.workloads.push_back({.name = row.name,
                              .created = row.created,
                              .placed = row.placed,
                              .waiting = row.waiting,
                              .times = Json(row.times),
                              .asked = row.created,
                              .still_waiting = row.waiting,
                              .wait_p50 = Seconds(row.times.p50),
                              .wait_p99 = Seconds(row.times.p99)});
  }
  for (const GroupResult& row : result.groups) {
    made.groups.push_back({row.name, row.nodes, row.placed});
  }
  for (const ReasonCount& row : result.reasons) {
    made.reasons.push_back({row.plugin, row.code, row.text, row.attempts, row.pods});
  }
  for (const Sample& sample : result.samples) made.samples.push_back(Json(sample));
  return api::IndentJson(api::EncodeJson(made), 2) + "\n";
}

}  // namespace dray::simulator
