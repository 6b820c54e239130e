// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/explanation.h"
#include "base/human_duration.h"
#include "cli/internal/plan_text.h"
#include "cli/internal/wrap.h"
#include "fmt/format.h"
#include "scheduler/explanation_text.h"

namespace dray::cli::internal {
namespace {

using planner::State;

// Groups of nodes that are told of without --details.
constexpr std::size_t kNodeLines = 5;
// Of what is pending for one cause, so many are told of one by one, and so many named.
constexpr std::size_t kTold = 3;
constexpr std::size_t kNamed = 8;

// "Deployment/web": who asked for the pod in the first place.
std::string_view MakerOf(const planner::PodOutcome& pod) {
  return pod.owners.empty() ? std::string_view() : std::string_view(pod.owners.back());
}

// A server would not even take it.
bool IsTurnedAway(const std::optional<scheduler::PodExplanation>& why) {
  return why && !why->before.empty() && why->before.front().code == "exceeded_quota";
}

std::string NameOf(const planner::PodOutcome& pod) {
  return fmt::format("{}/{}", pod.namespace_, pod.name);
}
std::string NameOf(const planner::ClaimOutcome& claim) {
  return fmt::format("{}/{}", claim.namespace_, claim.claim.name);
}
std::string NameOf(const planner::MissingPods& missing) {
  const std::string& owner = missing.owners.back();
  const auto slash = owner.find('/');
  return fmt::format("{} {}/{}", owner.substr(0, slash), missing.namespace_,
                     owner.substr(slash + 1));
}

std::string HeadingOf(const planner::PodOutcome& pod) {
  const std::string name = "Pod " + NameOf(pod);
  if (IsTurnedAway(pod.explanation)) {
    return fmt::format("{} cannot be created: {}", name, pod.explanation->before.front().text);
  }
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
      return fmt::format("{}{} {}: {}", name, made, pod.made ? "would be pending" : "is pending",
                         planner::AnswerFor(*pod.explanation).sentence);
  }
  return name;
}

std::string HeadingOf(const planner::ClaimOutcome& claim) {
  const std::string name = "Claim " + NameOf(claim);
  if (IsTurnedAway(claim.explanation)) {
    return fmt::format("{} cannot be created: {}", name, claim.explanation->before.front().text);
  }
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
  return fmt::format("{} cannot be allocated: {}", name,
                     planner::AnswerFor(*claim.explanation).sentence);
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

// Lines as the terminal has room for them; the first one stands out.
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
  if (cure.verified != planner::Verified::kSufficient) {
    return cure.still.empty() ? cure.text : fmt::format("{}: {}", cure.text, cure.still);
  }
  if (cure.new_node || cure.text.find("node " + cure.node) != std::string::npos) return cure.text;
  return fmt::format("{} (it would then go to node {})", cure.text, cure.node);
}

// `what` is "what would help", of whom if that is not clear.
std::string HelpText(const planner::Help& help, std::string_view what, const TextStyle& style) {
  std::string text;
  const auto head = [&](std::string_view color, std::string_view line) {
    text += fmt::format("{}:\n", style.paint.Paint(color, line));
  };
  const auto add = [&](const std::string& line) {
    text += Wrapped("  - " + Printable(line), style.columns) + '\n';
  };
  const auto others = [&](planner::Verified verified, std::string_view line) {
    bool any = false;
    for (const planner::Cure& cure : help.others) {
      if (cure.verified != verified) continue;
      if (!std::exchange(any, true)) head(kMagenta, line);
      add(Sentence(cure));
    }
  };
  if (!help.hints.empty()) head(kGreen, "fix these first");
  for (const std::string& hint : help.hints) add(hint);
  if (help.cures.empty()) {
    text +=
        Wrapped("None of the changes that were tried is enough by itself.", style.columns) + '\n';
  } else {
    head(kGreen, fmt::format("{}, each by itself", what));
    for (const planner::Cure& cure : help.cures) add(Sentence(cure));
  }
  others(planner::Verified::kInsufficient, "what would not be enough");
  others(planner::Verified::kUnknown, "not tried, because there were too many changes to try");
  return text;
}

// "request gpu needs 4 devices, 2 of 4 usable (2 in use)": its claim is named where it has a say.
std::string ShortOf(const scheduler::Reason& reason) {
  if (reason.devices != nullptr) {
    std::string_view text = reason.devices->summary;
    if (reason.devices->claims.size() == 1) {
      const std::string claim = fmt::format("claim {}: ", reason.devices->claims.front().name);
      if (text.starts_with(claim)) text.remove_prefix(claim.size());
    }
    return std::string(text);
  }
  std::string text = reason.text;
  std::string amounts;
  for (const scheduler::Reason::Shortage& shortage : reason.shortages) {
    if (shortage.needed.empty()) continue;
    amounts += fmt::format("{}{} {} needed, {} free", amounts.empty() ? "" : "; ", shortage.needed,
                           shortage.what, shortage.free);
  }
  return amounts.empty() ? text : fmt::format("{} ({})", text, amounts);
}

// "node a", "9 nodes (a, b, c, ...)"
std::string CalledIn(const scheduler::NodeLine& line) {
  if (line.nodes == 1 && line.names.size() == 1) return "node " + line.names.front();
  std::string names;
  for (const std::string& name : line.names) names.append(names.empty() ? "" : ", ").append(name);
  return fmt::format("{} nodes ({}{})", line.nodes, names,
                     line.nodes > line.names.size() ? ", ..." : "");
}

// A line for each group of nodes, nearest first.
std::string NodesText(const scheduler::PodExplanation& why) {
  const std::vector<scheduler::NodeLine> lines = scheduler::LinesOf(why);
  std::vector<std::string> texts;
  std::size_t more = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const scheduler::NodeLine& line = lines[i];
    if (i >= kNodeLines && i + 1 < lines.size()) {
      more += line.nodes;
      continue;
    }
    std::string says;
    if (line.class_not_there.empty()) {
      for (const scheduler::Reason& reason : line.groups.front()->reasons) {
        says.append(says.empty() ? "" : ", ").append(ShortOf(reason));
      }
    } else {
      says = fmt::format("no devices of class {}", line.class_not_there);
    }
    if (more > 0) texts.push_back(fmt::format("{} more nodes with other reasons", more));
    texts.push_back(fmt::format("{}: {}", CalledIn(line), says));
  }
  for (const scheduler::Reason& reason : why.after) {
    if (reason.plugin != "DefaultPreemption") texts.push_back(reason.text);
  }
  // What the sentence says of the only kind of node there is.
  if (texts.size() == 1 && lines.size() == 1) return "";
  if (texts.empty()) return "";
  std::string text = lines.size() > 1 ? "the nodes, nearest first:\n" : "";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    text += fmt::format("{}{}\n", i + 1 == texts.size() ? "└─ " : "├─ ", texts[i]);
  }
  return text;
}

