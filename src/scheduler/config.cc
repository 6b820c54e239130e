// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/edit_distance.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "scheduler/internal/config_reader.h"

namespace dray::scheduler {

Profile WithPolicy(Profile profile, allocator::Policy policy) {
  const auto weight_of = [&](std::string_view name) {
    return std::ranges::find(profile.score_weights, name, &PluginWeight::name);
  };
  constexpr std::string_view kFragmentation = "DeviceFragmentation";
  const auto scores = weight_of(kFragmentation);
  if (!profile.policy) {
    const bool wanted = scores != profile.score_weights.end() && scores->weight > 0;
    profile.policy = wanted ? allocator::Policy::kFragmentation : policy;
  }
  if (profile.policy != allocator::Policy::kFragmentation) return profile;
  if (std::ranges::find(profile.disabled, kFragmentation) != profile.disabled.end()) return profile;
  for (const auto& [name, weight] : {std::pair<std::string_view, std::int64_t>{kFragmentation, 1},
                                     {"NodeResourcesFit", 0},
                                     {"NodeResourcesBalancedAllocation", 0}}) {
    if (weight_of(name) != profile.score_weights.end()) continue;
    profile.score_weights.push_back({std::string(name), weight});
  }
  return profile;
}

namespace internal {

void Findings::Error(const base::FieldPath& at, std::string_view text) {
  errors.push_back(fmt::format("{}: {}", at.ToString(), text));
}
void Findings::Note(const base::FieldPath& at, std::string_view text) {
  notes.push_back(fmt::format("{}: {}", at.ToString(), text));
}
void Findings::Unused(const base::FieldPath& at, std::string_view why) {
  Note(at, fmt::format("does not apply: {}", why));
}

std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& known) {
  const auto closest = base::ClosestMatch(word, known);
  return closest ? fmt::format(" (did you mean {}?)", *closest) : std::string();
}

void Decode(const api::DocumentNode& node, const base::FieldPath& at, const api::TypeInfo& type,
            void* value, Findings& findings) {
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(node, type, value, api::Severity::kWarning, diagnostics);
  for (const api::Diagnostic& found : diagnostics) {
    const std::string before = at.ToString();
    const std::string inside = found.path.ToString();
    const std::string_view dot = before.empty() || inside.empty() ? "" : ".";
    const std::string hint = found.hint.empty() ? "" : fmt::format(" ({})", found.hint);
    // The path says which field it is: the message need not say it again.
    std::string message = found.message;
    if (found.reason == "UnknownField") message = "unknown field";
    if (found.reason == "DuplicateField") message = "given more than once";
    auto& list = found.severity == api::Severity::kError ? findings.errors : findings.notes;
    list.push_back(fmt::format("{}{}{}: {}{}", before, dot, inside, message, hint));
  }
}

namespace {

using base::FieldPath;

// Known, and without effect.
struct UnusedField {
  std::string_view name;
  const api::RawJson ConfigFile::*value;
  std::string_view why;
};
constexpr std::array<UnusedField, 5> kUnused = {{
    {"enableProfiling", &ConfigFile::enable_profiling, "there is no profiling endpoint"},
    {"enableContentionProfiling", &ConfigFile::enable_contention_profiling,
     "there is no profiling endpoint"},
    {"percentageOfNodesToScore", &ConfigFile::percentage_of_nodes_to_score,
     "all nodes are always looked at"},
    {"extenders", &ConfigFile::extenders, "nothing outside of the process is asked"},
    {"delayCacheUntilActive", &ConfigFile::delay_cache_until_active,
     "the state of the cluster is always kept"},
}};

void CheckType(const ConfigFile& file, Findings& findings) {
  if (file.api_version != kConfigApiVersion) {
    findings.Error(FieldPath("apiVersion"),
                   fmt::format("\"{}\": must be {}", file.api_version, kConfigApiVersion));
  }
  if (file.kind != "KubeSchedulerConfiguration") {
    findings.Error(FieldPath("kind"),
                   fmt::format("\"{}\": must be KubeSchedulerConfiguration", file.kind));
  }
}

void ReadBackoff(const ConfigFile& file, Config& config, Findings& findings) {
  const std::int64_t initial = file.pod_initial_backoff_seconds.value_or(1);
  const std::int64_t max = file.pod_max_backoff_seconds.value_or(10);
  constexpr std::int64_t kLongest = 1'000'000'000;  // as nanoseconds it must still be a number
  if (initial <= 0 || initial > kLongest) {
    findings.Error(FieldPath("podInitialBackoffSeconds"),
                   fmt::format("{}: must be from 1 to {}", initial, kLongest));
  } else if (max < initial || max > kLongest) {
    findings.Error(FieldPath("podMaxBackoffSeconds"),
                   fmt::format("{}: must be from podInitialBackoffSeconds, {}, to {}", max, initial,
                               kLongest));
  } else {
    config.initial_backoff = std::chrono::seconds(initial);
    config.max_backoff = std::chrono::seconds(max);
  }
}

void ReadParallelism(const ConfigFile& file, Config& config, Findings& findings) {
  const std::int32_t parallelism = file.parallelism.value_or(0);
  if (parallelism < 0) {
    findings.Error(
        FieldPath("parallelism"),
        fmt::format("{}: must be 1 or more, or 0 for as many as there are cores", parallelism));
  } else {
    config.parallelism = parallelism;
  }
}

void ReadProfiles(const ConfigFile& file, Config& config, Findings& findings) {
  if (file.profiles.empty()) return;
  config.profiles.clear();
  for (std::size_t i = 0; i < file.profiles.size(); ++i) {
    const FileProfile& from = file.profiles[i];
    const FieldPath at = FieldPath("profiles").Index(i);
    Profile profile;
    if (from.scheduler_name) profile.scheduler_name = *from.scheduler_name;
    const bool defaulted = !from.scheduler_name && file.profiles.size() == 1;
    if (!defaulted && (!from.scheduler_name || from.scheduler_name->empty())) {
      findings.Error(at / "schedulerName", "must be set, so that pods can name it");
    } else if (std::ranges::find(config.profiles, profile.scheduler_name,
                                 &Profile::scheduler_name) != config.profiles.end()) {
      findings.Error(at / "schedulerName",
                     fmt::format("\"{}\": must not be another profile's", profile.scheduler_name));
    }
    if (!from.percentage_of_nodes_to_score.text.empty()) {
      findings.Unused(at / "percentageOfNodesToScore", "all nodes are always looked at");
    }
    ReadPlugins(from.plugins, at / "plugins", profile, findings);
    ReadPluginConfig(from.plugin_config, at / "pluginConfig", profile, findings);
    config.profiles.push_back(std::move(profile));
  }
}

}  // namespace
}  // namespace internal

