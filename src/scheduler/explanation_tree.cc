// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/explanation.h"
#include "fmt/format.h"
#include "scheduler/explain_groups.h"
#include "scheduler/explanation.h"
#include "scheduler/explanation_text.h"

namespace dray::scheduler {
namespace {

struct Branch {
  std::string text;
  std::vector<Branch> branches;
  std::vector<std::string> below;  // a tree that is drawn already, by lines
};

void Write(const std::vector<Branch>& branches, const std::string& indent, std::string& out) {
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const bool last = i + 1 == branches.size();
    out += fmt::format("{}{}{}\n", indent, last ? "└─ " : "├─ ", branches[i].text);
    const std::string deeper = indent + (last ? "   " : "│  ");
    Write(branches[i].branches, deeper, out);
    for (const std::string& line : branches[i].below) out += fmt::format("{}{}\n", deeper, line);
  }
}

// The allocator's tree without its first line, which has the summary: a branch per claim and pool.
std::vector<Branch> DeviceBranches(const allocator::Explanation& devices) {
  std::vector<Branch> branches;
  const std::string text = allocator::ToText(devices);
  for (std::size_t at = text.find('\n') + 1; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const bool drawn = line.starts_with("├") || line.starts_with("└") || line.starts_with("│") ||
                       line.starts_with(" ");
    if (drawn && !branches.empty()) {
      branches.back().below.push_back(std::move(line));
    } else {
      branches.push_back({std::move(line)});
    }
  }
  return branches;
}

// Whether the summary is no more than what the branch of its only request says.
bool SaidBelow(const allocator::Explanation& devices) {
  if (devices.conflict.size() != 1 || devices.conflict.front().constraint) return false;
  const allocator::ConflictMember& member = devices.conflict.front();
  const auto& request = devices.claims[static_cast<std::size_t>(member.claim)]
                            .requests[static_cast<std::size_t>(member.index)];
  if (request.alternatives.size() != 1) return false;
  const allocator::AlternativeReport& report = request.alternatives.front();
  return report.error.empty() && report.usable < report.needed;
}

Branch BranchOf(const Reason& reason, bool devices) {
  Branch branch{.text = reason.plugin.empty() ? reason.text
                                              : fmt::format("{} ({})", reason.text, reason.plugin)};
  if (reason.devices != nullptr) {
    std::vector<Branch> details;
    if (devices) details = DeviceBranches(*reason.devices);
    if (details.empty() || !SaidBelow(*reason.devices)) {
      branch.branches.push_back({reason.devices->summary});
    }
    for (Branch& detail : details) {
      // Other nodes of the group say the same; who holds what there may differ.
      if (!reason.devices->node.empty()) {
        detail.text += fmt::format(", on {}", reason.devices->node);
      }
      branch.branches.push_back(std::move(detail));
    }
    return branch;
  }
  for (const Reason::Shortage& shortage : reason.shortages) {
    if (shortage.needed.empty()) continue;
    branch.branches.push_back(
        {fmt::format("{}: {} needed, {} free", shortage.what, shortage.needed, shortage.free)});
  }
  return branch;
}

std::vector<Branch> BranchesOf(const std::vector<Reason>& reasons, bool devices) {
  std::vector<Branch> branches;
  for (const Reason& reason : reasons) branches.push_back(BranchOf(reason, devices));
  return branches;
}

std::string NamesOf(const std::vector<std::string>& names, std::size_t in_all) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return in_all > names.size() ? text + ", ..." : text;
}

std::string Nodes(std::size_t n) { return n == 1 ? "1 node" : fmt::format("{} nodes", n); }

}  // namespace

std::vector<NodeLine> LinesOf(const PodExplanation& explanation) {
  std::vector<NodeLine> lines;
  std::vector<NodeLine> without;  // by class
  const std::vector<const NodeGroup*> groups = NearestFirst(explanation);
  const bool all_without = std::ranges::all_of(
      groups, [](const NodeGroup* group) { return !ClassNotThere(group->reasons).empty(); });
  for (const NodeGroup* group : groups) {
    const std::string_view missing = ClassNotThere(group->reasons);
    if (missing.empty() || all_without) {
      lines.push_back({.groups = {group}, .nodes = group->nodes, .names = group->examples});
      continue;
    }
    auto it = std::ranges::find(without, missing, &NodeLine::class_not_there);
    if (it == without.end()) {
      it = without.insert(without.end(), NodeLine{.class_not_there = std::string(missing)});
    }
    it->groups.push_back(group);
    it->nodes += group->nodes;
    for (const std::string& name : group->examples) {
      if (it->names.size() < kNamedNodes) it->names.push_back(name);
    }
  }
  std::ranges::move(without, std::back_inserter(lines));
  return lines;
}

std::string HeadOf(const NodeLine& line) {
  return fmt::format("{}: {}", Nodes(line.nodes), NamesOf(line.names, line.nodes));
}

std::string ToText(const PodExplanation& explanation) { return ToText(explanation, {}); }

std::string NoNodeCan(std::size_t nodes) {
  if (nodes == 0) return "";
  return nodes == 1 ? ": the only node cannot run it"
                    : fmt::format(": none of the {} nodes can run it", nodes);
}

std::string ToText(const PodExplanation& explanation, const TextOptions& options) {
  std::vector<Branch> branches = BranchesOf(explanation.before, options.devices);
  if (explanation.closest) {
    branches.push_back({fmt::format("nearest fit: node {}, {}", explanation.closest->node,
                                    explanation.closest->lacks)});
  }
  for (const NodeLine& line : LinesOf(explanation)) {
    if (line.class_not_there.empty()) {
      branches.push_back({HeadOf(line), BranchesOf(line.groups.front()->reasons, options.devices)});
    } else {
      branches.push_back({fmt::format("{} without devices of class {}: {}", Nodes(line.nodes),
                                      line.class_not_there, NamesOf(line.names, line.nodes))});
    }
  }
  for (const Reason& reason : explanation.after) {
    branches.push_back(BranchOf(reason, options.devices));
  }
  if (!explanation.error.empty()) branches.push_back({explanation.error});
  std::string out = options.heading;
  if (out.empty()) {
    out = fmt::format("Pod {} is pending{}", explanation.pod, NoNodeCan(explanation.nodes));
  }
  out += '\n';
  Write(branches, "", out);
  return out;
}

}  // namespace dray::scheduler
