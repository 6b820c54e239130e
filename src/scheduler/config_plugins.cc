// SPDX-License-Identifier: Apache-2.0
//
// Which plugins a profile has. In Kubernetes each extension point has its own list; here a plugin
// is on or off as a whole, and may besides not score. What a file says beyond that is noted.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>

#include "fmt/format.h"
#include "scheduler/internal/config_reader.h"
#include "scheduler/plugins/default_plugins.h"

namespace dray::scheduler::internal {
namespace {

using base::FieldPath;

using Points = std::uint16_t;  // a bit per extension point
constexpr Points kPreEnqueue = 1;
constexpr Points kPreFilter = 2;
constexpr Points kFilter = 4;
constexpr Points kPostFilter = 8;
constexpr Points kPreScore = 16;
constexpr Points kScore = 32;
constexpr Points kReserve = 64;
constexpr Points kPreBind = 128;
constexpr Points kScoring = kPreScore | kScore;
constexpr Points kFiltering = kPreFilter | kFilter;

struct PluginRow {
  std::string_view name;
  Points points;
};
// In the order in which they are asked.
constexpr std::array<PluginRow, 17> kPlugins = {{
    {"SchedulingGates", kPreEnqueue},
    {"NodeName", kFilter},
    {"NodeUnschedulable", kFilter},
    {"TaintToleration", kFilter | kScoring},
    {"NodeAffinity", kFiltering | kScoring},
    {"NodePorts", kFiltering},
    {"NodeDeclaredFeatures", kFiltering},
    {"NodeResourcesFit", kFiltering | kScoring},
    {"VolumeRestrictions", kPreFilter},
    {"NodeVolumeLimits", kFiltering},
    {"VolumeBinding", kFiltering | kReserve | kPreBind},
    {"PodTopologySpread", kFiltering | kScoring},
    {"InterPodAffinity", kFiltering | kScoring},
    {"DynamicResources", kPreEnqueue | kFiltering | kPostFilter | kScore | kReserve | kPreBind},
    {"DeviceFragmentation", kScoring},
    {"DefaultPreemption", kPostFilter},
    {"NodeResourcesBalancedAllocation", kScoring},
}};
// Part of every scheduler here, whatever a file says.
constexpr std::array<std::string_view, 2> kAlways = {"PrioritySort", "DefaultBinder"};
constexpr std::array<std::string_view, 6> kNotHere = {
    "DeferredPodScheduling",      "GangScheduling", "ImageLocality", "PodGroupPodsCount",
    "TopologyPlacementGenerator", "VolumeZone"};

struct PointRow {
  std::string_view name;
  FilePluginSet FilePlugins::*set;
  Points point;  // 0: no plugin here has it
};
constexpr std::array<PointRow, 15> kPoints = {{
    {"preEnqueue", &FilePlugins::pre_enqueue, kPreEnqueue},
    {"queueSort", &FilePlugins::queue_sort, 0},
    {"preFilter", &FilePlugins::pre_filter, kPreFilter},
    {"filter", &FilePlugins::filter, kFilter},
    {"postFilter", &FilePlugins::post_filter, kPostFilter},
    {"preScore", &FilePlugins::pre_score, kPreScore},
    {"score", &FilePlugins::score, kScore},
    {"reserve", &FilePlugins::reserve, kReserve},
    {"permit", &FilePlugins::permit, 0},
    {"preBind", &FilePlugins::pre_bind, kPreBind},
    {"bind", &FilePlugins::bind, 0},
    {"postBind", &FilePlugins::post_bind, 0},
    {"placementGenerate", &FilePlugins::placement_generate, 0},
    {"placementScore", &FilePlugins::placement_score, 0},
    {"podGroupPostFilter", &FilePlugins::pod_group_post_filter, 0},
}};

struct PluginState {
  Points on = 0;
  std::int64_t weight = 0;
};
using States = std::array<PluginState, kPlugins.size()>;

std::optional<std::size_t> IndexOf(std::string_view name) {
  const auto it = std::ranges::find(kPlugins, name, &PluginRow::name);
  if (it == kPlugins.end()) return std::nullopt;
  return static_cast<std::size_t>(it - kPlugins.begin());
}
template <typename List>
bool Contains(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// The weight that an entry of an enabled list gives; 0 and none mean 1, whatever the default is.
std::int64_t WeightOf(const FilePlugin& plugin, const FieldPath& at, Findings& findings) {
  const std::int64_t weight = plugin.weight.value_or(1);
  if (weight < 0) {
    findings.Error(at / "weight", fmt::format("{}: must not be negative", weight));
  }
  return weight == 0 ? 1 : weight;
}

// `point`: which the list is for, 0 for one that no plugin here has; all: multiPoint.
void Enable(const std::vector<FilePlugin>& list, const FieldPath& at, std::string_view point_name,
            Points point, States& states, Findings& findings) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const FieldPath here = at.Index(i);
    const std::string& name = list[i].name;
    const FieldPath name_at = here / "name";
    if (!seen.insert(name).second) {
      findings.Error(name_at, fmt::format("\"{}\": is enabled twice", name));
    } else if (Contains(kNotHere, name)) {
      findings.Unused(name_at, fmt::format("there is no {} here", name));
    } else if (Contains(kAlways, name)) {
      continue;
    } else if (const auto index = IndexOf(name); !index) {
      findings.Error(
          name_at, fmt::format("\"{}\": no such plugin{}", name, DidYouMean(name, PluginNames())));
    } else if ((kPlugins[*index].points & point) == 0) {
      findings.Error(name_at, fmt::format("\"{}\": has nothing to do in {}", name, point_name));
    } else {
      states[*index].on |= kPlugins[*index].points & point;
      if ((point & kScore) != 0) states[*index].weight = WeightOf(list[i], here, findings);
    }
  }
}

void Disable(const std::vector<FilePlugin>& list, const FieldPath& at, Points point, States& states,
             Findings& findings) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string& name = list[i].name;
    const FieldPath name_at = at.Index(i) / "name";
    if (name == "*") {
      for (PluginState& state : states) state.on &= static_cast<Points>(~point);
    } else if (const auto index = IndexOf(name)) {
      states[*index].on &= static_cast<Points>(~point);
    } else if (Contains(kAlways, name)) {
      findings.Unused(name_at, fmt::format("{} is always there", name));
    } else if (!Contains(kNotHere, name)) {
      findings.Note(name_at,
                    fmt::format("\"{}\": no such plugin{}", name, DidYouMean(name, PluginNames())));
    }
  }
}

