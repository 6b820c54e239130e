// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray simulate`.
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "allocator/policy.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "base/time.h"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/scenario_faults.h"
#include "cli/internal/scheduler_flags.h"
#include "cli/manifests.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/source_files.h"
#include "fmt/format.h"
#include "scheduler/config.h"
#include "simulator/cluster_builder.h"
#include "simulator/comparison.h"
#include "simulator/simulation.h"
#include "simulator/sizing.h"
#include "simulator/trace.h"
#include "threads/thread_pool.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Runs a scenario in simulated time with the real scheduler. A scenario describes a cluster
(groups of nodes with devices, or a dump of a cluster), the pods that come and go, and the
failures that happen meanwhile. The same scenario and seed always give the same decisions.
docs/simulate.md describes the file format; examples/scenarios has many scenarios.

--grow finds the smallest number of nodes of a group with which every pod has a node at the
end, and shows the runs it tried, including the one with one node fewer. --compare prints the
differences between two runs; each is a scenario to run, or a result saved with '-o json'.

Examples:
  dray simulate examples/scenarios/everyday.yaml
  dray simulate examples/scenarios/everyday.yaml --seed 3 --report day.html
  dray simulate examples/scenarios/perf-full.yaml --policy best-fit -o json
  dray simulate examples/scenarios/everyday.yaml --grow hgx
  dray simulate --compare before.json after.json

Exit code: 0 the scenario was simulated, 1 with --fail-on-refused if pods have no node
at the end, 2 the scenario or a flag could not be used.)";

constexpr int kBarWidth = 30;

// The kind of a text that is an object of Kubernetes, or a List of such: people name a dump where a
// scenario is wanted. Empty: it is neither.
std::string ObjectKindOf(std::string_view text) {
  constexpr std::string_view kKey = "kind:";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line == "---" && at > 4) break;
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    const auto first = line.find_first_not_of(" \"'");
    const auto last = line.find_last_not_of(" \r\"'");
    if (first == std::string_view::npos) break;
    std::string kind(line.substr(first, last - first + 1));
    const bool known = kind == "List" || std::ranges::any_of(api::Kinds(), [&](const auto& row) {
                         return row.kind == kind;
                       });
    return known ? kind : "";
  }
  return "";
}

simulator::Duration ProcessorTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

std::string ProgressLine(const simulator::Progress& progress) {
  double share = 0;
  if (progress.end) {
    share = static_cast<double>(progress.now.count()) /
            static_cast<double>(std::max<std::int64_t>(progress.end->count(), 1));
  } else if (progress.expected > 0) {
    share = static_cast<double>(progress.settled) / static_cast<double>(progress.expected);
  }
  const int filled = std::clamp(static_cast<int>(share * kBarWidth), 0, kBarWidth);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(progress.now);
  return fmt::format("\r[{:=<{}}{: <{}}] {} pods, {} simulated\x1b[K", "", filled, "",
                     kBarWidth - filled, progress.created, base::GoDurationToString(seconds));
}

class SimulateCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("scenario", scenario_, "The scenario, or - for standard input")
        ->type_name("SCENARIO.yaml");
    app.add_option("--seed", seed_, "Override the scenario's random seed")->type_name("NUMBER");
    app.add_option("--duration", duration_, "Stop after this much simulated time")
        ->type_name("1h30m");
    AddPolicy(app, policy_, "Override the scenario's policy");
    app.add_option("--feature-gates", gates_,
                   "Feature gates, in addition to the scenario's; 'dray features' lists them")
        ->type_name("A=true,B=false")
        ->allow_extra_args(false);
    AddConfig(app, config_);
    app.add_option("--report", report_, "Write an HTML report with charts to this file")
        ->type_name("FILE.html");
    app.add_flag("--fail-on-refused", fail_on_refused_,
                 "Exit with 1 if pods have no node at the end");
    app.add_option("--grow", grow_,
                   "Find the smallest number of nodes of this group with which all pods are placed")
        ->type_name("GROUP");
    app.add_option("--compare", compare_, "Print the differences between two scenarios or results")
        ->type_name("A B")
        ->expected(2);
    AddOutput(app, output_, {"text", "json"});
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (!compare_.empty()) return Compare(io);
    if (scenario_.empty()) {
      return UsageError(io, "no scenario", "for example 'dray simulate scenario.yaml'");
    }
    // Before the work, which may take long.
    if (!report_.empty() && !std::ofstream(report_, std::ios::binary | std::ios::app)) {
      return UsageError(io, fmt::format("--report: \"{}\" cannot be written", report_));
    }
    Given given;
    if (const int code = Read(io, given); code != kExitOk) return code;
    if (!grow_.empty()) return Grow(io, given);
    if (given.scenario->trace) return RunTrace(io, *given.scenario, given.options);
    const auto result = Simulate(io, *given.scenario, given);
    if (!result.ok()) return UsageError(io, Printable(base::Message(result.status())));
    io.out << (output_ == "json" ? ToJson(*result) : Shown(io.env, ToText(*result)));
    if (!report_.empty()) {
      std::ofstream file(report_, std::ios::binary);
      file << ToHtml(*result);
      file.close();
      if (!file) return UsageError(io, fmt::format("--report: \"{}\" cannot be written", report_));
    }
    const bool all = result->pods.refused == 0 && result->pods.pending == 0;
    return fail_on_refused_ && !all ? kExitFindings : kExitOk;
  }

 private:
  struct Given {
    std::optional<simulator::Scenario> scenario;
    simulator::SimulationOptions options;
    std::vector<api::Object> dump;
  };
  int Read(Io& io, Given& given) const {
    std::vector<simulator::Fault> faults;
    given.scenario = ReadScenario(io, faults);
    if (!given.scenario) return Tell(io, faults);
    if (const int code = ReadFlags(io, *given.scenario, given.options); code != kExitOk) {
      return code;
    }
    if (given.scenario->trace) return kExitOk;
    faults = simulator::ClusterBuilder(*given.scenario).Check(given.options.gates);
    if (!faults.empty()) return Tell(io, faults);
    return ReadDump(io, *given.scenario, given.dump);
  }

  static StatusOr<simulator::Result> Simulate(Io& io, const simulator::Scenario& scenario,
                                              const Given& given) {
    simulator::SimulationOptions options = given.options;
    threads::ThreadPool pool(threads::WorkersFor(options.config.parallelism));
    options.executor = &pool;
    options.processor_time = ProcessorTime;
    if (io.env.err_is_terminal) {
      options.progress = [&](const simulator::Progress& progress) {
        io.err << ProgressLine(progress) << std::flush;
      };
    }
    auto result = simulator::Simulate(scenario, given.dump, options);
    if (io.env.err_is_terminal) io.err << "\r\x1b[K" << std::flush;
    return result;
  }

  int Grow(Io& io, const Given& given) const {
    if (given.scenario->trace) {
      return UsageError(io, "--grow: a trace has no node groups");
    }
    const auto sizing = simulator::FindEnoughNodes(
        *given.scenario, grow_, simulator::kMaxNodes,
        [&](const simulator::Scenario& scenario) { return Simulate(io, scenario, given); });
    if (sizing.status().code() == StatusCode::kNotFound) {
      std::vector<std::string_view> names;
      for (const auto& group : given.scenario->node_groups) names.push_back(group.name);
      return UsageError(io, fmt::format("--grow: {}", Printable(base::Message(sizing.status()))),
                        names.empty() ? "the scenario has none"
                                      : fmt::format("there is {}", fmt::join(names, ", ")));
    }
    if (!sizing.ok()) return UsageError(io, Printable(base::Message(sizing.status())));
    io.out << (output_ == "json" ? ToJson(*sizing) : Shown(io.env, ToText(*sizing)));
    return sizing->enough ? kExitOk : kExitFindings;
  }

  // The result as JSON: of a file that holds one, or of a run of the scenario that it holds.
  std::optional<std::string> ResultOf(Io& io, const std::string& name) {
    scenario_ = name;
    std::optional<std::string> text = ReadText(io, name);
    if (!text) return std::nullopt;
    const auto first = text->find_first_not_of(" \r\n\t");
    const bool json = first != std::string::npos && (*text)[first] == '{';
    if (json && text->find("\"workloads\"") != std::string::npos &&
        text->find("\"kind\"") == std::string::npos) {
      return text;
    }
    Given given;
    if (Read(io, given) != kExitOk) return std::nullopt;
    if (given.scenario->trace) {
      UsageError(io, fmt::format("--compare: {} is a trace", Printable(name)),
                 "compare the -o json of both instead");
      return std::nullopt;
    }
    const auto result = Simulate(io, *given.scenario, given);
    if (result.ok()) return ToJson(*result);
    UsageError(io, Printable(base::Message(result.status())));
    return std::nullopt;
  }

  int Compare(Io& io) {
    if (!scenario_.empty() || !grow_.empty()) {
      return UsageError(io, "--compare takes exactly two files");
    }
    if (std::ranges::find(compare_, "-") != compare_.end()) {
      return UsageError(io, "--compare reads files, not standard input");
    }
    const auto a = ResultOf(io, compare_[0]);
    if (!a) return kExitUsage;
    const auto b = ResultOf(io, compare_[1]);
    if (!b) return kExitUsage;
    const auto comparison = simulator::Compare(compare_[0], *a, compare_[1], *b);
    if (!comparison.ok()) return UsageError(io, Printable(base::Message(comparison.status())));
    io.out << (output_ == "json" ? ToJson(*comparison) : Shown(io.env, ToText(*comparison)));
    return kExitOk;
  }

  std::optional<simulator::Scenario> ReadScenario(Io& io,
                                                  std::vector<simulator::Fault>& faults) const {
    const std::optional<std::string> text = ReadText(io, scenario_);
    if (!text) return std::nullopt;
    if (const std::string kind = ObjectKindOf(*text); !kind.empty()) {
      UsageError(io,
                 fmt::format("{} contains a {}, not a Scenario",
                             scenario_ == "-" ? kStandardInputName : scenario_, kind),
                 "a scenario names a dump of a cluster in cluster.from");
      return std::nullopt;
    }
    return simulator::ReadScenario(*text, faults);
  }

  int Tell(Io& io, const std::vector<simulator::Fault>& faults) const {
    TellFaults(io, scenario_ == "-" ? std::string(kStandardInputName) : scenario_, faults);
    return kExitUsage;
  }

  int ReadFlags(Io& io, const simulator::Scenario& scenario,
                simulator::SimulationOptions& options) const {
    std::vector<std::string> texts = {scenario.feature_gates};
    texts.insert(texts.end(), gates_.begin(), gates_.end());
    const auto gates = ReadGates(io, texts);
    if (!gates) return kExitUsage;
    options.gates = *gates;
    options.seed = seed_;
    if (!policy_.empty()) options.policy = allocator::FindPolicy(policy_);
    if (!duration_.empty()) {
      const auto duration = base::ParseGoDuration(duration_);
      if (!duration.ok() || *duration <= simulator::Duration(0) ||
          *duration > simulator::kMaxDuration) {
        return duration.ok()
                   ? UsageError(io,
                                fmt::format("--duration: \"{}\" must be above 0 and at most a year",
                                            duration_),
                                "for example 90s or 1h30m")
                   : UsageError(io, fmt::format("--duration: \"{}\" is not a duration", duration_),
                                "use h, m, s or ms, as in 90s, 1h30m or 24h");
      }
      options.duration = *duration;
    }
    if (config_.empty()) return kExitOk;
    auto config = ReadSchedulerConfig(io, config_);
    if (!config) return kExitUsage;
    options.config = *std::move(config);
    return kExitOk;
  }

  int RunTrace(Io& io, const simulator::Scenario& scenario,
               const simulator::SimulationOptions& options) const {
    const std::filesystem::path folder =
        scenario_ == "-" ? std::filesystem::path() : std::filesystem::path(scenario_).parent_path();
    const simulator::Trace& trace = *scenario.trace;
    if (options.duration) {
      return UsageError(io,
                        "--duration: cannot be used with a trace, which ends with its last pod");
    }
    const auto node_text = ReadText(io, (folder / trace.node_file).string());
    if (!node_text) return kExitUsage;
    const auto pod_text = ReadText(io, (folder / trace.pod_file).string());
    if (!pod_text) return kExitUsage;
    const auto nodes = simulator::ReadTraceNodes(trace, *node_text);
    if (!nodes.ok()) return UsageError(io, Printable(base::Message(nodes.status())));
    auto pods = simulator::ReadTracePods(trace, *pod_text);
    if (!pods.ok()) return UsageError(io, Printable(base::Message(pods.status())));
    if (const Status status = simulator::CheckFill(trace, *nodes, *pods); !status.ok()) {
      return UsageError(io, Printable(base::Message(status)));
    }
    const std::uint64_t seed = options.seed.value_or(scenario.seed);
    const auto result = simulator::RunTrace(
        trace, *nodes, simulator::Arrivals(trace, *nodes, *std::move(pods), seed),
        {.seed = seed,
         .policy = options.policy.value_or(scenario.policy),
         .config = options.config,
         .gates = options.gates,
         .processor_time = ProcessorTime});
    if (!result.ok()) return UsageError(io, Printable(base::Message(result.status())));
    io.out << (output_ == "json" ? ToJson(*result) : Shown(io.env, ToText(*result)));
    if (!report_.empty()) {
      std::ofstream file(report_, std::ios::binary);
      file << ToHtml(*result, scenario.title);
      file.close();
      if (!file) return UsageError(io, fmt::format("--report: \"{}\" cannot be written", report_));
    }
    return fail_on_refused_ && result->refused > 0 ? kExitFindings : kExitOk;
  }

  // Relative to the scenario.
  int ReadDump(Io& io, const simulator::Scenario& scenario, std::vector<api::Object>& dump) const {
    if (scenario.dump.empty()) return kExitOk;
    const std::filesystem::path folder =
        scenario_ == "-" ? std::filesystem::path() : std::filesystem::path(scenario_).parent_path();
    const std::vector<std::string> names = {(folder / scenario.dump).string()};
    Manifests manifests = ReadManifests(LoadSources(names, io.in));
    io.err << ToText(manifests.report, {.color = UseColor("auto", io.env.err_is_terminal, io.env)});
    if (manifests.report.ExitCode() != kExitOk) return kExitUsage;
    for (Manifest& manifest : manifests.manifests) dump.push_back(std::move(manifest.object));
    return kExitOk;
  }

  std::string scenario_;
  std::optional<std::uint64_t> seed_;
  std::string duration_;
  std::string policy_;
  std::vector<std::string> gates_;
  std::string config_;
  std::string report_;
  std::string grow_;
  std::vector<std::string> compare_;
  bool fail_on_refused_ = false;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace dray::cli::internal
