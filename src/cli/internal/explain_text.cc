// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/plan_text.h"
#include "fmt/format.h"
#include "scheduler/explanation_text.h"

namespace dray::cli::internal {
namespace {

using planner::State;

// ": none of the 3 nodes can run it", or what kept it from being tried.
std::string WhyPending(const scheduler::PodExplanation& why) {
  if (!why.before.empty() || !why.error.empty()) return "";
  if (why.nodes == 0) return ": there are no nodes";
  return scheduler::NoNodeCan(why.nodes);
}

// "Deployment/web": who asked for the pod in the first place.
std::string_view MakerOf(const planner::PodOutcome& pod) {
  return pod.owners.empty() ? std::string_view() : std::string_view(pod.owners.back());
}

// A server would not even take it.
bool IsTurnedAway(const std::optional<scheduler::PodExplanation>& why) {
  return why && !why->before.empty() && why->before.front().code == "exceeded_quota";
}

std::string HeadingOf(const planner::PodOutcome& pod) {
  const std::string name = fmt::format("Pod {}/{}", pod.namespace_, pod.name);
  if (IsTurnedAway(pod.explanation)) return fmt::format("{} cannot be created", name);
  // What is not there yet must not be mistaken for what is.
  const std::string made =
      pod.made ? fmt::format(", which {} would create,", MakerOf(pod)) : std::string();
  switch (pod.state) {
    case State::kExisting:
      return fmt::format("{} is on node {}", name, pod.node);
    case State::kPlaced:
      return fmt::format("{}{} would go to node {}", name, made, pod.node);
    case State::kWaiting:
      return fmt::format("{}{} would go to node {} when its devices are ready", name, made,
                         pod.node);
    case State::kPreempted:
      return fmt::format("{} would have to leave node {} for {}", name, pod.node,
                         pod.preempted_for.empty() ? "a more important pod" : pod.preempted_for);
    case State::kRefused:
      return pod.made
                 ? fmt::format("{}{} would be pending{}", name, made, WhyPending(*pod.explanation))
                 : fmt::format("{} is pending{}", name, WhyPending(*pod.explanation));
  }
  return name;
}

std::string HeadingOf(const planner::ClaimOutcome& claim) {
  const std::string name = fmt::format("Claim {}/{}", claim.namespace_, claim.claim.name);
  if (IsTurnedAway(claim.explanation)) return fmt::format("{} cannot be created", name);
  const std::string node = claim.node.empty() ? "" : fmt::format(" on node {}", claim.node);
  switch (claim.state) {
    case State::kExisting:
      return fmt::format("{} is allocated{}, and no pod uses it", name, node);
    case State::kWaiting:
    case State::kPlaced:
      return fmt::format("{} would get devices{}; no pod uses it", name, node);
    case State::kPreempted:
    case State::kRefused:
      break;
  }
  const scheduler::PodExplanation& why = *claim.explanation;
  if (!why.before.empty() || !why.error.empty() || why.nodes == 0) {
    return fmt::format("{} cannot be allocated", name);
  }
  return fmt::format("{} cannot be allocated: {}", name,
                     why.nodes == 1
                         ? "the only node does not have what it asks for"
                         : fmt::format("none of the {} nodes has what it asks for", why.nodes));
}

// "request gpu: gpu.example.com/node-1/gpu-0, a share with bandwidth=10G"
std::string LineOf(const planner::DeviceGrant& device) {
  std::string text = fmt::format("request {}: {}/{}/{}", device.request, device.driver, device.pool,
                                 device.device);
  if (!device.share_id.empty()) text += ", a share";
  std::string amounts;
  for (const auto& [name, amount] : device.consumed) {
    amounts += fmt::format("{}{}={}", amounts.empty() ? " with " : ", ", name, amount);
  }
  text += amounts;
  if (device.admin_access) text += ", for administration";
  return text;
}

std::string LinesOf(const std::vector<const planner::ClaimUse*>& claims) {
  std::string text;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const planner::ClaimUse& claim = *claims[i];
    const bool last = i + 1 == claims.size();
    text += fmt::format("{}claim {}", last ? "└─ " : "├─ ", claim.name);
    if (!claim.pod_claim.empty() && claim.pod_claim != claim.name) {
      text += fmt::format(" ({})", claim.pod_claim);
    }
    text += '\n';
    for (std::size_t j = 0; j < claim.devices.size(); ++j) {
      text += fmt::format("{}{}{}\n", last ? "   " : "│  ",
                          j + 1 == claim.devices.size() ? "└─ " : "├─ ", LineOf(claim.devices[j]));
    }
  }
  return text;
}

// The first line stands out, and so does the node that lacks least.
std::string Painted(const std::string& text, const TextStyle& style) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = Wrapped(Printable(text.substr(at, end - at)), style.columns);
    if (!style.unicode) line = InAscii(line);
    if (at == 0) {
      out += style.paint.Bold(line);
    } else if (const auto nearest = line.find("nearest fit: "); nearest != std::string::npos) {
      out += line.substr(0, nearest) + style.paint.Paint(kGreen, line.substr(nearest));
    } else {
      out += line;
    }
    out += '\n';
    at = end + 1;
  }
  return out;
}