StatusOr<LoadedConfig> ReadConfig(std::string_view yaml) {
  std::vector<api::Diagnostic> diagnostics;
  const std::vector<api::DocumentNode> documents = api::ParseYaml(yaml, diagnostics);
  if (!diagnostics.empty()) {
    const api::Diagnostic& first = diagnostics.front();
    return base::InvalidArgument(fmt::format("line {}: {}", first.position.line, first.message));
  }
  if (documents.size() != 1) {
    return base::InvalidArgument(fmt::format(
        "must hold one KubeSchedulerConfiguration, found {} documents", documents.size()));
  }
  if (documents[0].kind != api::DocumentNode::Kind::kMap) {
    return base::InvalidArgument("must hold a KubeSchedulerConfiguration, an object");
  }
  internal::ConfigFile file;
  internal::Findings findings;
  internal::Decode(documents[0], {}, api::TypeInfoOf<internal::ConfigFile>(), &file, findings);
  LoadedConfig loaded;
  // What is of a wrong type was read as nothing: to judge that too would be a second complaint.
  if (findings.errors.empty()) {
    internal::CheckType(file, findings);
    internal::ReadBackoff(file, loaded.config, findings);
    internal::ReadParallelism(file, loaded.config, findings);
    internal::ReadProfiles(file, loaded.config, findings);
    internal::ReadProcess(file, loaded, findings);
  }
  for (const internal::UnusedField& field : internal::kUnused) {
    if (!(file.*field.value).text.empty()) {
      findings.Unused(base::FieldPath(field.name), field.why);
    }
  }
  if (!findings.errors.empty()) {
    return base::InvalidArgument(fmt::format("{}", fmt::join(findings.errors, "; ")));
  }
  loaded.notes = std::move(findings.notes);
  return loaded;
}

}  // namespace dray::scheduler
