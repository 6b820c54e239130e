// SPDX-License-Identifier: Apache-2.0
//
// A scenario: which cluster, which work comes and goes, and what goes wrong meanwhile. README.md
// describes the file; this is what has been read of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/search.h"
#include "api/device_class.h"
#include "api/gates.h"
#include "api/node.h"
#include "api/resource_slice.h"
#include "simulator/fault.h"
#include "simulator/template.h"

namespace dray::simulator {

using Duration = std::chrono::nanoseconds;

// Bounds on what a file can ask for.
inline constexpr std::int64_t kMaxNodes = 1'000'000;
inline constexpr std::int64_t kMaxDevicesPerNode = 4'096;
inline constexpr std::int64_t kMaxPods = 10'000'000;
inline constexpr std::int64_t kMaxObjects = 1'000'000;
inline constexpr Duration kMaxDuration = std::chrono::hours(24 * 366);

// How long until the next one, or how long something lasts.
struct Interval {
  Duration mean{0};
  bool random = false;  // exponentially distributed: arrivals are a Poisson process
};

// Copies of one template.
struct Copies {
  std::int64_t count = 1;
  Template made_from;
};

// What one driver publishes on each node of a group: a pool of the node's name.
struct DriverDevices {
  std::string driver;
  std::vector<Copies> counter_sets;  // api::CounterSet; knows node, index
  std::vector<Copies> devices;       // api::Device; knows node, index
};

struct NodeGroup {
  std::string name;  // nodes are called NAME-000000 and so on
  std::int64_t count = 1;
  Template labels;       // api::Map<std::string>; knows node
  Template allocatable;  // api::Map<base::Quantity>; knows node
  std::vector<api::Taint> taints;
  std::vector<DriverDevices> drivers;
};

// Pods that are there before time begins: as many as it takes until that share of the class's
// devices is in use, or one finds no node.
struct WarmUp {
  std::string device_class;
  double utilisation = 0;
};

struct Workload {
  std::string name;  // pods are called NAME-0 and so on
  std::string namespace_;
  std::optional<std::int64_t> count;  // none: they come until the end
  Template pod;                       // api::PodTemplateSpec; knows index
  Duration start{0};
  std::optional<Interval> arrival;   // none: all at once
  std::optional<Interval> lifetime;  // from its binding; none: it stays
  std::optional<WarmUp> warm_up;
  bool replace_lost = true;  // a pod that goes with its node, or is preempted, comes again
};

// Devices that change for a while and then are what they were.
struct Churn {
  Interval every;
  std::string node_group;  // empty: any
  std::string driver;      // empty: any
  std::int64_t devices = 1;
  Duration lasting{0};
  bool remove = false;
  std::optional<api::DeviceTaint> taint;
  api::Map<api::DeviceAttribute> attributes;
};

// A node that is gone for a while, with its slices and its pods.
struct NodeFailure {
  Interval every;
  std::string node_group;  // empty: any
  Duration lasting{0};
};

// The names of a table's columns; an empty one: there is none.
struct TraceColumns {
  std::string name;
  std::string cpu;        // thousandths
  std::string memory;     // MiB
  std::string devices;    // how many
  std::string share;      // pods: thousandths of one device
  std::string model;      // pods: any of several, with | between them
  std::string arrival;    // pods: seconds
  std::string departure;  // pods: seconds
};
// A recorded cluster instead of a described one; trace.h runs it.
struct Trace {
  std::string node_file;
  TraceColumns node_columns;
  std::string pod_file;
  TraceColumns pod_columns;
  enum class Order : std::uint8_t {
    kShuffled,
    kFile,
    kTimes,  // as arrival and departure say
  };
  Order order = Order::kShuffled;
  // Pods drawn from the list are added until they would ask for more than this much of all devices.
  double fill = 1.3;
  // Not nothing: pods come and go so that this much of all devices is asked for at any time.
  std::optional<double> offered;
};
// With `offered`: how many mean lifetimes it lasts, of which the second half counts.
inline constexpr double kTraceLifetimes = 4;
inline constexpr int kMostTraceRows = 10'000;

struct Scenario {
  std::string title;
  std::uint64_t seed = 1;
  std::optional<Duration> duration;                       // none: until nothing is left to do
  Duration decision_time = std::chrono::milliseconds(1);  // that one attempt takes
  allocator::Policy policy = allocator::Policy::kFirstFit;
  std::string feature_gates;  // as the flag has them
  std::string dump;           // a file with objects that are there at the beginning; empty: none
  std::vector<NodeGroup> node_groups;
  std::vector<Copies> objects;  // of any kind; knows index
  std::vector<Workload> workloads;
  std::vector<Churn> churn;
  std::vector<NodeFailure> node_failures;
  std::optional<Trace> trace;
  double failing_writes = 0;  // share of the scheduler's and controllers' writes that fail
};

// Nothing unless there are no faults. All faults at once, from top to bottom.
std::optional<Scenario> ReadScenario(std::string_view yaml, std::vector<Fault>& faults);

}  // namespace dray::simulator
