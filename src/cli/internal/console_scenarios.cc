// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/console_scenarios.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "allocator/policy.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "cli/source_files.h"
#include "fleet/json.h"
#include "fmt/format.h"
#include "simulator/cluster_builder.h"
#include "simulator/simulation.h"
#include "simulator/trace.h"

namespace dray::cli::internal {
namespace {

using console::Answer;
using console::Refusal;

constexpr std::size_t kMostScenarioBytes = 4u << 20;
constexpr std::size_t kMostScenarios = 500;
constexpr std::int64_t kMostSimulatedNodes = 100'000;

bool IsScenarioName(std::string_view name) {
  return (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json")) &&
         name.find('/') == std::string_view::npos && !name.starts_with('.');
}

std::optional<std::string> TextOf(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  text.resize(most + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) return std::nullopt;
  return text;
}

std::string Told(const std::vector<simulator::Fault>& faults) {
  std::string text;
  for (const simulator::Fault& fault : faults) {
    if (!text.empty()) text += "; ";
    text += simulator::ToString(fault);
    if (text.size() > 2000) break;
  }
  return text;
}

// What a scenario names lies beside it or below.
std::optional<std::filesystem::path> Below(const std::filesystem::path& folder,
                                           const std::string& name) {
  std::error_code error;
  const auto root = std::filesystem::weakly_canonical(folder, error);
  if (error) return std::nullopt;
  const auto path = std::filesystem::weakly_canonical(root / name, error);
  if (error) return std::nullopt;
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (end != root.end()) return std::nullopt;
  return path;
}

simulator::Duration ThreadTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Answer ListScenarios(const std::string& folder) {
  fleet::JsonOut out;
  out.BeginMap().Text("folder", folder).List("scenarios");
  std::vector<std::string> names;
  std::error_code error;
  if (!folder.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (IsScenarioName(name) && entry.is_regular_file(error) && names.size() < kMostScenarios) {
        names.push_back(name);
      }
    }
  }
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const auto text = TextOf(std::filesystem::path(folder) / name, kMostScenarioBytes);
    std::vector<simulator::Fault> faults;
    const auto scenario = text ? simulator::ReadScenario(*text, faults) : std::nullopt;
    out.BeginMap().Text("name", name);
    if (scenario) {
      std::int64_t nodes = 0;
      for (const simulator::NodeGroup& group : scenario->node_groups) nodes += group.count;
      out.Text("title", scenario->title).Count("nodes", nodes);
      if (scenario->duration) {
        out.Count("duration",
                  std::chrono::duration_cast<std::chrono::seconds>(*scenario->duration).count());
      }
      out.Count("seed", scenario->seed);
      out.Text("policy", allocator::RowOf(scenario->policy).name);
    } else {
      out.Text("error", text ? Told(faults) : "it cannot be read, or is too large");
    }
    out.EndMap();
  }
  out.EndList().EndMap();
  return {.json = out.Take()};
}

Answer RunScenario(const std::string& folder, const console::SimulationRequest& request,
                   const std::function<void(const console::Desk::Started&)>& started,
                   const std::function<void(const console::SimulationProgress&)>& progress,
                   const std::function<bool()>& cancelled) {
  const bool from_file = !request.scenario.empty();
  std::string text = request.text;
  if (from_file) {
    if (folder.empty()) {
      return Refusal(404, "NotFound", "there is no folder of scenarios: --scenarios names one");
    }
    if (!IsScenarioName(request.scenario)) {
      return Refusal(422, "Invalid", "scenario: must be the name of a file of the folder");
    }
    auto read = TextOf(std::filesystem::path(folder) / request.scenario, kMostScenarioBytes);
    if (!read) {
      return Refusal(404, "NotFound",
                     fmt::format("{} cannot be read, or is too large", request.scenario));
    }
    text = *std::move(read);
  }
  std::vector<simulator::Fault> faults;
  const auto scenario = simulator::ReadScenario(text, faults);
  if (!scenario) return Refusal(422, "Invalid", Told(faults));
  simulator::SimulationOptions options;
  options.seed = request.seed;
  if (!request.policy.empty()) {
    options.policy = allocator::FindPolicy(request.policy);
    if (!options.policy) {
      return Refusal(422, "Invalid", fmt::format("policy: unknown policy \"{}\"", request.policy));
    }
  }
  if (request.duration) options.duration = *request.duration;
  if (!scenario->feature_gates.empty()) {
    auto gates = api::FeatureGates::Parse(scenario->feature_gates, {});
    if (!gates.ok()) return Refusal(422, "Invalid", base::Message(gates.status()));
    options.gates = *std::move(gates);
  }
  started(
      {.title = scenario->title,
       .seed = request.seed.value_or(scenario->seed),
       .policy = std::string(allocator::RowOf(options.policy.value_or(scenario->policy)).name)});
  if (scenario->trace) {
    return Refusal(422, "Invalid",
                   "recorded traces are run with 'dray simulate', not in the console");
  }
  std::int64_t nodes = 0;
  for (const simulator::NodeGroup& group : scenario->node_groups) nodes += group.count;
  if (nodes > kMostSimulatedNodes) {
    return Refusal(
        422, "Invalid",
        fmt::format("the console simulates at most {} nodes; 'dray simulate' has no such "
                    "limit",
                    kMostSimulatedNodes));
  }
  faults = simulator::ClusterBuilder(*scenario).Check(options.gates);
  if (!faults.empty()) return Refusal(422, "Invalid", Told(faults));
  std::vector<api::Object> dump;
  if (!scenario->dump.empty()) {
    const auto path = from_file ? Below(folder, scenario->dump) : std::nullopt;
    if (!path) {
      return Refusal(422, "Invalid",
                     "cluster.from: the console reads dumps that lie in the folder of scenarios");
    }
    std::istringstream nothing;
    Manifests manifests =
        ReadManifests(LoadSources(std::vector<std::string>{path->string()}, nothing));
    if (manifests.report.ExitCode() != kExitOk) {
      return Refusal(422, "Invalid", ToText(manifests.report));
    }
    for (Manifest& manifest : manifests.manifests) dump.push_back(std::move(manifest.object));
  }
  options.processor_time = ThreadTime;
  options.progress = [&](const simulator::Progress& now) {
    console::SimulationProgress told{
        .seconds = std::chrono::duration_cast<std::chrono::seconds>(now.now).count()};
    if (now.end) {
      told.share = static_cast<double>(now.now.count()) /
                   static_cast<double>(std::max<std::int64_t>(now.end->count(), 1));
    } else if (now.expected > 0) {
      told.share = static_cast<double>(now.settled) / static_cast<double>(now.expected);
    }
    told.share = std::clamp(told.share, 0.0, 1.0);
    progress(told);
  };
  options.cancelled = cancelled;
  const auto result = simulator::Simulate(*scenario, std::move(dump), options);
  if (!result.ok()) return Refusal(422, "Invalid", base::Message(result.status()));
  return {.json = simulator::ToJson(*result)};
}

}  // namespace dray::cli::internal