// "remove ... (it would then go to node n1)", where that is not said already.
std::string Sentence(const planner::Cure& cure) {
  if (cure.new_node || cure.text.find("node " + cure.node) != std::string::npos) return cure.text;
  return fmt::format("{} (it would then go to node {})", cure.text, cure.node);
}

std::string HelpText(const planner::Help& help, const TextStyle& style) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += Wrapped("  - " + Printable(line), style.columns) + '\n';
  };
  if (!help.hints.empty()) text += style.paint.Paint(kGreen, "what is wrong first") + ":\n";
  for (const std::string& hint : help.hints) add(hint);
  if (help.cures.empty()) {
    return text + Wrapped("No single change that was tried would be enough.", style.columns) + '\n';
  }
  text += style.paint.Paint(kGreen, "what would help, each by itself") + ":\n";
  for (const planner::Cure& cure : help.cures) add(Sentence(cure));
  return text;
}

std::string WhyText(std::string heading, const scheduler::PodExplanation& why,
                    const planner::Help* help, const TextStyle& style) {
  std::string text =
      Painted(scheduler::ToText(why, {.heading = std::move(heading), .devices = true}), style);
  // What no node was asked about has no cure that could be tried.
  const bool tried =
      help != nullptr && (!why.groups.empty() || !help->hints.empty() || !help->cures.empty());
  return tried ? text + HelpText(*help, style) : text;
}

api::DocumentNode JsonOf(const planner::ClaimUse& claim) {
  std::vector<api::DocumentNode> devices;
  for (const planner::DeviceGrant& device : claim.devices) {
    std::vector<Entry> entries = {{"request", String(device.request)},
                                  {"driver", String(device.driver)},
                                  {"pool", String(device.pool)},
                                  {"device", String(device.device)}};
    if (!device.share_id.empty()) entries.push_back({"shareID", String(device.share_id)});
    if (!device.consumed.empty()) {
      std::vector<Entry> amounts;
      for (const auto& [name, amount] : device.consumed) amounts.push_back({name, String(amount)});
      entries.push_back({"consumedCapacity", Map(std::move(amounts))});
    }
    if (device.admin_access) entries.push_back({"adminAccess", Bool(true)});
    devices.push_back(Map(std::move(entries)));
  }
  std::vector<Entry> entries = {{"name", String(claim.name)}};
  if (!claim.pod_claim.empty()) entries.push_back({"podClaim", String(claim.pod_claim)});
  entries.push_back({"devices", List(std::move(devices))});
  return Map(std::move(entries));
}

