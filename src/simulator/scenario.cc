// SPDX-License-Identifier: Apache-2.0
//
// From the file to the scenario.
#include "simulator/scenario.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/edit_distance.h"
#include "base/names.h"
#include "base/time.h"
#include "fmt/format.h"
#include "simulator/internal/scenario_reader.h"

namespace dray::simulator {

namespace internal {
namespace {

using base::FieldPath;

constexpr std::array<std::string_view, 1> kIndexOnly = {"index"};
constexpr std::array<std::string_view, 1> kNodeOnly = {"node"};
constexpr std::array<std::string_view, 2> kBoth = {"index", "node"};

// Reads the parts. What is missing or wrong becomes a fault and keeps its default.
class ScenarioReader {
 public:
  ScenarioReader(const api::DocumentNode& root, std::vector<Fault>& faults) : in_(root, faults) {}

  Scenario Read(const ScenarioFile& file) {
    CheckType(file);
    Scenario made;
    made.title = file.title;
    made.seed = static_cast<std::uint64_t>(
        in_.Count(FieldPath("seed"), file.seed, 1, 0, std::int64_t{1} << 62));
    if (!file.duration.empty()) {
      made.duration = in_.Positive(FieldPath("duration"), file.duration);
    }
    if (!file.decision_time.empty()) {
      made.decision_time = in_.Time(FieldPath("decisionTime"), file.decision_time);
    }
    if (!file.policy.empty()) ReadPolicy(file.policy, made);
    ReadGates(file.feature_gates, made);
    const FileCluster& cluster = file.cluster;
    // A trace has its own.
    if (!file.trace || !cluster.from.empty() || !cluster.node_groups.empty() ||
        !cluster.objects.empty()) {
      ReadCluster(cluster, made);
    }
    for (std::size_t i = 0; i < file.workloads.size(); ++i) {
      made.workloads.push_back(
          ReadWorkload(file.workloads[i], FieldPath("workloads").Index(i), made));
    }
    for (std::size_t i = 0; i < file.churn.size(); ++i) {
      made.churn.push_back(ReadChurn(file.churn[i], FieldPath("churn").Index(i), made));
    }
    if (file.failures) ReadFailures(*file.failures, made);
    if (file.trace) ReadTrace(*file.trace, made);
    CheckEnd(made);
    return made;
  }

  // Can be told whatever else could not be read.
  void CheckType(const ScenarioFile& file) {
    if (file.api_version != kScenarioApiVersion) {
      in_.Wrong(FieldPath("apiVersion"), file.api_version,
                fmt::format("must be {}", kScenarioApiVersion));
    }
    if (file.kind != "Scenario") in_.Wrong(FieldPath("kind"), file.kind, "must be Scenario");
  }

 private:
  void ReadPolicy(const std::string& policy, Scenario& made) {
    if (const auto found = allocator::FindPolicy(policy)) {
      made.policy = *found;
    } else {
      in_.Wrong(FieldPath("policy"), policy,
                fmt::format("must be {}", allocator::PolicyNames(" or ")));
    }
  }

  void ReadGates(const api::Map<bool>& gates, Scenario& made) {
    for (const auto& [name, on] : gates) {
      made.feature_gates +=
          fmt::format("{}{}={}", made.feature_gates.empty() ? "" : ",", name.view(), on);
    }
    // Together: a gate may need another that is named here, too.
    const auto together = api::FeatureGates::Parse(made.feature_gates, api::FeatureGates());
    if (together.ok()) return;
    for (const auto& [name, on] : gates) {
      const auto alone =
          api::FeatureGates::Parse(fmt::format("{}={}", name.view(), on), api::FeatureGates());
      if (alone.ok()) continue;
      in_.Fault(FieldPath("featureGates").Key(name.view()), base::Message(alone.status()));
      return;
    }
    in_.Fault(FieldPath("featureGates"), base::Message(together.status()));
  }

  std::vector<Copies> ReadCopies(const std::vector<FileCopies>& from, const FieldPath& at,
                                 std::span<const std::string_view> known, std::int64_t max,
                                 Probe probe) {
    std::vector<Copies> made;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const FieldPath here = at.Index(i);
      Copies copies;
      copies.count = in_.Count(here / "count", from[i].count, 1, 0, max);
      copies.made_from = in_.ReadTemplate(here / "template", known, probe, true);
      total += copies.count;
      made.push_back(std::move(copies));
    }
    if (total > max) in_.Fault(at, fmt::format("{} in all: must be at most {}", total, max));
    return made;
  }

