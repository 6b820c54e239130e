// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explanation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "allocator/explanation.h"
#include "fmt/format.h"

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

}  // namespace dray::scheduler
