// SPDX-License-Identifier: Apache-2.0
//
// A trace: the nodes and pods of a real cluster as two tables (CSV), and how their pods come. They
// come one by one to the real scheduler; one that fits nowhere is dropped. What is told is how much
// of the devices has been given, and how much of the rest is of no use, at each percent of what has
// been asked for.
//
// The experiment is that of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023): the list,
// then pods drawn from it until they ask for more than a multiple of what there is, in random order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "api/gates.h"
#include "base/status.h"
#include "scheduler/config.h"
#include "simulator/scenario.h"

namespace dray::simulator {

struct TraceNode {
  std::string name;
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::int32_t devices = 0;
  std::string model;
};
struct TracePod {
  std::string name;
  std::int64_t milli_cpu = 0;
  std::int64_t memory_mib = 0;
  std::int32_t devices = 0;
  std::int32_t share = 0;           // thousandths of each device
  std::vector<std::string> models;  // any of these; none: any
  double arrival = 0;               // seconds
  std::optional<double> departure;

  // Thousandths of a device, all together.
  std::int64_t milli() const { return std::int64_t{devices} * share; }
};

// The rows of a table, by the columns that `trace` names. InvalidArgument with file, line and column.
StatusOr<std::vector<TraceNode>> ReadTraceNodes(const Trace& trace, std::string_view csv);
StatusOr<std::vector<TracePod>> ReadTracePods(const Trace& trace, std::string_view csv);

// InvalidArgument where a list that asks for next to no devices would have to be drawn from for ever.
Status CheckFill(const Trace& trace, const std::vector<TraceNode>& nodes,
                 const std::vector<TracePod>& pods);
// The pods in the order in which they come: the list, what is drawn to fill up, shuffled if that is
// wanted.
std::vector<TracePod> Arrivals(const Trace& trace, const std::vector<TraceNode>& nodes,
                               std::vector<TracePod> pods, std::uint64_t seed);

struct TraceOptions {
  std::uint64_t seed = 1;
  allocator::Policy policy = allocator::Policy::kFirstFit;
  scheduler::Config config;
  api::FeatureGates gates;
  // Processor time so far. Null: nothing is measured.
  std::function<Duration()> processor_time;
  // Whether TraceRow::bound is computed, which takes some tenths of a second.
  bool bounds = true;
};

// At a percent of arrival.
struct TraceRow {
  double arrived = 0;            // asked for so far, of what there is
  double allocated = 0;          // given, of what there is
  std::optional<double> bound;   // what no policy can exceed; where nobody leaves
  double fragmentation = 0;      // of what is free, what a request like those seen cannot use
  std::vector<double> by_model;  // the same for each model
};

struct TraceResult {
  std::string policy;
  std::uint64_t seed = 0;
  std::int64_t nodes = 0;
  std::int64_t devices = 0;
  std::vector<std::string> models;
  std::int64_t pods = 0;
  std::int64_t refused = 0;
  std::int64_t departed = 0;
  std::vector<TraceRow> rows;
  // Over the second half of the time, with pods that leave.
  std::optional<double> mean_allocated;
  std::optional<Duration> scheduler_time;
  std::int64_t node_evaluations = 0;  // nodes that filters were asked about

  // Of the last row up to that much.
  const TraceRow* At(double arrived) const;
};

StatusOr<TraceResult> RunTrace(const Trace& trace, const std::vector<TraceNode>& nodes,
                               const std::vector<TracePod>& arrivals, const TraceOptions& options);

std::string ToText(const TraceResult& result);
std::string ToJson(const TraceResult& result);
// A page: one file, nothing from elsewhere.
std::string ToHtml(const TraceResult& result, std::string_view title);

}  // namespace dray::simulator