  NodeGroup ReadNodeGroup(const FileNodeGroup& from, const FieldPath& at) {
    NodeGroup made;
    made.name = in_.Name(at / "name", from.name);
    // A name that is wrong is still one that others may mean.
    if (!groups_.insert(from.name).second && !made.name.empty()) {
      in_.Wrong(at / "name", made.name, "must not be another group's");
    }
    made.count = in_.Count(at / "count", from.count, 1, 0, kMaxNodes);
    made.labels =
        in_.ReadTemplate(at / "labels", kNodeOnly, ProbeFor<api::Map<std::string>>, false);
    made.allocatable =
        in_.ReadTemplate(at / "allocatable", kNodeOnly, ProbeFor<api::Map<base::Quantity>>, false);
    made.taints = from.taints;
    std::set<std::string> drivers;
    for (std::size_t i = 0; i < from.drivers.size(); ++i) {
      const FieldPath here = (at / "drivers").Index(i);
      DriverDevices& driver = made.drivers.emplace_back();
      driver.driver = from.drivers[i].driver;
      if (driver.driver.empty()) {
        in_.Fault(here / "driver", "must be set, as in driver: gpu.example.com");
      } else if (!drivers.insert(driver.driver).second) {
        in_.Wrong(here / "driver", driver.driver,
                  "must appear only once; list all its devices there");
      }
      driver.counter_sets = ReadCopies(from.drivers[i].counter_sets, here / "sharedCounters", kBoth,
                                       kMaxDevicesPerNode, ProbeFor<api::CounterSet>);
      driver.devices = ReadCopies(from.drivers[i].devices, here / "devices", kBoth,
                                  kMaxDevicesPerNode, ProbeFor<api::Device>);
    }
    return made;
  }

  void ReadCluster(const FileCluster& from, Scenario& made) {
    const FieldPath at("cluster");
    made.dump = from.from;
    std::int64_t nodes = 0;
    for (std::size_t i = 0; i < from.node_groups.size(); ++i) {
      made.node_groups.push_back(ReadNodeGroup(from.node_groups[i], (at / "nodeGroups").Index(i)));
      nodes += made.node_groups.back().count;
    }
    if (nodes > kMaxNodes) {
      in_.Fault(at / "nodeGroups", fmt::format("{} nodes: must be at most {}", nodes, kMaxNodes));
    }
    if (from.node_groups.empty() && from.from.empty()) {
      in_.Fault(at, "must have nodeGroups, or name a file with from");
    }
    made.objects =
        ReadCopies(from.objects, at / "objects", kIndexOnly, kMaxObjects, ProbeForObject);
  }

  Workload ReadWorkload(const FileWorkload& from, const FieldPath& at, const Scenario& scenario) {
    Workload made;
    made.name = in_.Name(at / "name", from.name);
    for (const Workload& other : scenario.workloads) {
      if (!made.name.empty() && other.name == made.name) {
        in_.Wrong(at / "name", made.name, "must not be another workload's");
      }
    }
    made.namespace_ = from.namespace_.empty() ? "default" : from.namespace_;
    if (from.count) made.count = in_.Count(at / "count", from.count, 0, 0, kMaxPods);
    made.pod = in_.ReadTemplate(at / "template", kIndexOnly, ProbeFor<api::PodTemplateSpec>, true);
    if (from.arrival) ReadArrival(*from.arrival, at / "arrival", made);
    if (from.lifetime) {
      made.lifetime = in_.ReadInterval(at / "lifetime", "mean", from.lifetime->mean,
                                       from.lifetime->distribution, "exponential");
    }
    if (from.warm_up) {
      made.warm_up.emplace();
      made.warm_up->device_class = from.warm_up->device_class;
      if (from.warm_up->device_class.empty()) {
        in_.Fault(at / "warmUp" / "deviceClass", "must be set");
      }
      made.warm_up->utilisation =
          in_.Share(at / "warmUp" / "utilisation", from.warm_up->utilisation);
    }
    if (!from.count && !made.arrival) {
      if (made.warm_up) {
        made.count = 0;
      } else {
        in_.Fault(at / "count", "must be set, or arrival.perSecond, or warmUp");
      }
    }
    made.replace_lost = from.replace_lost.value_or(true);
    return made;
  }