// Below the sentence: what would help, and what the nodes say.
std::string BelowText(const scheduler::PodExplanation& why, const planner::Help* help,
                      std::string_view what, const TextStyle& style) {
  // What no node was asked about has no cure that could be tried.
  const bool tried = help != nullptr && (!why.groups.empty() || !help->hints.empty() ||
                                         !help->cures.empty() || !help->others.empty());
  std::string text = tried ? HelpText(*help, what, style) : "";
  std::string nodes = style.details
                          ? scheduler::ToText(why, {.heading = "details", .devices = true})
                          : NodesText(why);
  if (style.details) nodes.insert(nodes.find('\n'), ":");
  TextStyle plain = style;
  plain.paint = Painter(false);
  return text + (nodes.empty() ? "" : Painted(nodes, plain));
}

std::string WhyText(const std::string& heading, const scheduler::PodExplanation& why,
                    const planner::Help* help, const TextStyle& style) {
  return Painted(heading + "\n", style) + BelowText(why, help, "what would help", style);
}

std::string Plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

// "2 pods and 1 claim: devices of class gpu are in use, the first for 3h"
std::string HeadOf(const planner::Cause& cause, base::Time now) {
  std::vector<std::string> parts;
  if (!cause.pods.empty()) parts.push_back(Plural(cause.pods.size(), "pod"));
  if (!cause.claims.empty()) parts.push_back(Plural(cause.claims.size(), "claim"));
  std::size_t missing = 0;
  for (const auto* entry : cause.missing) missing += static_cast<std::size_t>(entry->missing);
  if (missing > 0) parts.push_back(Plural(missing, "pod") + " not created");
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  text += ": " + cause.sentence;
  if (cause.oldest) {
    text += fmt::format(" (the oldest for {})",
                        base::HumanDuration((now - *cause.oldest) / std::chrono::seconds(1)));
  }
  return text;
}

}  // namespace

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
  return Painted(
      fmt::format("{} asks for {}, {} of which cannot be created\n└─ {}\n", NameOf(missing),
                  Plural(static_cast<std::size_t>(missing.wanted), "pod"), missing.missing,
                  missing.reason),
      style);
}

std::string CauseText(const planner::Cause& cause, const planner::Help* help,
                      const TextStyle& style, base::Time now) {
  std::string text = Painted(HeadOf(cause, now) + "\n", style);
  std::vector<std::string> others;
  std::size_t told = 0;
  const auto tell = [&](const std::string& name, const std::string& sentence) {
    if (told++ < kTold) {
      text += Wrapped(Printable(fmt::format("  - {}: {}", name, sentence)), style.columns) + '\n';
    } else if (others.size() < kNamed) {
      others.push_back(name);
    }
  };
  for (const auto* pod : cause.pods) {
    tell("pod " + NameOf(*pod), planner::AnswerFor(*pod->explanation).sentence);
  }
  for (const auto* claim : cause.claims) {
    tell("claim " + NameOf(*claim), planner::AnswerFor(*claim->explanation).sentence);
  }
  for (const auto* entry : cause.missing) {
    tell(NameOf(*entry), planner::AnswerFor(*entry).sentence);
  }
  if (told > kTold) {
    std::string names;
    for (const std::string& name : others) names.append(names.empty() ? "" : ", ").append(name);
    text += Wrapped(Printable(fmt::format("  - and {} more: {}{}", told - kTold, names,
                                          told > kTold + kNamed ? ", ..." : "")),
                    style.columns) +
            '\n';
  }
  const scheduler::PodExplanation* why = !cause.pods.empty() ? &*cause.pods.front()->explanation
                                         : !cause.claims.empty()
                                             ? &*cause.claims.front()->explanation
                                             : nullptr;
  if (why == nullptr) return text;
  std::string what = "what would help";
  if (told > 1) {
    what += !cause.pods.empty() ? " pod " + NameOf(*cause.pods.front())
                                : " claim " + NameOf(*cause.claims.front());
  }
  return text + BelowText(*why, help, what, style);
}

}  // namespace dray::cli::internal
