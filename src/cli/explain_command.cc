// SPDX-License-Identifier: Apache-2.0
//
// `dray explain`: why a pod or a claim gets what it gets, or nothing.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "api/yaml_text.h"
#include "base/edit_distance.h"
#include "cli/internal/command.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/plan_input.h"
#include "cli/internal/plan_text.h"
#include "cli/internal/wrap.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Plans as 'dray plan' does, then tells of one pod or claim, or of every pod of a
Deployment, ReplicaSet or Job: where it is and with which devices, or the tree of
reasons why it is pending, nodes that say the same together, and what would help:
changes that were tried and after which it would be scheduled. What does not exist
yet is marked: pods that "would go" somewhere, devices that "would go first" to
others. Without a name it tells of everything that is pending; what is pending for
the same reasons is told once.

Examples:
  dray explain -f manifests/                     everything that is pending
  dray explain pod/train -f manifests/
  dray explain claim/gpus -n team-a -f manifests/
  dray explain deployment inference -f manifests/ -o json
  dray explain pod/train -n team-a               in the cluster of the current context
  kubectl get nodes,pods,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates \
    -A -o yaml | dray explain pod/train -f -

Exit code: 0 it was placed, 1 it was not, 2 some input or flag could not be used, or
there is no such object.)";

struct KindName {
  std::string_view word;
  std::string_view kind;
};
constexpr std::array kKindNames = {
    KindName{"pod", "Pod"},
    KindName{"pods", "Pod"},
    KindName{"po", "Pod"},
    KindName{"claim", "ResourceClaim"},
    KindName{"claims", "ResourceClaim"},
    KindName{"resourceclaim", "ResourceClaim"},
    KindName{"resourceclaims", "ResourceClaim"},
    KindName{"resourceclaim.resource.k8s.io", "ResourceClaim"},
    KindName{"deployment", "Deployment"},
    KindName{"deployments", "Deployment"},
    KindName{"deployment.apps", "Deployment"},
    KindName{"deploy", "Deployment"},
    KindName{"replicaset", "ReplicaSet"},
    KindName{"replicasets", "ReplicaSet"},
    KindName{"replicaset.apps", "ReplicaSet"},
    KindName{"rs", "ReplicaSet"},
    KindName{"job", "Job"},
    KindName{"jobs", "Job"},
    KindName{"job.batch", "Job"},
};

// What is to be explained.
struct Target {
  std::string_view kind;
  std::string name;
};

// What a plan has of it.
struct Found {
  std::vector<const planner::PodOutcome*> pods;
  std::vector<const planner::ClaimOutcome*> claims;
  std::vector<const planner::MissingPods*> missing;

  bool empty() const { return pods.empty() && claims.empty() && missing.empty(); }
  std::set<std::string> Namespaces() const {
    std::set<std::string> spaces;
    for (const auto* pod : pods) spaces.insert(pod->namespace_);
    for (const auto* claim : claims) spaces.insert(claim->namespace_);
    for (const auto* entry : missing) spaces.insert(entry->namespace_);
    return spaces;
  }
};

class ExplainCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option(
           "target", words_,
           "What to explain: pod/NAME, claim/NAME, deployment/NAME, ...; all that are pending")
        ->type_name("KIND/NAME");
    AddPlanFlags(app, flags_, {.many = false});
    AddOutput(app, output_, {"text", "json", "yaml"});
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (words_.empty()) return RunForAll(io);
    const auto target = ParseTarget(io);
    if (!target) return kExitUsage;
    const auto made = MakePlan(flags_, io);
    if (!made) return kExitUsage;
    const planner::Plan& plan = made->plan;
    const Found found = Find(plan, *target);
    if (found.empty()) return NotFound(io, plan, *target);
    if (const auto spaces = found.Namespaces(); spaces.size() > 1 && !flags_.all_namespaces) {
      return UsageError(
          io,
          fmt::format("{} \"{}\" is in several namespaces: {}", target->kind, target->name,
                      fmt::join(spaces, ", ")),
          fmt::format("choose one, as in -n {}, or all of them with -A", *spaces.begin()));
    }
    Print(io, *made, found);
    const auto refused = [](const auto* outcome) {
      return outcome->state == planner::State::kRefused;
    };
    const bool bad = std::ranges::any_of(found.pods, refused) ||
                     std::ranges::any_of(found.claims, refused) || !found.missing.empty();
    return bad ? kExitFindings : kExitOk;
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("one KIND/NAME at a time; files are named with -f, as in -f {}", argument);
  }

 private:
  int RunForAll(Io& io) {
    const auto made = MakePlan(flags_, io);
    if (!made) return kExitUsage;
    const planner::Plan& plan = made->plan;
    if (!flags_.namespace_.empty() && !flags_.all_namespaces &&
        !HasNamespace(plan, flags_.namespace_)) {
      return NoSuchNamespace(io, plan, flags_.namespace_);
    }
    Found found;
    for (const planner::PodOutcome& pod : plan.pods) {
      if (Shown(pod.namespace_) && pod.explanation) found.pods.push_back(&pod);
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (Shown(claim.namespace_) && claim.explanation) found.claims.push_back(&claim);
    }
    for (const planner::MissingPods& missing : plan.missing) {
      if (Shown(missing.namespace_)) found.missing.push_back(&missing);
    }
    if (output_ != "text") {
      Print(io, *made, found);
    } else if (found.empty()) {
      io.out << "Nothing is pending.\n";
    } else {
      PrintGroups(io, *made, found);
    }
    return found.empty() ? kExitOk : kExitFindings;
  }

  // Those that are pending for the same reasons, in the order of the first of each.
  template <typename T>
  static std::vector<std::vector<const T*>> GroupsOf(const std::vector<const T*>& outcomes) {
    std::vector<std::vector<const T*>> groups;
    std::map<std::string, std::size_t> known;
    for (const T* outcome : outcomes) {
      const auto [it, fresh] = known.try_emplace(ReasonsOf(*outcome), groups.size());
      if (fresh) groups.emplace_back();
      groups[it->second].push_back(outcome);
    }
    return groups;
  }

  // Its explanation without the names that are its own.
  static std::string ReasonsOf(const planner::PodOutcome& pod) {
    std::vector<std::string> names = {fmt::format("{}/{}", pod.namespace_, pod.name), pod.name};
    for (const planner::ClaimUse& claim : pod.claims) names.push_back(claim.name);
    return WithoutNames(ExplainText(pod, nullptr, {.paint = Painter(false)}), std::move(names));
  }
  static std::string ReasonsOf(const planner::ClaimOutcome& claim) {
    return WithoutNames(
        ExplainText(claim, nullptr, {.paint = Painter(false)}),
        {fmt::format("{}/{}", claim.namespace_, claim.claim.name), claim.claim.name});
  }
  static std::string WithoutNames(std::string text, std::vector<std::string> names) {
    const auto part = [&](std::size_t at) {
      const char c = at < text.size() ? text[at] : ' ';
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    };
    // The longest first: a claim's name may hold its pod's. Whole words only.
    std::ranges::sort(names, std::greater(), &std::string::size);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      const std::string number = fmt::format("<{}>", names.size() - i);
      for (auto at = text.find(names[i]); at != text.npos; at = text.find(names[i], at)) {
        const bool word = (at == 0 || !part(at - 1)) && !part(at + names[i].size());
        if (word) text.replace(at, names[i].size(), number);
        at += word ? number.size() : 1;
      }
    }
    return text;
  }

  static std::string NameOf(const planner::PodOutcome& pod) {
    return fmt::format("{}/{}", pod.namespace_, pod.name);
  }
  static std::string NameOf(const planner::ClaimOutcome& claim) {
    return fmt::format("{}/{}", claim.namespace_, claim.claim.name);
  }

  void PrintGroups(Io& io, const Planned& made, const Found& found) const {
    const TextStyle style{Painter(UseColor(flags_.color, io.env.out_is_terminal, io.env)),
                          io.env.columns, HasUnicode(io.env)};
    planner::CureFinder finder(made.plan, made.options);
    std::size_t told = 0;
    const auto print = [&](const auto& groups, std::string_view what) {
      for (const auto& group : groups) {
        std::optional<planner::Help> help;
        if (told < kMostHelped) help = finder.For(*group.front());
        if (told++ > 0) io.out << '\n';
        io.out << ExplainText(*group.front(), help ? &*help : nullptr, style);
        if (group.size() == 1) continue;
        std::vector<std::string> others;
        for (std::size_t i = 1; i < std::min(group.size(), kListed + 1); ++i) {
          others.push_back(NameOf(*group[i]));
        }
        io.out << Paragraph(fmt::format("The same holds for {} more {}{}: {}{}", group.size() - 1,
                                        what, group.size() == 2 ? "" : "s", fmt::join(others, ", "),
                                        group.size() > kListed + 1 ? ", ..." : ""),
                            0, io.env.columns);
      }
    };
    print(GroupsOf(found.pods), "pod");
    print(GroupsOf(found.claims), "claim");
    if (told > kMostHelped) {
      io.err << fmt::format(
          "note: what would help was looked for only for the first {}; name one to hear of it\n",
          kMostHelped);
    }
    for (const auto* entry : found.missing) {
      if (told++ > 0) io.out << '\n';
      io.out << ExplainText(*entry, style);
    }
  }

  // "pod/a", or "pod a".
  std::optional<Target> ParseTarget(Io& io) const {
    constexpr std::string_view kExample = "name one as in 'dray explain pod/NAME'";
    std::string kind = words_[0];
    std::string name = words_.size() == 2 ? words_[1] : "";
    if (words_.size() == 1) {
      const auto slash = kind.find('/');
      if (slash != std::string::npos) {
        name = kind.substr(slash + 1);
        kind.resize(slash);
      }
    }
    if (words_.size() > 2 || kind.find('/') != std::string::npos) {
      UsageError(io, "explain takes exactly one object, or none for all that are pending",
                 kExample);
      return std::nullopt;
    }
    const auto row = std::ranges::find(kKindNames, kind, &KindName::word);
    if (row == kKindNames.end()) {
      UsageError(io, fmt::format("cannot explain a \"{}\"", kind),
                 "pods, claims, deployments, replicasets and jobs can be explained");
      return std::nullopt;
    }
    if (name.empty()) {
      UsageError(io, fmt::format("which {}?", kind), kExample);
      return std::nullopt;
    }
    return Target{row->kind, std::move(name)};
  }

  bool Shown(std::string_view namespace_) const {
    return flags_.namespace_.empty() || flags_.all_namespaces || namespace_ == flags_.namespace_;
  }

  static bool IsOf(const planner::PodOutcome& pod, const Target& target) {
    if (target.kind == "Pod") return pod.name == target.name;
    if (target.kind == "ResourceClaim") {
      return std::ranges::any_of(pod.claims, [&](const auto& c) { return c.name == target.name; });
    }
    const std::string owner = fmt::format("{}/{}", target.kind, target.name);
    return std::ranges::find(pod.owners, owner) != pod.owners.end();
  }

  Found Find(const planner::Plan& plan, const Target& target) const {
    Found found;
    for (const planner::PodOutcome& pod : plan.pods) {
      if (Shown(pod.namespace_) && IsOf(pod, target)) found.pods.push_back(&pod);
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (Shown(claim.namespace_) && target.kind == "ResourceClaim" &&
          claim.claim.name == target.name) {
        found.claims.push_back(&claim);
      }
    }
    const std::string owner = fmt::format("{}/{}", target.kind, target.name);
    for (const planner::MissingPods& missing : plan.missing) {
      if (Shown(missing.namespace_) &&
          std::ranges::find(missing.owners, owner) != missing.owners.end()) {
        found.missing.push_back(&missing);
      }
    }
    return found;
  }

  int NotFound(Io& io, const planner::Plan& plan, const Target& target) const {
    if (!flags_.namespace_.empty() && !flags_.all_namespaces &&
        !HasNamespace(plan, flags_.namespace_)) {
      return NoSuchNamespace(io, plan, flags_.namespace_);
    }
    std::set<std::string> names;  // here
    bool elsewhere = false;
    const auto add = [&](std::string_view namespace_, const std::string& name) {
      if (Shown(namespace_)) {
        names.insert(name);
      } else {
        elsewhere |= name == target.name;
      }
    };
    for (const planner::PodOutcome& pod : plan.pods) {
      if (target.kind == "Pod") add(pod.namespace_, pod.name);
      for (const planner::ClaimUse& claim : pod.claims) {
        if (target.kind == "ResourceClaim") add(pod.namespace_, claim.name);
      }
      for (const std::string& owner : pod.owners) {
        const auto slash = owner.find('/');
        if (owner.substr(0, slash) == target.kind) add(pod.namespace_, owner.substr(slash + 1));
      }
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (target.kind == "ResourceClaim") add(claim.namespace_, claim.claim.name);
    }
    const std::string where =
        flags_.namespace_.empty() ? "" : fmt::format(" in namespace \"{}\"", flags_.namespace_);
    const std::string message =
        fmt::format("there is no {} \"{}\"{}", target.kind, target.name, where);
    if (elsewhere) {
      return UsageError(io, message, "it is in another namespace: leave -n away, or use -A");
    }
    for (const api::Object& object : plan.objects) {
      if (object.kind().kind != target.kind || object.metadata().name != target.name ||
          !Shown(object.metadata().namespace_)) {
        continue;
      }
      return UsageError(
          io, fmt::format("there is nothing to explain about {} \"{}\"", target.kind, target.name),
          target.kind == "Pod" ? "it has ended, and takes nothing from its node"
                               : "no pod belongs to it");
    }
    const std::vector<std::string_view> words(names.begin(), names.end());
    const auto closest = base::ClosestMatch(target.name, words);
    if (closest) return UsageError(io, message, fmt::format("did you mean {}?", *closest));
    if (names.empty()) return UsageError(io, message);
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), kListed));
    return UsageError(io, message,
                      fmt::format("there is {}{}", fmt::join(words.begin(), end, ", "),
                                  words.size() > kListed ? ", ..." : ""));
  }

  void Print(Io& io, const Planned& made, const Found& found) const {
    std::optional<planner::CureFinder> finder;  // only if something was refused
    const auto help = [&](const auto& outcome) -> std::optional<planner::Help> {
      if (!outcome.explanation) return std::nullopt;
      if (!finder) finder.emplace(made.plan, made.options);
      return finder->For(outcome);
    };
    if (output_ != "text") {
      std::vector<api::DocumentNode> items;
      const auto add = [&](const auto& outcome) {
        const auto helped = help(outcome);
        items.push_back(ToJson(outcome, {.explain = true, .help = helped ? &*helped : nullptr}));
      };
      for (const auto* pod : found.pods) add(*pod);
      for (const auto* claim : found.claims) add(*claim);
      std::vector<api::DocumentNode> missing;
      for (const auto* entry : found.missing) missing.push_back(ToJson(*entry));
      std::vector<Entry> entries = {{"outcomes", List(std::move(items))}};
      if (!missing.empty()) entries.push_back({"podsNotCreated", List(std::move(missing))});
      const api::DocumentNode document = Map(std::move(entries));
      io.out << (output_ == "yaml" ? api::ToYaml(document)
                                   : api::IndentJson(api::ToJson(document), 2) + "\n");
      return;
    }
    const TextStyle style{Painter(UseColor(flags_.color, io.env.out_is_terminal, io.env)),
                          io.env.columns, HasUnicode(io.env)};
    bool first = true;
    const auto print = [&](const std::string& text) {
      if (!std::exchange(first, false)) io.out << '\n';
      io.out << text;
    };
    const auto explain = [&](const auto& outcome) {
      const auto helped = help(outcome);
      print(ExplainText(outcome, helped ? &*helped : nullptr, style));
    };
    for (const auto* pod : found.pods) explain(*pod);
    for (const auto* claim : found.claims) explain(*claim);
    for (const auto* entry : found.missing) print(ExplainText(*entry, style));
  }

  static constexpr std::size_t kListed = 8;
  // Each takes some dozens of attempts to schedule it.
  static constexpr std::size_t kMostHelped = 32;

  std::vector<std::string> words_;
  PlanFlags flags_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace dray::cli::internal
