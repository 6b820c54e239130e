// SPDX-License-Identifier: Apache-2.0
//
// Arguments of plugins.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "api/node.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "base/names.h"
#include "base/time.h"
#include "fmt/format.h"
#include "scheduler/internal/config_reader.h"

namespace dray::scheduler::internal {
namespace {

using base::FieldPath;

void CheckRange(std::int64_t value, std::int64_t min, std::int64_t max, const FieldPath& at,
                Findings& findings) {
  if (value >= min && value <= max) return;
  findings.Error(at, fmt::format("{}: must be from {} to {}", value, min, max));
}

void CheckResourceName(const std::string& name, const FieldPath& at, Findings& findings) {
  if (base::IsLabelKey(name)) return;
  findings.Error(at, fmt::format("\"{}\": must be a resource's name, like example.com/gpu", name));
}

std::optional<ScoringStrategy> StrategyOf(std::string_view type) {
  if (type == "LeastAllocated") return ScoringStrategy::kLeastAllocated;
  if (type == "MostAllocated") return ScoringStrategy::kMostAllocated;
  if (type == "RequestedToCapacityRatio") return ScoringStrategy::kRequestedToCapacityRatio;
  return std::nullopt;
}

std::vector<ShapePoint> ReadShape(const std::vector<FileShapePoint>& points, const FieldPath& at,
                                  Findings& findings) {
  std::vector<ShapePoint> shape;
  if (points.empty()) findings.Error(at, "must have at least one point");
  for (std::size_t i = 0; i < points.size(); ++i) {
    const FileShapePoint& point = points[i];
    const FieldPath here = at.Index(i);
    CheckRange(point.utilization, 0, 100, here / "utilization", findings);
    CheckRange(point.score, 0, 10, here / "score", findings);
    if (i > 0 && point.utilization <= points[i - 1].utilization) {
      findings.Error(here / "utilization",
                     fmt::format("{}: must be above the point before, {}", point.utilization,
                                 points[i - 1].utilization));
    }
    shape.push_back({point.utilization, point.score});
  }
  return shape;
}

void ReadStrategy(const FileScoringStrategy& strategy, const FieldPath& at, FitArgs& fit,
                  Findings& findings) {
  const auto type = StrategyOf(strategy.type);
  if (!type) {
    findings.Error(at / "type", fmt::format("\"{}\": must be LeastAllocated, MostAllocated or "
                                            "RequestedToCapacityRatio",
                                            strategy.type));
    return;
  }
  fit.strategy = *type;
  if (!strategy.resources.empty()) fit.resources.clear();
  for (std::size_t i = 0; i < strategy.resources.size(); ++i) {
    const FileResource& resource = strategy.resources[i];
    const FieldPath here = (at / "resources").Index(i);
    CheckResourceName(resource.name, here / "name", findings);
    const std::int64_t weight = resource.weight == 0 ? 1 : resource.weight;
    CheckRange(weight, 1, 100, here / "weight", findings);
    fit.resources.push_back({resource.name, weight});
  }
  const FieldPath ratio_at = at / "requestedToCapacityRatio";
  const bool wanted = *type == ScoringStrategy::kRequestedToCapacityRatio;
  if (wanted != strategy.requested_to_capacity_ratio.has_value()) {
    findings.Error(ratio_at, fmt::format("must {}be set when type is {}", wanted ? "" : "not ",
                                         strategy.type));
  } else if (wanted) {
    fit.shape =
        ReadShape(strategy.requested_to_capacity_ratio->shape, ratio_at / "shape", findings);
  }
}

void Apply(const FileFitArgs& args, const FieldPath& at, Profile& profile, Findings& findings) {
  for (std::size_t i = 0; i < args.ignored_resources.size(); ++i) {
    CheckResourceName(args.ignored_resources[i], (at / "ignoredResources").Index(i), findings);
  }
  for (std::size_t i = 0; i < args.ignored_resource_groups.size(); ++i) {
    const std::string& group = args.ignored_resource_groups[i];
    if (base::IsLabelKey(group) && group.find('/') == std::string::npos) continue;
    findings.Error(
        (at / "ignoredResourceGroups").Index(i),
        fmt::format("\"{}\": must be what stands before the '/' of a resource's name", group));
  }
  profile.fit.ignored_resources = args.ignored_resources;
  profile.fit.ignored_resource_groups = args.ignored_resource_groups;
  if (args.scoring_strategy) {
    ReadStrategy(*args.scoring_strategy, at / "scoringStrategy", profile.fit, findings);
  }
}

void ReadTimeout(const std::optional<std::string>& text, std::chrono::nanoseconds min,
                 const FieldPath& at, std::chrono::nanoseconds& timeout, Findings& findings) {
  if (!text) return;
  const auto parsed = base::ParseGoDuration(*text);
  if (parsed.ok() && *parsed >= min) {
    timeout = *parsed;
  } else {
    findings.Error(at, fmt::format("\"{}\": must be a duration of at least {}, like 1m30s", *text,
                                   base::GoDurationToString(min)));
  }
}

void Apply(const FileDynamicResourcesArgs& args, const FieldPath& at, Profile& profile,
           Findings& findings) {
  DynamicResourcesArgs& to = profile.dynamic_resources;
  ReadTimeout(args.filter_timeout, {}, at / "filterTimeout", to.filter_timeout, findings);
  ReadTimeout(args.binding_timeout, std::chrono::seconds(1), at / "bindingTimeout",
              to.binding_timeout, findings);
  const auto names = [&](const std::vector<std::string>& list, const FieldPath& where,
                         std::string_view what) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (base::IsDnsSubdomain(list[i])) continue;
      findings.Error(where.Index(i), fmt::format("\"{}\": must be the name of {}", list[i], what));
    }
    return list;
  };
  to.drivers = names(args.drivers, at / "drivers", "a driver, like gpu.example.com");
  to.device_classes = names(args.device_classes, at / "deviceClasses", "a DeviceClass");
  if (args.policy.empty()) return;
  profile.policy = allocator::FindPolicy(args.policy);
  if (!profile.policy) {
    findings.Error(at / "policy",
                   fmt::format("\"{}\": must be {}", args.policy, allocator::PolicyNames(" or ")));
  }
}

