// SPDX-License-Identifier: Apache-2.0
//
// `dray explain`: why a pod or a claim gets what it gets, or nothing.
#include <algorithm>
#include <array>
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
#include "cli/internal/explain_group.h"
#include "cli/internal/plan_input.h"
#include "cli/internal/plan_text.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "planner/answer.h"
#include "planner/asked.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Explains where a pod or claim was placed and with which devices, or why it is pending, in one
sentence. Below the answer are the changes that would help: each was tried and is enough by
itself; obvious changes that are not enough are listed with what would still be missing. Then
come the nodes, nearest fit first; -v (--details) shows every request and device of each
node. The name of a workload stands for all of its pods. Without a name, everything that is
pending is explained, grouped by cause. Input is read as by 'dray plan'.

What does not exist yet is marked as planned: pods that "would go" to a node, and devices that
"would go first" to other pending pods.

Examples:
  dray explain -f manifests/                     everything that is pending
  dray explain pod/train -f manifests/
  dray explain claim/gpus -n team-a -f manifests/
  dray explain deployment inference -f manifests/ -o json
  dray explain podgroup/train -f manifests/ --feature-gates GenericWorkload=true
  dray explain pod/train -n team-a               in the cluster of the current context
  kubectl get nodes,pods,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates \
    -A -o yaml | dray explain pod/train -f -

Exit code: 0 it was placed, 1 it was not, 2 an input or flag could not be used, or
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
    KindName{"podgroup", "PodGroup"},
    KindName{"podgroups", "PodGroup"},
    KindName{"podgroup.scheduling.k8s.io", "PodGroup"},
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
    KindName{"statefulset", "StatefulSet"},
    KindName{"statefulsets", "StatefulSet"},
    KindName{"statefulset.apps", "StatefulSet"},
    KindName{"sts", "StatefulSet"},
    KindName{"daemonset", "DaemonSet"},
    KindName{"daemonsets", "DaemonSet"},
    KindName{"daemonset.apps", "DaemonSet"},
    KindName{"ds", "DaemonSet"},
    KindName{"cronjob", "CronJob"},
    KindName{"cronjobs", "CronJob"},
    KindName{"cronjob.batch", "CronJob"},
    KindName{"cj", "CronJob"},
};

// What is to be explained.
struct Target {
  std::string_view kind;
  std::string name;
};

// What a plan has of it.
struct Found {
  planner::Asked of_plan;
  std::vector<ExplainedGroup> groups;

  bool empty() const { return of_plan.empty() && groups.empty(); }
};

std::set<std::string> NamespacesOf(const Found& found) {
  std::set<std::string> spaces;
  for (const auto* pod : found.of_plan.pods) spaces.insert(pod->namespace_);
  for (const auto* claim : found.of_plan.claims) spaces.insert(claim->namespace_);
  for (const auto* entry : found.of_plan.missing) spaces.insert(entry->namespace_);
  for (const auto& group : found.groups) spaces.insert(group.namespace_);
  return spaces;
}

class ExplainCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("target", words_,
                   "What to explain: pod/NAME, claim/NAME, deployment/NAME, ... (default: "
                   "everything that is pending)")
        ->type_name("KIND/NAME");
    AddPlanFlags(app, flags_, {.many = false});
    AddOutput(app, output_, {"text", "json", "yaml"});
    app.add_flag("-v,--details", details_, "Show every request and device of the nodes");
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
    if (const auto spaces = NamespacesOf(found); spaces.size() > 1 && !flags_.all_namespaces) {
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
    const planner::Asked& asked = found.of_plan;
    const bool bad = std::ranges::any_of(asked.pods, refused) ||
                     std::ranges::any_of(asked.claims, refused) || !asked.missing.empty() ||
                     !std::ranges::all_of(found.groups, &ExplainedGroup::satisfied);
    return bad ? kExitFindings : kExitOk;
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("one KIND/NAME at a time; name files with -f, as in -f {}", argument);
  }

 private:
  int RunForAll(Io& io) {
    const auto made = MakePlan(flags_, io);
    if (!made) return kExitUsage;
    const planner::Plan& plan = made->plan;
    if (!flags_.namespace_.empty() && !flags_.all_namespaces &&
        !HasNamespace(plan, flags_.namespace_)) {
      return NoSuchNamespace(io, plan.objects, flags_.namespace_);
    }
    const planner::Asked found = planner::PendingIn(plan, {.namespace_ = Space()});
    if (output_ != "text") {
      Print(io, *made, {.of_plan = found, .groups = {}});
    } else if (found.empty()) {
      io.out << "Nothing is pending.\n";
    } else {
      PrintCauses(io, *made, found);
    }
    return found.empty() ? kExitOk : kExitFindings;
  }

  TextStyle StyleOf(const Io& io) const {
    return {.paint = Painter(UseColor(flags_.color, io.env.out_is_terminal, io.env)),
            .columns = io.env.columns,
            .unicode = HasUnicode(io.env),
            .details = details_};
  }

  void PrintCauses(Io& io, const Planned& made, const planner::Asked& found) const {
    const TextStyle style = StyleOf(io);
    planner::CureFinder finder(made.plan, made.options);
    std::size_t told = 0;
    for (const planner::Cause& cause : planner::CausesOf(found.pods, found.claims, found.missing)) {
      std::optional<planner::Help> help;
      if (told++ < kMostHelped) {
        if (!cause.pods.empty()) {
          help = finder.For(*cause.pods.front());
        } else if (!cause.claims.empty()) {
          help = finder.For(*cause.claims.front());
        }
      }
      if (told > 1) io.out << '\n';
      io.out << CauseText(cause, help ? &*help : nullptr, style, made.options.now);
    }
    if (told > kMostHelped) {
      io.err << fmt::format(
          "note: only the first {} causes were examined for what would help; name a pod to see "
          "what would help it\n",
          kMostHelped);
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
      UsageError(io, "explain takes one object, or none to explain everything that is pending",
                 kExample);
      return std::nullopt;
    }
    const auto row = std::ranges::find(kKindNames, kind, &KindName::word);
    if (row == kKindNames.end()) {
      UsageError(io, fmt::format("cannot explain a \"{}\"", kind),
                 "pods, claims, PodGroups and workloads (Deployment, ReplicaSet, "
                 "StatefulSet, DaemonSet, Job, CronJob) "
                 "can be explained");
      return std::nullopt;
    }
    if (name.empty()) {
      UsageError(io, fmt::format("which {}?", kind), kExample);
      return std::nullopt;
    }
    return Target{row->kind, std::move(name)};
  }

  // The one that is asked about; empty: all of them.
  std::string_view Space() const {
    return flags_.all_namespaces ? std::string_view() : flags_.namespace_;
  }
  bool Shown(std::string_view namespace_) const { return Space().empty() || namespace_ == Space(); }

  Found Find(const planner::Plan& plan, const Target& target) const {
    Found found;
    if (target.kind != "PodGroup") {
      found.of_plan = planner::About(plan, target.kind, target.name, Space());
      return found;
    }
    found.groups = GroupsNamed(plan, target.name);
    std::erase_if(found.groups,
                  [&](const ExplainedGroup& group) { return !Shown(group.namespace_); });
    for (const planner::PodOutcome& pod : plan.pods) {
      const bool member = std::ranges::any_of(found.groups, [&](const ExplainedGroup& group) {
        return group.pods.contains(pod.namespace_ + "/" + pod.name);
      });
      if (member) found.of_plan.pods.push_back(&pod);
    }
    return found;
  }

  int NotFound(Io& io, const planner::Plan& plan, const Target& target) const {
    if (!flags_.namespace_.empty() && !flags_.all_namespaces &&
        !HasNamespace(plan, flags_.namespace_)) {
      return NoSuchNamespace(io, plan.objects, flags_.namespace_);
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
      return UsageError(io, message, "it is in another namespace: remove -n, or use -A");
    }
    for (const api::Object& object : plan.objects) {
      if (object.kind().kind != target.kind || object.metadata().name != target.name ||
          !Shown(object.metadata().namespace_)) {
        continue;
      }
      return UsageError(
          io, fmt::format("there is nothing to explain about {} \"{}\"", target.kind, target.name),
          target.kind == "Pod" ? "it has ended and uses nothing on its node"
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

  void Print(Io& io, const Planned& made, const Found& all) const {
    const planner::Asked& found = all.of_plan;
    std::optional<planner::CureFinder> finder;  // only if something was refused
    const auto refused = [](const auto* outcome) { return outcome->explanation.has_value(); };
    if (std::ranges::any_of(found.pods, refused) || std::ranges::any_of(found.claims, refused)) {
      finder.emplace(made.plan, made.options);
    }
    if (output_ != "text") {
      const api::DocumentNode document = planner::ExplainJson(
          made.plan, found,
          {.explain = true, .finder = finder ? &*finder : nullptr, .most_helped = kMostHelped});
      io.out << (output_ == "yaml" ? api::ToYaml(document)
                                   : api::IndentJson(api::ToJson(document), 2) + "\n");
      return;
    }
    const TextStyle style = StyleOf(io);
    bool first = true;
    const auto print = [&](const std::string& text) {
      if (!std::exchange(first, false)) io.out << '\n';
      io.out << text;
    };
    const auto explain = [&](const auto& outcome) {
      std::optional<planner::Help> help;
      if (outcome.explanation) help = finder->For(outcome);
      print(ExplainText(outcome, help ? &*help : nullptr, style));
    };
    for (const ExplainedGroup& group : all.groups) print(group.text);
    // Of a group that waits the pods that are in its way are told of in full.
    std::vector<const planner::PodOutcome*> wait;
    for (const auto* pod : found.pods) {
      const bool waits =
          !all.groups.empty() && pod->explanation && pod->explanation->groups.empty();
      waits ? wait.push_back(pod) : explain(*pod);
    }
    if (!wait.empty()) print(WaitingWithGroup(wait));
    for (const auto* claim : found.claims) explain(*claim);
    for (const auto* entry : found.missing) print(ExplainText(*entry, style));
  }

  static constexpr std::size_t kListed = 8;
  // Each takes some dozens of attempts to schedule it.
  static constexpr std::size_t kMostHelped = 32;

  std::vector<std::string> words_;
  PlanFlags flags_;
  std::string output_;
  bool details_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeExplainCommand() { return std::make_unique<ExplainCommand>(); }

}  // namespace dray::cli::internal
