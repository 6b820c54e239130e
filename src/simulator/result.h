// SPDX-License-Identifier: Apache-2.0
//
// What a simulation found, as data. Times that were measured (of the processor) differ from run to
// run; everything else is the same for the same scenario and seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/meter.h"
#include "simulator/scenario.h"

namespace dray::simulator {

struct Percentiles {
  std::int64_t count = 0;
  Duration p50{0};
  Duration p90{0};
  Duration p99{0};
  Duration max{0};
  Duration mean{0};
  friend bool operator==(const Percentiles&, const Percentiles&) = default;
};
// The smallest sample that so many hundredths of all are not above.
Percentiles PercentilesOf(std::vector<Duration> samples);

// How many samples are at most `up_to` and above the bar before.
struct HistogramBar {
  Duration up_to{0};
  std::int64_t count = 0;
  friend bool operator==(const HistogramBar&, const HistogramBar&) = default;
};
// Three bars to a power of ten: 1, 2, 5; from the first that has samples to the last.
std::vector<HistogramBar> HistogramOf(const std::vector<Duration>& samples);

// Those of the warm-up are in no other number but `lost`, `preempted` and `running`.
struct PodCounts {
  std::int64_t warm_up = 0;    // were there before time began
  std::int64_t created = 0;    // have come
  std::int64_t placed = 0;     // got a node
  std::int64_t departed = 0;   // lived as long as they should
  std::int64_t lost = 0;       // went with their node
  std::int64_t preempted = 0;  // made room for others
  std::int64_t running = 0;    // have a node at the end
  std::int64_t refused = 0;    // wait at the end, and have been told why
  std::int64_t pending = 0;    // wait at the end, and have not been tried
  friend bool operator==(const PodCounts&, const PodCounts&) = default;
};

struct ReasonCount {
  std::string plugin;
  std::string code;  // stable
  std::string text;  // as it was said first
  std::int64_t attempts = 0;
  std::int64_t pods = 0;
};

struct Sample {
  Duration at{0};
  std::int64_t waiting = 0;
  std::int64_t running = 0;
  std::vector<ClassUse> classes;  // by Result::classes
};

struct ClassResult {
  std::string name;
  std::int64_t typical_count = 1;
  ClassUse end;
  // Of what is free at the end, the share that is of no use to those that wait for it then: to the
  // request that most of them have, for `waiting_count` devices. 0: nobody waits.
  std::int64_t waiting_count = 0;
  double waiting_fragmentation = 0;
  double mean_utilisation = 0;
  double peak_utilisation = 0;
  double mean_fragmentation = 0;
};

struct GroupResult {
  std::string name;
  std::int64_t nodes = 0;
  std::int64_t placed = 0;
};

// Of one workload, without its warm-up; those that a dump brought are one, "".
struct WorkloadResult {
  std::string name;
  std::int64_t created = 0;
  std::int64_t placed = 0;
  std::int64_t waiting = 0;  // at the end
  Percentiles times;         // from creation to node, or to the end
};

struct Result {
  std::string title;
  std::uint64_t seed = 0;
  std::string policy;
  std::int64_t nodes = 0;    // at the beginning
  std::int64_t devices = 0;  // at the beginning
  Duration simulated{0};
  PodCounts pods;
  std::int64_t attempts = 0;
  std::int64_t errors = 0;  // attempts that failed, most of them because a write did
  std::int64_t failed_writes = 0;
  std::int64_t device_changes = 0;
  std::int64_t node_failures = 0;
  std::uint64_t node_evaluations = 0;
  std::uint64_t allocator_steps = 0;
  // From creation to node, simulated. Those that still wait count as long as they have waited by
  // then: leaving them out would make a cluster look better the fewer it serves.
  Percentiles waiting;
  std::int64_t still_waiting = 0;  // of Percentiles::count

  // Measured.
  Duration scheduler_time{0};  // deciding and taking in changes
  Duration controller_time{0};
  Percentiles decisions;
  std::vector<HistogramBar> decision_histogram;

  std::vector<ClassResult> classes;
  std::vector<WorkloadResult> workloads;  // as in the scenario, a dump's last
  std::vector<GroupResult> groups;        // by name; those of a dump are one, ""
  std::vector<ReasonCount> reasons;       // most attempts first
  std::vector<Sample> samples;

  // Attempts per second of scheduler_time; 0 when nothing was measured.
  double Throughput() const;
};

struct TextOptions {
  bool measured = true;  // without: the same text for every run of a scenario
};
std::string ToText(const Result& result, const TextOptions& options = {});
// One document; field names do not change.
std::string ToJson(const Result& result);
// A page that needs nothing else.
std::string ToHtml(const Result& result);

}  // namespace dray::simulator