void Conclude(const PluginRow& row, const PluginState& state, const FieldPath& at, Profile& profile,
              Findings& findings) {
  const Points work = row.points & static_cast<Points>(~kScoring);
  const bool scores = (state.on & kScore) != 0;
  if ((state.on & work) == 0 && !scores) {
    profile.disabled.emplace_back(row.name);
    return;
  }
  if ((state.on & work) != work) {
    findings.Unused(at, fmt::format("{} is switched off for some extension points only; it is on "
                                    "or off as a whole here, and stays on",
                                    row.name));
  }
  const std::int64_t weight = scores ? state.weight : 0;
  if (weight != DefaultScoreWeight(row.name))
    profile.score_weights.push_back({std::string(row.name), weight});
}

}  // namespace

std::vector<std::string_view> PluginNames() {
  std::vector<std::string_view> names;
  for (const PluginRow& row : kPlugins) names.push_back(row.name);
  names.insert(names.end(), kAlways.begin(), kAlways.end());
  names.insert(names.end(), kNotHere.begin(), kNotHere.end());
  return names;
}

void ReadPlugins(const FilePlugins& plugins, const FieldPath& at, Profile& profile,
                 Findings& findings) {
  constexpr Points kAll = ~Points{0};
  States states;
  for (std::size_t i = 0; i < kPlugins.size(); ++i) {
    states[i] = {kPlugins[i].points, DefaultScoreWeight(kPlugins[i].name)};
  }
  // What a list of one point says goes before what multiPoint says, and within one list what is
  // enabled goes before what is disabled.
  const FieldPath multi = at / "multiPoint";
  Disable(plugins.multi_point.disabled, multi / "disabled", kAll, states, findings);
  Enable(plugins.multi_point.enabled, multi / "enabled", "multiPoint", kAll, states, findings);
  for (const PointRow& row : kPoints) {
    const FilePluginSet& set = plugins.*row.set;
    Disable(set.disabled, at / row.name / "disabled", row.point, states, findings);
    Enable(set.enabled, at / row.name / "enabled", row.name, row.point, states, findings);
  }
  for (std::size_t i = 0; i < kPlugins.size(); ++i) {
    Conclude(kPlugins[i], states[i], at, profile, findings);
  }
  std::ranges::sort(profile.disabled);
}

}  // namespace dray::scheduler::internal