// Codes with how many nodes say so, in a line each; no nodes: it is said of the pod.
api::DocumentNode ReasonsOf(const scheduler::PodExplanation& why) {
  std::map<std::pair<std::string, std::string>, std::size_t> counted;
  for (const scheduler::Reason& reason : why.before) counted[{reason.code, reason.text}] += 0;
  for (const scheduler::NodeGroup& group : why.groups) {
    for (const scheduler::Reason& reason : group.reasons) {
      counted[{reason.code, reason.text}] += group.nodes;
    }
  }
  if (!why.error.empty()) counted[{"error", why.error}] += 0;
  std::vector<api::DocumentNode> reasons;
  for (const auto& [reason, nodes] : counted) {
    std::vector<Entry> entries = {{"code", String(reason.first)}, {"text", String(reason.second)}};
    if (nodes > 0) entries.push_back({"nodes", Number(nodes)});
    reasons.push_back(Map(std::move(entries)));
  }
  return List(std::move(reasons));
}

void AddWhy(const std::optional<scheduler::PodExplanation>& why, const JsonOptions& options,
            std::vector<Entry>& entries) {
  if (!why) return;
  entries.push_back({"reasons", ReasonsOf(*why)});
  if (options.explain) {
    std::vector<api::Diagnostic> none;
    entries.push_back({"explanation", api::ParseJson(scheduler::ToJson(*why), none)});
  }
  if (options.help == nullptr) return;
  std::vector<api::DocumentNode> cures;
  for (const planner::Cure& cure : options.help->cures) {
    cures.push_back(Map({{"change", String(cure.text)}, {"node", String(cure.node)}}));
  }
  entries.push_back({"wouldHelp", List(std::move(cures))});
  std::vector<api::DocumentNode> hints;
  for (const std::string& hint : options.help->hints) hints.push_back(String(hint));
  if (!hints.empty()) entries.push_back({"hints", List(std::move(hints))});
}

// How a line that goes on below begins there: branches of a tree go on, words stand under words.
std::string ContinuationOf(std::string_view line) {
  constexpr std::string_view kThrough = "│  ";
  std::string indent;
  for (;;) {
    if (line.starts_with("├─ ")) {
      indent += kThrough;
      line.remove_prefix(std::string_view("├─ ").size());
    } else if (line.starts_with("└─ ")) {
      indent += "   ";
      line.remove_prefix(std::string_view("└─ ").size());
    } else if (line.starts_with(kThrough)) {
      indent += kThrough;
      line.remove_prefix(kThrough.size());
    } else if (line.starts_with("   ")) {
      indent += "   ";
      line.remove_prefix(3);
    } else {
      return indent + (line.starts_with("  - ") ? "    " : "  ");
    }
  }
}

}  // namespace

std::string Wrapped(std::string_view line, std::size_t columns) {
  constexpr std::size_t kLeast = 40;  // of a terminal that is narrower than that
  if (columns == 0 || base::CodePoints(line) <= std::max(columns, kLeast)) return std::string(line);
  const std::size_t most = std::max(columns, kLeast);
  const std::string indent = ContinuationOf(line);
  std::string text;
  std::string now;  // the line that is being filled
  bool words = false;
  const auto width = [](std::string_view part) { return base::CodePoints(part); };
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = line.find(' ', at);
    if (end == std::string_view::npos) end = line.size();
    const std::string_view word = line.substr(at, end - at);
    if (words && !word.empty() && width(now) + width(word) > most) {
      while (now.ends_with(' ')) now.pop_back();
      text += now + '\n';
      now = indent;
    }
    now += word;
    // What stands before the first word is no place to break.
    words |= !word.empty() && word != "├─" && word != "└─" && word != "│" && word != "-";
    if (end < line.size()) now += ' ';
    at = end + 1;
  }
  return text + now;
}

std::string ExplainText(const planner::PodOutcome& pod, const planner::Help* help,
                        const TextStyle& style) {
  if (pod.explanation) return WhyText(HeadingOf(pod), *pod.explanation, help, style);
  std::vector<const planner::ClaimUse*> claims;
  for (const planner::ClaimUse& claim : pod.claims) claims.push_back(&claim);
  return Painted(HeadingOf(pod) + "\n" + LinesOf(claims), style);
}

