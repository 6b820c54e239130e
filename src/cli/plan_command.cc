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
    R"(Shows which node and devices each pending pod would get, without writing anything. Reads
manifests or a dump by 'kubectl get -o yaml'; without -f, the cluster of the current
context. With --kubeconfig or --context and -f, the manifests are applied to a copy of that
cluster. Running pods and allocated claims stay as they are. Claims are made from templates,
and pods from workloads. Every pod without a node is then scheduled as kube-scheduler does:
highest priority first, then the oldest. A claim that no pod uses is allocated as if one pod
used it. ResourceQuotas are enforced.

-o wide prints a row per device, and existing pods too; -o json and -o yaml print the plan as
data (with --explain, including explanations), -o objects the cluster after the plan as a
List, and -o name the names of what was placed.

Examples:
  dray plan -f manifests/
  dray plan -f manifests/ --explain
  dray plan -A                                   the cluster of the current context
  dray plan --context prod -f new-pod.yaml       what if this were applied?
  kubectl get nodes,pods,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates \
    -A -o yaml | dray plan -f - -f new-pod.yaml
  dray plan -f cluster.yaml -f job.yaml --policy best-fit -o wide

Exit code: 0 everything was placed, 1 something was not placed, 2 an input or flag
could not be used.)";

class PlanCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddPlanFlags(app, flags_, {});
    AddOutput(app, output_, {"table", "wide", "json", "yaml", "name", "objects"});
    app.add_flag("--no-headers", no_headers_, "Print tables without the header line");
    app.add_flag("--explain", explain_, "Explain every pod that could not be placed");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    const bool asked = !flags_.namespace_.empty() && !flags_.all_namespaces;
    auto made = MakePlan(flags_, io);
    if (!made) return kExitUsage;
    if (asked && !HasNamespace(made->plan, flags_.namespace_)) {
      return NoSuchNamespace(io, made->plan.objects, flags_.namespace_);
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
    return fmt::format("name files with -f, as in -f {}", argument);
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
          "note: only the first {} were examined for what would help; use 'dray explain' for "
          "others\n",
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
