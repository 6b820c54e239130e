// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explanation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "allocator/explanation.h"
#include "fmt/format.h"
#include "scheduler/explanation_text.h"

namespace dray::scheduler {
namespace {

std::string Join(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

std::vector<std::string> Texts(const std::vector<Reason>& reasons) {
  std::vector<std::string> texts;
  for (const Reason& reason : reasons) texts.push_back(reason.text);
  return texts;
}

// "3 Insufficient cpu", sorted as text, as Kubernetes does it.
std::vector<std::string> Counted(const PodExplanation& explanation, bool details) {
  std::map<std::string, std::size_t> nodes;
  for (const NodeGroup& group : explanation.groups) {
    for (const Reason& reason : group.reasons) {
      std::string text = reason.text;
      if (details && reason.devices != nullptr && !reason.devices->summary.empty()) {
        text += ": " + reason.devices->summary;
      }
      nodes[text] += group.nodes;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [text, count] : nodes) parts.push_back(fmt::format("{} {}", count, text));
  std::ranges::sort(parts);
  return parts;
}

std::string Message(const PodExplanation& explanation, bool details) {
  if (!explanation.error.empty()) return explanation.error;
  std::string text = fmt::format("0/{} nodes are available:", explanation.nodes);
  if (!explanation.before.empty()) {
    text += fmt::format(" {}.", Join(Texts(explanation.before), ", "));
  } else if (explanation.groups.empty()) {
    return "no nodes available to schedule pods";
  } else {
    text += fmt::format(" {}.", Join(Counted(explanation, details), ", "));
  }
  if (details && explanation.closest) {
    text += fmt::format(" Nearest fit: node {}, {}.", explanation.closest->node,
                        explanation.closest->lacks);
  }
  if (!explanation.after.empty()) {
    text += fmt::format(" {}", Join(Texts(explanation.after), ". "));
  }
  return text;
}

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

Branch BranchOf(const Reason& reason, bool devices) {
  Branch branch{.text = reason.plugin.empty() ? reason.text
                                              : fmt::format("{} ({})", reason.text, reason.plugin)};
  if (reason.devices != nullptr) {
    branch.branches.push_back({reason.devices->summary});
    if (!devices) return branch;
    for (Branch& detail : DeviceBranches(*reason.devices)) {
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

std::string Nodes(std::size_t n) { return n == 1 ? "1 node" : fmt::format("{} nodes", n); }

}  // namespace

std::string EventMessage(const PodExplanation& explanation) {
  std::string text = Message(explanation, /*details=*/true);
  if (text.size() > kMaxEventMessage) text = Message(explanation, /*details=*/false);
  if (text.size() > kMaxEventMessage) {
    std::size_t end = kMaxEventMessage - 3;
    // Not in the middle of a character.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
    text += "...";
  }
  return text;
}

std::string ToText(const PodExplanation& explanation) { return ToText(explanation, {}); }

std::string NoNodeCan(std::size_t nodes) {
  if (nodes == 0) return "";
  return nodes == 1 ? ": the only node cannot run it"
                    : fmt::format(": none of the {} nodes can run it", nodes);
}

std::string ToText(const PodExplanation& explanation, const TextOptions& options) {
  std::vector<Branch> branches = BranchesOf(explanation.before, options.devices);
  for (const NodeGroup& group : explanation.groups) {
    std::string head = fmt::format("{}: {}", Nodes(group.nodes), Join(group.examples, ", "));
    if (group.nodes > group.examples.size()) head += ", ...";
    branches.push_back({std::move(head), BranchesOf(group.reasons, options.devices)});
  }
  if (explanation.closest) {
    branches.push_back({fmt::format("nearest fit: node {}, {}", explanation.closest->node,
                                    explanation.closest->lacks)});
  }
  for (const Reason& reason : explanation.after)
    branches.push_back(BranchOf(reason, options.devices));
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