std::string ExplainText(const planner::ClaimOutcome& claim, const planner::Help* help,
                        const TextStyle& style) {
  if (claim.explanation) return WhyText(HeadingOf(claim), *claim.explanation, help, style);
  return Painted(HeadingOf(claim) + "\n" + LinesOf({&claim.claim}), style);
}

std::string ExplainText(const planner::MissingPods& missing, const TextStyle& style) {
  const std::string& owner = missing.owners.back();
  const auto slash = owner.find('/');
  return Painted(fmt::format("{} {}/{} asks for {} {}, {} of which cannot be created\n└─ {}\n",
                             owner.substr(0, slash), missing.namespace_, owner.substr(slash + 1),
                             missing.wanted, missing.wanted == 1 ? "pod" : "pods", missing.missing,
                             missing.reason),
                 style);
}

api::DocumentNode ToJson(const planner::PodOutcome& pod, const JsonOptions& options) {
  std::vector<Entry> entries = {{"kind", String("Pod")},
                                {"namespace", String(pod.namespace_)},
                                {"name", String(pod.name)},
                                {"state", String(NameOf(pod.state))}};
  if (pod.made) entries.push_back({"planned", Bool(true)});
  if (!pod.node.empty()) entries.push_back({"node", String(pod.node)});
  if (!pod.preempted_for.empty()) {
    entries.push_back({"preemptedFor", String(pod.preempted_for)});
  }
  std::vector<api::DocumentNode> owners;
  for (const std::string& owner : pod.owners) owners.push_back(String(owner));
  if (!owners.empty()) entries.push_back({"owners", List(std::move(owners))});
  std::vector<api::DocumentNode> claims;
  for (const planner::ClaimUse& claim : pod.claims) claims.push_back(JsonOf(claim));
  entries.push_back({"claims", List(std::move(claims))});
  AddWhy(pod.explanation, options, entries);
  return Map(std::move(entries));
}

api::DocumentNode ToJson(const planner::ClaimOutcome& claim, const JsonOptions& options) {
  std::vector<Entry> entries = {{"kind", String("ResourceClaim")},
                                {"namespace", String(claim.namespace_)},
                                {"name", String(claim.claim.name)},
                                {"state", String(NameOf(claim.state))}};
  if (!claim.node.empty()) entries.push_back({"node", String(claim.node)});
  entries.push_back({"claims", List({JsonOf(claim.claim)})});
  AddWhy(claim.explanation, options, entries);
  return Map(std::move(entries));
}

api::DocumentNode ToJson(const planner::MissingPods& missing) {
  std::vector<api::DocumentNode> owners;
  for (const std::string& owner : missing.owners) owners.push_back(String(owner));
  return Map({{"namespace", String(missing.namespace_)},
              {"owners", List(std::move(owners))},
              {"wanted", Number(static_cast<std::size_t>(missing.wanted))},
              {"missing", Number(static_cast<std::size_t>(missing.missing))},
              {"reason", String(missing.reason)}});
}

api::DocumentNode SummaryJson(const planner::Plan& plan) {
  const auto count = [](const auto& outcomes) {
    std::vector<Entry> entries = {{"total", Number(outcomes.size())}};
    const auto add = [&](std::string_view name, State state) {
      const auto n = std::ranges::count_if(
          outcomes, [&](const auto& outcome) { return outcome.state == state; });
      entries.push_back({name, Number(static_cast<std::size_t>(n))});
    };
    add("existing", State::kExisting);
    add("placed", State::kPlaced);
    add("waiting", State::kWaiting);
    add("refused", State::kRefused);
    add("preempted", State::kPreempted);
    return Map(std::move(entries));
  };
  std::size_t missing = 0;
  for (const planner::MissingPods& entry : plan.missing) {
    missing += static_cast<std::size_t>(entry.missing);
  }
  return Map({{"pods", count(plan.pods)},
              {"claims", count(plan.claims)},
              {"podsNotCreated", Number(missing)}});
}

}  // namespace dray::cli::internal