  void ReadArrival(const FileArrival& from, const FieldPath& at, Workload& made) {
    if (!from.start.empty()) made.start = in_.Time(at / "start", from.start);
    const bool random = in_.Distribution(at / "distribution", from.distribution, "poisson");
    if (!from.per_second) {
      if (random) in_.Fault(at / "perSecond", "must be set when pods arrive over time");
      return;
    }
    const double rate = *from.per_second;
    if (!(rate > 0 && rate <= 1e6)) {
      in_.Wrong(at / "perSecond", fmt::format("{}", rate), "must be above 0 and at most 1000000");
      return;
    }
    made.arrival = Interval{Duration(static_cast<std::int64_t>(1e9 / rate)), random};
  }

  // Empty, or a group that there is.
  void CheckGroup(const std::string& name, const FieldPath& at) {
    if (name.empty() || groups_.contains(name)) return;
    const std::vector<std::string_view> known(groups_.begin(), groups_.end());
    const auto closest = base::ClosestMatch(name, known);
    in_.Wrong(at, name, "must be the name of a node group",
              closest ? fmt::format("did you mean {}?", *closest) : "");
  }

  Churn ReadChurn(const FileChurn& from, const FieldPath& at, const Scenario& scenario) {
    Churn made;
    made.every = in_.ReadInterval(at, "every", from.every, from.distribution, "poisson");
    CheckGroup(from.node_group, at / "nodeGroup");
    made.node_group = from.node_group;
    made.driver = from.driver;
    bool driver_known = from.driver.empty();
    for (const NodeGroup& group : scenario.node_groups) {
      for (const DriverDevices& driver : group.drivers) {
        driver_known = driver_known || driver.driver == from.driver;
      }
    }
    if (!driver_known) in_.Wrong(at / "driver", from.driver, "must be a driver of a node group");
    made.devices = in_.Count(at / "devices", from.devices, 1, 1, kMaxDevicesPerNode);
    made.lasting = in_.Positive(at / "lasting", from.lasting);
    made.remove = from.remove.value_or(false);
    made.taint = from.taint;
    made.attributes = from.attributes;
    const int kinds = int{made.remove} + int{made.taint.has_value()} +
                      int{made.attributes.begin() != made.attributes.end()};
    if (kinds != 1) in_.Fault(at, "must have one of remove: true, taint and attributes");
    return made;
  }

  void ReadFailures(const FileFailures& from, Scenario& made) {
    const FieldPath at("failures");
    for (std::size_t i = 0; i < from.nodes.size(); ++i) {
      const FileNodeFailure& file = from.nodes[i];
      const FieldPath here = (at / "nodes").Index(i);
      CheckGroup(file.node_group, here / "nodeGroup");
      made.node_failures.push_back(
          {in_.ReadInterval(here, "every", file.every, file.distribution, "poisson"),
           file.node_group, in_.Positive(here / "lasting", file.lasting)});
    }
    if (!from.writes) return;
    made.failing_writes = in_.Share(at / "writes" / "probability", from.writes->probability);
    if (made.failing_writes >= 1) {
      in_.Wrong(at / "writes" / "probability", "1",
                "must be below 1, since otherwise no write would ever succeed");
    }
  }

  TraceColumns ReadColumns(const FileTraceColumns& from, const FieldPath& at) {
    for (const auto& [field, column] : {std::pair("name", &from.name),
                                        {"milliCPU", &from.milli_cpu},
                                        {"memoryMiB", &from.memory_mib},
                                        {"devices", &from.devices}}) {
      if (column->empty()) in_.Fault(at / field, "must be the name of a column");
    }
    return {.name = from.name,
            .cpu = from.milli_cpu,
            .memory = from.memory_mib,
            .devices = from.devices,
            .share = from.share,
            .model = from.model,
            .arrival = from.arrival,
            .departure = from.departure};
  }

