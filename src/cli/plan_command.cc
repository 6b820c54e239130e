// SPDX-License-Identifier: Apache-2.0
//
// `dray plan`: who would get what where.
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "api/yaml_text.h"
#include "cli/internal/command.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/plan_input.h"
#include "cli/internal/plan_text.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Takes manifests, what 'kubectl get -o yaml' prints of a cluster, or, when no file is
named, the cluster itself; with --kubeconfig or --context, what the files hold is
applied to what the cluster has. Nothing is written there. Pods that are
on nodes and claims that are allocated stay as they are. Claims are made from
templates, pods from Deployments, ReplicaSets and Jobs, and every pod without a
node is scheduled as kube-scheduler would do it: the most important first, then
the oldest. A claim no pod uses is allocated as if one pod used it. ResourceQuotas
are counted: what a server would not let come in is refused.

-o wide has a row per device, and what there was before; -o json and yaml print
the plan as data (with --explain, each explanation), -o objects the cluster as it
would be, as a List, and -o name what was placed.

Examples:
  dray plan -f manifests/
  dray plan -f manifests/ --explain
  dray plan -A                                   the cluster of the current context
  dray plan --context prod -f new-pod.yaml       if that were applied
  kubectl get nodes,pods,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates \
    -A -o yaml | dray plan -f - -f new-pod.yaml
  dray plan -f cluster.yaml -f job.yaml --policy best-fit -o wide

Exit code: 0 everything was placed, 1 something was not, 2 some input or flag
could not be used.)";

class PlanCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddPlanFlags(app, flags_, {});
    AddOutput(app, output_, {"table", "wide", "json", "yaml", "name", "objects"});
    app.add_flag("--no-headers", no_headers_, "Tables without their first line");
    app.add_flag("--explain", explain_, "Explain every pod that could not be placed");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    const bool asked = !flags_.namespace_.empty() && !flags_.all_namespaces;
    auto made = MakePlan(flags_, io);
    if (!made) return kExitUsage;
    if (asked && !HasNamespace(made->plan, flags_.namespace_)) {
      return NoSuchNamespace(io, made->plan, flags_.namespace_);
    }
    std::optional<planner::CureFinder> finder;
    if (explain_) finder.emplace(made->plan, made->options);
    planner::Plan* const plan = &made->plan;
    const std::vector<api::Object> objects = std::move(plan->objects);
    KeepNamespace(*plan);
    if (output_ == "objects") {
      PrintObjects(io, objects);
    } else if (output_ == "json" || output_ == "yaml") {
      PrintPlan(io, *plan, finder);
    } else if (output_ == "name") {
      PrintNames(io, *plan);
    } else {
      const Painter paint(UseColor(flags_.color, io.env.out_is_terminal, io.env));
      io.out << PlanTable(*plan, {.wide = output_ == "wide", .headers = !no_headers_}, paint);
      if (finder)
        PrintReasons(io, *plan,
                     {.paint = paint, .columns = io.env.columns, .unicode = HasUnicode(io.env)},
                     *finder);
      io.out.flush();
      io.err << PlanSummary(*plan) << '\n';
    }
    return plan->Satisfied() ? kExitOk : kExitFindings;
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("files are named with -f, as in -f {}", argument);
  }

 private:
  // What is shown and judged; everything was planned.
  void KeepNamespace(planner::Plan& plan) const {
    if (flags_.namespace_.empty() || flags_.all_namespaces) return;
    const auto other = [&](const auto& outcome) { return outcome.namespace_ != flags_.namespace_; };
    std::erase_if(plan.pods, other);
    std::erase_if(plan.claims, other);
    std::erase_if(plan.missing, other);
  }

  // The whole cluster, whatever is shown otherwise: so that it can be planned on.
  void PrintObjects(Io& io, const std::vector<api::Object>& objects) const {
    std::vector<api::DocumentNode> items;
    for (const api::Object& object : objects) {
      std::vector<api::Diagnostic> none;
      items.push_back(api::ParseJson(object.ToJson(), none));
    }
    const api::DocumentNode list = Map({{"apiVersion", String("v1")},
                                        {"kind", String("List")},
                                        {"metadata", Map({})},
                                        {"items", List(std::move(items))}});
    io.out << api::ToYaml(list);
  }

  // What was found, for programs.
  void PrintPlan(Io& io, const planner::Plan& plan,
                 std::optional<planner::CureFinder>& finder) const {
    const api::DocumentNode document = planner::ToJson(
        plan,
        {.explain = explain_, .finder = finder ? &*finder : nullptr, .most_helped = kMostHelped});
    io.out << (output_ == "yaml" ? api::ToYaml(document)
                                 : api::IndentJson(api::ToJson(document), 2) + "\n");
  }

  static void PrintNames(Io& io, const planner::Plan& plan) {
    for (const planner::PodOutcome& pod : plan.pods) {
      if (pod.state == planner::State::kPlaced) io.out << "pod/" << pod.name << '\n';
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (claim.state != planner::State::kPlaced) continue;
      io.out << "resourceclaim.resource.k8s.io/" << claim.claim.name << '\n';
    }
  }

  static void PrintReasons(Io& io, const planner::Plan& plan, const TextStyle& style,
                           planner::CureFinder& finder) {
    std::size_t tried = 0;
    const auto print = [&](const auto& outcome) {
      if (!outcome.explanation) return;
      std::optional<planner::Help> help;
      if (tried++ < kMostHelped) help = finder.For(outcome);
      io.out << '\n' << ExplainText(outcome, help ? &*help : nullptr, style);
    };
    for (const planner::PodOutcome& pod : plan.pods) print(pod);
    for (const planner::ClaimOutcome& claim : plan.claims) print(claim);
    for (const planner::MissingPods& missing : plan.missing) {
      io.out << '\n' << ExplainText(missing, style);
    }
    if (tried > kMostHelped) {
      io.err << fmt::format(
          "note: what would help was looked for only for the first {}; "
          "'dray explain' tells of any\n",
          kMostHelped);
    }
  }

  // Each takes some dozens of attempts to schedule it.
  static constexpr std::size_t kMostHelped = 32;

  PlanFlags flags_;
  std::string output_;
  bool no_headers_ = false;
  bool explain_ = false;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace dray::cli::internal