// As in a claim: its defaults and its rules.
TypicalRequest ReadTypical(const FileTypicalRequest& file, const FieldPath& at,
                           Findings& findings) {
  TypicalRequest typical{.weight = file.weight.value_or(1), .resources = file.resources};
  CheckRange(typical.weight, 1, 1'000'000, at / "weight", findings);
  for (const auto& [name, amount] : file.resources) {
    if (name.view() != api::kResourceCpu && name.view() != api::kResourceMemory) {
      findings.Error(at / "resources", fmt::format("\"{}\": must be {} or {}", name.view(),
                                                   api::kResourceCpu, api::kResourceMemory));
    } else if (amount.ClampedNano() < 0) {
      findings.Error(at / "resources",
                     fmt::format("{}: {}: must not be negative", name.view(), amount.ToString()));
    }
  }
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "default";
  claim.metadata.name = "typical";
  claim.spec.devices = file.devices;
  api::Object object = api::Object::Of(std::move(claim));
  api::SetDefaults(object, {});
  if (!file.devices.requests.empty()) {
    for (const api::FieldError& error : api::ValidateCreate(object, {})) {
      findings.Error(at, error.Message());
    }
  }
  typical.devices = object.As<api::ResourceClaim>()->spec.devices;
  return typical;
}

void Apply(const FileFragmentationArgs& args, const FieldPath& at, Profile& profile,
           Findings& findings) {
  DeviceFragmentationArgs& to = profile.fragmentation;
  to.sequences = args.sequences.value_or(to.sequences);
  to.seed = args.seed.value_or(to.seed);
  to.half_life = args.half_life.value_or(to.half_life);
  CheckRange(to.sequences, 1, 1024, at / "sequences", findings);
  CheckRange(to.half_life, 100, 1'000'000'000, at / "halfLife", findings);
  for (std::size_t i = 0; i < args.requests.size(); ++i) {
    to.requests.push_back(ReadTypical(args.requests[i], (at / "requests").Index(i), findings));
  }
}

void Apply(const FileNodeAffinityArgs& args, const FieldPath&, Profile& profile, Findings&) {
  profile.node_affinity.added_affinity = args.added_affinity;
}

void Apply(const FilePreemptionArgs& args, const FieldPath& at, Profile& profile,
           Findings& findings) {
  DefaultPreemptionArgs& to = profile.preemption;
  to.min_candidate_nodes_percentage =
      args.min_candidate_nodes_percentage.value_or(to.min_candidate_nodes_percentage);
  to.min_candidate_nodes_absolute =
      args.min_candidate_nodes_absolute.value_or(to.min_candidate_nodes_absolute);
  to.devices = args.devices.value_or(to.devices);
  CheckRange(to.min_candidate_nodes_percentage, 0, 100, at / "minCandidateNodesPercentage",
             findings);
  CheckRange(to.min_candidate_nodes_absolute, 0, INT32_MAX, at / "minCandidateNodesAbsolute",
             findings);
  if (to.min_candidate_nodes_percentage == 0 && to.min_candidate_nodes_absolute == 0) {
    findings.Error(at / "minCandidateNodesPercentage",
                   "0: must not be 0 together with minCandidateNodesAbsolute");
  }
}

void Apply(const FileVolumeBindingArgs& args, const FieldPath& at, Profile& profile,
           Findings& findings) {
  if (args.bind_timeout_seconds) {
    CheckRange(*args.bind_timeout_seconds, 0, INT32_MAX, at / "bindTimeoutSeconds", findings);
    profile.volume_binding.timeout = std::chrono::seconds(*args.bind_timeout_seconds);
  }
  if (args.shape) findings.Unused(at / "shape", "nodes are not scored by their storage");
}

// A plugin's arguments may say of what kind they are; then it must be theirs.
void CheckArgsType(std::string_view plugin, const std::string& api_version, const std::string& kind,
                   const FieldPath& at, Findings& findings) {
  if (!api_version.empty() && api_version != kConfigApiVersion) {
    findings.Error(at / "apiVersion",
                   fmt::format("\"{}\": must be {}", api_version, kConfigApiVersion));
  }
  if (!kind.empty() && kind != fmt::format("{}Args", plugin)) {
    findings.Error(at / "kind", fmt::format("\"{}\": must be {}Args", kind, plugin));
  }
}

template <typename Args>
void Read(std::string_view plugin, const api::DocumentNode& node, const FieldPath& at,
          Profile& profile, Findings& findings) {
  Args args;
  const std::size_t before = findings.errors.size();
  Decode(node, at, api::TypeInfoOf<Args>(), &args, findings);
  if (findings.errors.size() != before) return;
  CheckArgsType(plugin, args.api_version, args.kind, at, findings);
  Apply(args, at, profile, findings);
}

// Arguments that Kubernetes's plugins have and ours do not.
struct UnusedArgs {
  std::string_view plugin;
  std::array<std::string_view, 2> fields;
  std::string_view why;
};
constexpr std::array<UnusedArgs, 3> kUnusedArgs = {{
    {"InterPodAffinity",
     {"hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"},
     "required terms of other pods weigh 1, and preferred ones count"},
    {"NodeResourcesBalancedAllocation", {"resources", ""}, "cpu and memory are balanced"},
    {"PodTopologySpread",
     {"defaultConstraints", "defaultingType"},
     "only a pod's own constraints count"},
}};

void NoteUnused(const UnusedArgs& row, const api::DocumentNode& node, const FieldPath& at,
                Findings& findings) {
  for (const api::Member& member : node.members) {
    if (member.key == "apiVersion" || member.key == "kind") continue;
    const FieldPath here = at / member.key;
    if (std::ranges::find(row.fields, member.key) != row.fields.end()) {
      findings.Unused(here, row.why);
    } else {
      findings.Note(here, fmt::format("unknown field{}",
                                      DidYouMean(member.key, {row.fields[0], row.fields[1]})));
    }
  }
}

void ReadArgs(const std::string& plugin, const api::DocumentNode& node, const FieldPath& at,
              Profile& profile, Findings& findings) {
  if (plugin == "NodeResourcesFit") return Read<FileFitArgs>(plugin, node, at, profile, findings);
  if (plugin == "DynamicResources") {
    return Read<FileDynamicResourcesArgs>(plugin, node, at, profile, findings);
  }
  if (plugin == "DeviceFragmentation") {
    return Read<FileFragmentationArgs>(plugin, node, at, profile, findings);
  }
  if (plugin == "NodeAffinity") {
    return Read<FileNodeAffinityArgs>(plugin, node, at, profile, findings);
  }
  if (plugin == "DefaultPreemption") {
    return Read<FilePreemptionArgs>(plugin, node, at, profile, findings);
  }
  if (plugin == "VolumeBinding") {
    return Read<FileVolumeBindingArgs>(plugin, node, at, profile, findings);
  }
  const auto row = std::ranges::find(kUnusedArgs, plugin, &UnusedArgs::plugin);
  if (row != kUnusedArgs.end()) return NoteUnused(*row, node, at, findings);
  findings.Unused(at, fmt::format("{} has no arguments", plugin));
}

}  // namespace

void ReadPluginConfig(const std::vector<FilePluginConfig>& configs, const FieldPath& at,
                      Profile& profile, Findings& findings) {
  std::set<std::string_view> seen;
  const std::vector<std::string_view> known = PluginNames();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const FilePluginConfig& config = configs[i];
    const FieldPath here = at.Index(i);
    if (!seen.insert(config.name).second) {
      findings.Error(here / "name", fmt::format("\"{}\": has arguments already", config.name));
    } else if (std::ranges::find(known, config.name) == known.end()) {
      findings.Note(here / "name", fmt::format("\"{}\": no such plugin{}", config.name,
                                               DidYouMean(config.name, known)));
    } else if (!config.args.text.empty()) {
      std::vector<api::Diagnostic> diagnostics;
      const api::DocumentNode node = api::ParseJson(config.args.text, diagnostics);
      if (node.kind != api::DocumentNode::Kind::kMap) {
        findings.Error(here / "args", fmt::format("{}: must be an object", config.args.text));
        continue;
      }
      ReadArgs(config.name, node, here / "args", profile, findings);
    }
  }
}

}  // namespace dray::scheduler::internal