  void ReadTrace(const FileTrace& from, Scenario& made) {
    const FieldPath at("trace");
    Trace& trace = made.trace.emplace();
    for (const auto& [field, file] :
         {std::pair("nodes", &from.nodes.file), {"pods", &from.pods.file}}) {
      if (file->empty()) in_.Fault(at / field / "file", "must be the name of a file");
    }
    trace.node_file = from.nodes.file;
    trace.pod_file = from.pods.file;
    trace.node_columns = ReadColumns(from.nodes.columns, at / "nodes" / "columns");
    trace.pod_columns = ReadColumns(from.pods.columns, at / "pods" / "columns");
    if (from.order == "file") {
      trace.order = Trace::Order::kFile;
    } else if (from.order == "times") {
      trace.order = Trace::Order::kTimes;
    } else if (!from.order.empty() && from.order != "shuffled") {
      in_.Wrong(at / "order", from.order, "must be shuffled, file or times");
    }
    const auto ratio = [&](std::string_view field, std::optional<double> given) {
      if (given && !(*given > 0 && *given <= 10)) {
        in_.Fault(at / field, fmt::format("{}: must be above 0 and at most 10", *given));
      }
      return given;
    };
    trace.fill = ratio("fill", from.fill).value_or(trace.fill);
    trace.offered = ratio("offered", from.offered);
    if (trace.offered && trace.order == Trace::Order::kTimes) {
      in_.Fault(at / "offered", "must not be set with order: times, which says when pods leave");
    }
    if (trace.order == Trace::Order::kTimes && trace.pod_columns.arrival.empty()) {
      in_.Fault(at / "pods" / "columns" / "arrival",
                "must be the name of a column with order: times");
    }
    if (made.duration)
      in_.Fault(at, "must not be set together with duration: a trace ends with its last pod");
    if (!made.workloads.empty() || !made.node_groups.empty() || !made.dump.empty() ||
        !made.churn.empty() || !made.node_failures.empty() || made.failing_writes > 0) {
      in_.Fault(at, "must not be set together with a cluster, workloads, churn or failures");
    }
  }

  // What goes on for ever needs an end.
  void CheckEnd(const Scenario& made) {
    if (made.duration) return;
    const auto needs = [&](std::string_view why) {
      in_.Fault(FieldPath("duration"), fmt::format("must be set, because {}", why));
    };
    if (!made.churn.empty()) return needs("churn has no end");
    if (!made.node_failures.empty()) return needs("failures of nodes have no end");
    for (const Workload& workload : made.workloads) {
      if (!workload.count && workload.arrival) {
        return needs(fmt::format("workload {} has no count", workload.name));
      }
    }
  }

  PartReader in_;
  std::set<std::string> groups_;
};

}  // namespace
}  // namespace internal

std::optional<Scenario> ReadScenario(std::string_view yaml, std::vector<Fault>& faults) {
  std::vector<api::Diagnostic> diagnostics;
  const std::vector<api::DocumentNode> documents = api::ParseYaml(yaml, diagnostics);
  for (const api::Diagnostic& found : diagnostics) {
    faults.push_back({found.position, found.path.ToString(), found.message, found.hint});
  }
  if (!faults.empty()) return std::nullopt;
  if (documents.size() != 1 || documents[0].kind != api::DocumentNode::Kind::kMap) {
    faults.push_back({{1, 1}, "", "must hold one Scenario, an object", ""});
    return std::nullopt;
  }
  internal::ScenarioFile file;
  internal::DecodeStrictly(documents[0], {}, api::TypeInfoOf<internal::ScenarioFile>(), &file,
                           faults);
  const auto sorted = [&faults] {
    std::ranges::stable_sort(faults, {}, [](const Fault& fault) {
      return std::pair(fault.position.line, fault.position.column);
    });
  };
  if (!faults.empty()) {
    // What could not be read has its default: to judge that too would be a second complaint. But
    // whether it was meant to be a scenario at all comes first.
    const bool typed = std::ranges::none_of(faults, [](const Fault& fault) {
      return fault.field == "kind" || fault.field == "apiVersion";
    });
    if (typed) internal::ScenarioReader(documents[0], faults).CheckType(file);
    sorted();
    return std::nullopt;
  }
  Scenario made = internal::ScenarioReader(documents[0], faults).Read(file);
  sorted();
  if (!faults.empty()) return std::nullopt;
  return made;
}

}  // namespace dray::simulator
