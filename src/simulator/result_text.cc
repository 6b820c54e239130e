// SPDX-License-Identifier: Apache-2.0
//
// A result for people: tables as kubectl prints them.
#include <algorithm>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "simulator/internal/units.h"
#include "simulator/result.h"

namespace dray::simulator {
namespace {

using internal::Percent;
using internal::ShortTime;
using Row = std::vector<std::string>;

// In characters: a µ is one, and two bytes.
std::size_t WidthOf(std::string_view text) { return base::CodePoints(text); }

std::string Table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], WidthOf(row[i]));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - WidthOf(row[i]) + 3, ' ');
    }
    text += line + row.back() + '\n';
  }
  return text;
}

std::string Number(std::int64_t value) { return std::to_string(value); }

std::string PodTable(const PodCounts& pods) {
  Row head = {"CREATED", "PLACED", "REFUSED", "PENDING", "RUNNING", "DEPARTED"};
  Row row = {Number(pods.created), Number(pods.placed),  Number(pods.refused),
             Number(pods.pending), Number(pods.running), Number(pods.departed)};
  const auto add = [&](std::string_view name, std::int64_t value) {
    if (value == 0) return;
    head.emplace_back(name);
    row.push_back(Number(value));
  };
  add("WARM-UP", pods.warm_up);
  add("LOST", pods.lost);
  add("PREEMPTED", pods.preempted);
  return Table({head, row});
}

std::string TimeTable(const Result& result, bool measured) {
  std::vector<Row> rows = {{"TIME", "P50", "P90", "P99", "MAX"}};
  const auto add = [&](std::string_view name, const Percentiles& times) {
    if (times.count == 0) return;
    rows.push_back({std::string(name), ShortTime(times.p50), ShortTime(times.p90),
                    ShortTime(times.p99), ShortTime(times.max)});
  };
  add(result.still_waiting == 0
          ? "waiting (simulated)"
          : fmt::format("waiting (simulated, {} still pending)", result.still_waiting),
      result.waiting);
  if (measured) add("decision (CPU time)", result.decisions);
  return rows.size() > 1 ? "\n" + Table(rows) : "";
}

std::string WorkloadTable(const Result& result) {
  if (result.workloads.empty()) return "";
  std::vector<Row> rows = {{"WORKLOAD", "ASKED", "PLACED", "STILL WAITING", "P50", "P99"}};
  for (const WorkloadResult& row : result.workloads) {
    rows.push_back({row.name.empty() ? "(dump)" : row.name, Number(row.created), Number(row.placed),
                    Number(row.waiting), ShortTime(row.times.p50), ShortTime(row.times.p99)});
  }
  return "\n" + Table(rows);
}

std::string ClassTable(const Result& result) {
  if (result.classes.empty()) return "";
  const bool waits = std::ranges::any_of(
      result.classes, [](const ClassResult& row) { return row.waiting_count > 0; });
  std::vector<Row> rows = {
      {"CLASS", "DEVICES", "USED", "UTILISATION", "MEAN", "PEAK", "FRAGMENTATION", "MEAN"}};
  if (waits) rows.front().emplace_back("UNUSABLE FOR PENDING PODS");
  for (const ClassResult& row : result.classes) {
    rows.push_back({row.name, Number(row.end.devices), internal::Devices(row.end.used),
                    Percent(row.end.Utilisation()), Percent(row.mean_utilisation),
                    Percent(row.peak_utilisation), Percent(row.end.Fragmentation()),
                    Percent(row.mean_fragmentation)});
    if (waits) {
      rows.back().push_back(row.waiting_count > 0 ? Percent(row.waiting_fragmentation) : "-");
    }
  }
  return "\n" + Table(rows);
}

std::string GroupTable(const Result& result) {
  if (result.groups.size() < 2) return "";
  std::vector<Row> rows = {{"NODE GROUP", "NODES", "PLACED"}};
  for (const GroupResult& group : result.groups) {
    rows.push_back(
        {group.name.empty() ? "(dump)" : group.name, Number(group.nodes), Number(group.placed)});
  }
  return "\n" + Table(rows);
}

std::string ReasonTable(const Result& result) {
  if (result.reasons.empty()) return "";
  std::vector<Row> rows = {{"ATTEMPTS", "PODS", "PLUGIN", "REASON"}};
  for (const ReasonCount& reason : result.reasons) {
    rows.push_back({Number(reason.attempts), Number(reason.pods), reason.plugin, reason.text});
  }
  return "\n" + Table(rows);
}

}  // namespace

std::string ToText(const Result& result, const TextOptions& options) {
  std::string text;
  if (!result.title.empty()) text += result.title + '\n';
  text += fmt::format("{} nodes, {} devices; {} simulated, seed {}, {}\n\n", result.nodes,
                      result.devices, ShortTime(result.simulated), result.seed, result.policy);
  text += PodTable(result.pods);
  text += TimeTable(result, options.measured);
  text += WorkloadTable(result);
  text += ClassTable(result);
  text += GroupTable(result);
  text += ReasonTable(result);
  text += fmt::format("\n{} attempts, {} allocator steps", result.attempts, result.allocator_steps);
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(result.errors, "failed attempts");
  add(result.failed_writes, "failed writes");
  add(result.device_changes, "device changes");
  add(result.node_failures, "node failures");
  text += '\n';
  if (options.measured && result.Throughput() > 0) {
    text += fmt::format("{:.0f} attempts per second of CPU time ({} scheduler, {} controllers)\n",
                        result.Throughput(), ShortTime(result.scheduler_time),
                        ShortTime(result.controller_time));
  }
  return text;
}

}  // namespace dray::simulator
