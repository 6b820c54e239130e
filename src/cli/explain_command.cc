// SPDX-License-Identifier: Apache-2.0
//
// `dray explain`: why a pod or a claim gets what it gets, or nothing.
#include <algorithm>
#include <array>
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
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Plans as 'dray plan' does, then tells of one pod or claim, or of every pod of a
Deployment, ReplicaSet or Job: where it is and with which devices, or the tree of
reasons why it is nowhere, nodes that say the same together, and what would help.

Examples:
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

  std::set<std::string> Namespaces() const {
    std::set<std::string> spaces;
    for (const auto* pod : pods) spaces.insert(pod->namespace_);
    for (const auto* claim : claims) spaces.insert(claim->namespace_);
    return spaces;
  }
};

class ExplainCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("target", words_, "What to explain: pod/NAME, claim/NAME, deployment/NAME, ...")
        ->type_name("KIND/NAME");
    AddPlanFlags(app, flags_, {.many = false});
    AddOutput(app, output_, {"text", "json", "yaml"});
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    const auto target = ParseTarget(io);
    if (!target) return kExitUsage;
    const auto plan = MakePlan(flags_, io);
    if (!plan) return kExitUsage;
    const Found found = Find(*plan, *target);
    if (found.pods.empty() && found.claims.empty()) return NotFound(io, *plan, *target);
    if (const auto spaces = found.Namespaces(); spaces.size() > 1 && !flags_.all_namespaces) {
      return UsageError(
          io,
          fmt::format("{} \"{}\" is in several namespaces: {}", target->kind, target->name,
                      fmt::join(spaces, ", ")),
          fmt::format("choose one, as in -n {}, or all of them with -A", *spaces.begin()));
    }
    Print(io, found);
    const auto refused = [](const auto* outcome) {
      return outcome->state == planner::State::kRefused;
    };
    const bool bad =
        std::ranges::any_of(found.pods, refused) || std::ranges::any_of(found.claims, refused);
    return bad ? kExitFindings : kExitOk;
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("one KIND/NAME at a time; files are named with -f, as in -f {}", argument);
  }

 private:
  // "pod/a", or "pod a".
  std::optional<Target> ParseTarget(Io& io) const {
    constexpr std::string_view kExample = "name one as in 'dray explain pod/NAME'";
    std::string kind = words_.empty() ? "" : words_[0];
    std::string name = words_.size() == 2 ? words_[1] : "";
    if (words_.size() == 1) {
      const auto slash = kind.find('/');
      if (slash != std::string::npos) {
        name = kind.substr(slash + 1);
        kind.resize(slash);
      }
    }
    if (words_.empty() || words_.size() > 2 || kind.find('/') != std::string::npos) {
      UsageError(io, words_.empty() ? "nothing to explain" : "one thing at a time", kExample);
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
    return found;
  }

  int NotFound(Io& io, const planner::Plan& plan, const Target& target) const {
    std::set<std::string> names;
    for (const planner::PodOutcome& pod : plan.pods) {
      if (target.kind == "Pod") names.insert(pod.name);
      for (const planner::ClaimUse& claim : pod.claims) {
        if (target.kind == "ResourceClaim") names.insert(claim.name);
      }
      for (const std::string& owner : pod.owners) {
        const auto slash = owner.find('/');
        if (owner.substr(0, slash) == target.kind) names.insert(owner.substr(slash + 1));
      }
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (target.kind == "ResourceClaim") names.insert(claim.claim.name);
    }
    const std::string where =
        flags_.namespace_.empty() ? "" : fmt::format(" in namespace \"{}\"", flags_.namespace_);
    const std::string message =
        fmt::format("there is no {} \"{}\"{}", target.kind, target.name, where);
    if (names.contains(target.name)) {
      return UsageError(io, message, "it is in another namespace: leave -n away, or use -A");
    }
    for (const api::Object& object : plan.objects) {
      if (object.kind().kind != target.kind || object.metadata().name != target.name) continue;
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

  void Print(Io& io, const Found& found) const {
    if (output_ != "text") {
      std::vector<api::DocumentNode> items;
      for (const auto* pod : found.pods) items.push_back(ExplainJson(*pod));
      for (const auto* claim : found.claims) items.push_back(ExplainJson(*claim));
      const api::DocumentNode document = Map({{"outcomes", List(std::move(items))}});
      io.out << (output_ == "yaml" ? api::ToYaml(document)
                                   : api::IndentJson(api::ToJson(document), 2) + "\n");
      return;
    }
    const Painter paint(UseColor(flags_.color, io.env.out_is_terminal, io.env));
    bool first = true;
    const auto print = [&](const auto& outcome) {
      if (!std::exchange(first, false)) io.out << '\n';
      io.out << ExplainText(outcome, paint);
    };
    for (const auto* pod : found.pods) print(*pod);
    for (const auto* claim : found.claims) print(*claim);
  }

  static constexpr std::size_t kListed = 8;

  std::vector<std::string> words_;
  PlanFlags flags_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace dray::cli::internal
