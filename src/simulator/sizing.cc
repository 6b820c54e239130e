// SPDX-License-Identifier: Apache-2.0
#include "simulator/sizing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "api/json.h"
#include "api/json_tree.h"
#include "fmt/format.h"
#include "simulator/internal/units.h"

namespace dray::simulator {
namespace {

using internal::ShortTime;

std::string Nodes(std::int64_t n) { return n == 1 ? "1 node" : fmt::format("{} nodes", n); }
std::string Pods(std::int64_t n) { return n == 1 ? "1 pod" : fmt::format("{} pods", n); }

NodeGroup* FindGroup(Scenario& scenario, std::string_view name) {
  const auto found = std::ranges::find(scenario.node_groups, name, &NodeGroup::name);
  return found == scenario.node_groups.end() ? nullptr : &*found;
}

// Each number of nodes is run once.
class Search {
 public:
  Search(Scenario scenario, std::string_view group, const RunScenario& run)
      : scenario_(std::move(scenario)), group_(*FindGroup(scenario_, group)), run_(run) {}

  StatusOr<bool> Fits(std::int64_t nodes) {
    if (const auto known = runs_.find(nodes); known != runs_.end()) return known->second.fits();
    group_.count = nodes;
    DRAY_ASSIGN_OR_RETURN(const Result result, run_(scenario_));
    SizingRun& run = runs_[nodes];
    run.nodes = nodes;
    run.without_node = result.pods.refused + result.pods.pending;
    run.longest_wait = result.waiting.max;
    if (!result.reasons.empty()) run.reason = result.reasons.front().text;
    created_ = std::max(created_, result.pods.created + result.pods.warm_up);
    return run.fits();
  }

  // Of the runs so far; pods come again when their node is lost, and more of them on more nodes.
  std::int64_t created() const { return created_; }
  std::vector<SizingRun> Runs() const {
    std::vector<SizingRun> runs;
    for (const auto& [nodes, run] : runs_) runs.push_back(run);
    return runs;
  }

 private:
  Scenario scenario_;
  NodeGroup& group_;
  const RunScenario& run_;
  std::map<std::int64_t, SizingRun> runs_;
  std::int64_t created_ = 0;
};

}  // namespace

const SizingRun* Sizing::Find(std::int64_t nodes) const {
  const auto found = std::ranges::find(runs, nodes, &SizingRun::nodes);
  return found == runs.end() ? nullptr : &*found;
}

StatusOr<Sizing> FindEnoughNodes(const Scenario& scenario, std::string_view group,
                                 std::int64_t most, const RunScenario& run) {
  Scenario copy = scenario;
  const NodeGroup* found = FindGroup(copy, group);
  if (found == nullptr) return base::NotFound(fmt::format("there is no node group \"{}\"", group));
  Sizing sizing{.group = std::string(group), .given = found->count};
  Search search(scenario, group, run);

  // Up, twice as many each time, until it fits; from there down between the two.
  std::int64_t too_few = -1;  // does not fit; -1: not known of any
  std::int64_t enough = sizing.given;
  for (;;) {
    DRAY_ASSIGN_OR_RETURN(const bool fits, search.Fits(enough));
    if (fits) break;
    too_few = enough;
    // A node for each pod, on top of what was there, is as good as any number.
    const std::int64_t limit = std::min(most, sizing.given + search.created());
    if (enough >= limit) {
      sizing.runs = search.Runs();
      return sizing;
    }
    enough = std::min(limit, std::max<std::int64_t>(enough * 2, enough + 1));
  }
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    DRAY_ASSIGN_OR_RETURN(const bool fits, search.Fits(middle));
    (fits ? enough : too_few) = middle;
  }
  sizing.enough = enough;
  sizing.runs = search.Runs();
  return sizing;
}

std::string ToText(const Sizing& sizing) {
  std::string text;
  if (sizing.enough) {
    text = fmt::format("{} of group {} are enough", Nodes(*sizing.enough), sizing.group);
    if (sizing.enough == 1) text = fmt::format("1 node of group {} is enough", sizing.group);
    if (const SizingRun* fewer = sizing.Find(*sizing.enough - 1)) {
      text += fmt::format(
          "; with {} of them, {} without a node at the end", fewer->nodes,
          fewer->without_node == 1 ? "1 pod is" : fmt::format("{} pods are", fewer->without_node));
    }
    text += *sizing.enough == sizing.given ? "; the scenario has as many.\n"
                                           : fmt::format("; the scenario has {}.\n", sizing.given);
  } else {
    const SizingRun& last = sizing.runs.back();
    text = fmt::format(
        "No number of nodes of group {} is enough: with {} of them, {} still without a node",
        sizing.group, last.nodes,
        last.without_node == 1 ? "1 pod is" : Pods(last.without_node) + " are");
    if (!last.reason.empty()) text += fmt::format(" ({})", last.reason);
    text += ".\n";
  }
  std::vector<std::array<std::string, 4>> rows = {
      {"NODES", "STILL PENDING", "LONGEST WAIT", "MOST FREQUENT REASON"}};
  for (const SizingRun& run : sizing.runs) {
    rows.push_back({std::to_string(run.nodes), std::to_string(run.without_node),
                    ShortTime(run.longest_wait), run.reason.empty() ? "-" : run.reason});
  }
  text += '\n';
  for (const auto& row : rows) {
    text += fmt::format("{:<8}{:<16}{:<15}{}\n", row[0], row[1], row[2], row[3]);
  }
  return text;
}

std::string ToJson(const Sizing& sizing) {
  using api::json::Bool;
  using api::json::Entry;
  using api::json::List;
  using api::json::Map;
  using api::json::Number;
  using api::json::String;
  const auto number = [](std::int64_t n) { return Number(static_cast<std::size_t>(n)); };
  std::vector<api::DocumentNode> runs;
  for (const SizingRun& run : sizing.runs) {
    api::DocumentNode seconds;
    seconds.kind = api::DocumentNode::Kind::kNumber;
    seconds.text = fmt::format("{}", std::chrono::duration<double>(run.longest_wait).count());
    if (seconds.text.ends_with(".0")) seconds.text.resize(seconds.text.size() - 2);
    runs.push_back(Map({{"nodes", number(run.nodes)},
                        {"withoutNode", number(run.without_node)},
                        {"longestWait", std::move(seconds)},
                        {"fits", Bool(run.fits())},
                        {"reason", String(run.reason)}}));
  }
  std::vector<Entry> entries = {{"group", String(sizing.group)}, {"given", number(sizing.given)}};
  if (sizing.enough) entries.push_back({"enough", number(*sizing.enough)});
  entries.push_back({"runs", List(std::move(runs))});
  return api::IndentJson(api::ToJson(Map(std::move(entries))), 2) + "\n";
}

}  // namespace dray::simulator
