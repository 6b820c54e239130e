// SPDX-License-Identifier: Apache-2.0
//
// `dray plan`: who would get what where.
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

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Takes manifests, what 'kubectl get -o yaml' prints of a cluster, or, when no file is
named, the cluster itself; with --kubeconfig or --context, what the files hold is
applied to what the cluster has. Nothing is written there. Pods that are
on nodes and claims that are allocated stay as they are. Claims are made from
templates, pods from Deployments, ReplicaSets and Jobs, and every pod without a
node is scheduled as kube-scheduler would do it: the most important first, then
the oldest. A claim that no pod uses gets what the first pod would get that did.

-o wide has a row per device, and what there was before; -o json and yaml print
the cluster as it would be, -o name what was placed.

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
    AddOutput(app, output_, {"table", "wide", "json", "yaml", "name"});
    app.add_flag("--no-headers", no_headers_, "Tables without their first line");
    app.add_flag("--explain", explain_, "Say why of everything that was not placed");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    auto plan = MakePlan(flags_, io);
    if (!plan) return kExitUsage;
    const std::vector<api::Object> objects = std::move(plan->objects);
    KeepNamespace(*plan);
    if (output_ == "json" || output_ == "yaml") {
      PrintObjects(io, objects);
    } else if (output_ == "name") {
      PrintNames(io, *plan);
    } else {
      const Painter paint(UseColor(flags_.color, io.env.out_is_terminal, io.env));
      io.out << PlanTable(*plan, {.wide = output_ == "wide", .headers = !no_headers_}, paint);
      if (explain_) PrintReasons(io, *plan, paint);
      io.out.flush();
      io.err << PlanSummary(*plan) << '\n';
    }
    return plan->Count(planner::State::kRefused) > 0 ? kExitFindings : kExitOk;
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
    if (output_ == "yaml") {
      io.out << api::ToYaml(list);
    } else {
      io.out << api::IndentJson(api::ToJson(list), 2) << '\n';
    }
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

  static void PrintReasons(Io& io, const planner::Plan& plan, const Painter& paint) {
    for (const planner::PodOutcome& pod : plan.pods) {
      if (pod.explanation) io.out << '\n' << ExplainText(pod, paint);
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (claim.explanation) io.out << '\n' << ExplainText(claim, paint);
    }
  }

  PlanFlags flags_;
  std::string output_;
  bool no_headers_ = false;
  bool explain_ = false;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace dray::cli::internal
