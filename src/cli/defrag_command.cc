// SPDX-License-Identifier: Apache-2.0
//
// `dray defrag`: which few pods to move, so that others fit or nodes or devices are free.
#include <charconv>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "api/label_selector.h"
#include "api/yaml_text.h"
#include "cli/internal/command.h"
#include "cli/internal/defrag_text.h"
#include "cli/internal/move_server.h"
#include "cli/internal/plan_input.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "planner/carry_out.h"
#include "planner/defrag.h"
#include "threads/thread_pool.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Finds the fewest pod moves that make room: for the named pods (by default all pending
ones), for empty nodes (--free-node, --free-nodes), or for free devices of a class together
on one node (--free-devices). Among equally short lists it prefers to move less important
pods. Every move has been checked to find room when its turn comes. The input is the same as
for 'dray plan': manifests, a dump by 'kubectl get -o yaml', or, without -f, the cluster
itself. Nothing is written unless --apply is given.

Some pods are never moved: pods of DaemonSets, static pods, pods without a controller
(unless --move-bare-pods), pods above --max-priority, pods of a PodGroup, pods that share
their claim, pods protected by a PodDisruptionBudget, pods that would lose data (hostPath,
or emptyDir unless --delete-emptydir-data), and pods with the annotation
cluster-autoscaler.kubernetes.io/safe-to-evict: "false". If there is no solution, these pods
are listed with the rule that keeps them in place; -o wide always lists them.

--apply evicts the pods one by one through the eviction API and waits each time until the
replacement pod is scheduled. Nodes on which room is made are cordoned meanwhile, so that no
other pod takes it; freed nodes stay cordoned. If anything unexpected happens, it stops and
reports what it saw.

Examples:
  dray defrag -f cluster.yaml                          make room for all pending pods
  dray defrag pod/train -f cluster.yaml
  dray defrag pod/train -n team-a                      in the cluster of the current context
  dray defrag --free-nodes 2 -l pool=gpu -f cluster.yaml
  dray defrag --free-devices gpu.example.com=8 -o wide
  dray defrag pod/train --apply

Exit code: 0 moves were found (or none are needed; with --apply: they were carried out),
1 there is no solution (or --apply stopped early), 2 an input or flag could not be used.)";

constexpr std::size_t kMostMoves = 1000;
constexpr std::size_t kMostAttempts = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 366 * 24 * 3600;

class DefragCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("target", words_,
                   "Pods to make room for, as pod/NAME (default: all pending pods)")
        ->type_name("pod/NAME");
    app.add_option("--free-node", nodes_,
                   "Empty this node of all pods except those of DaemonSets; may be repeated")
        ->type_name("NODE");
    app.add_option("--free-nodes", node_count_,
                   "Number of nodes to be empty, including those that are already")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    app.add_option("-l,--selector", selector_, "Label selector for the nodes of --free-nodes")
        ->type_name("LABELS");
    app.add_option("--free-devices", devices_,
                   "Number of devices of a class to be free together on one node")
        ->type_name("CLASS=N");
    app.add_option("--max-moves", options_.max_moves, "Maximum number of moves")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--attempts", options_.budget,
                   "Number of placement attempts before the search gives up")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--max-priority", max_priority_, "Do not move pods above this priority")
        ->type_name("PRIORITY");
    app.add_flag("--move-bare-pods", options_.bare_pods,
                 "Also move pods without a controller, which nothing recreates");
    app.add_flag("--delete-emptydir-data", options_.empty_dirs,
                 "Also move pods with emptyDir volumes, whose data is lost");
    app.add_flag("--apply", apply_, "Evict the listed pods, one after the other");
    app.add_option("--timeout", timeout_, "Seconds to wait for each eviction and each new pod")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--no-cordon", no_cordon_,
                 "Do not cordon nodes meanwhile: pods may return to where they were");
    AddPlanFlags(app, flags_, {.many = false});
    AddOutput(app, output_, {"table", "wide", "json", "yaml"});
    app.add_flag("--no-headers", no_headers_, "Print tables without the header line");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (apply_ && (!flags_.files.names.empty())) {
      return UsageError(io, "--apply moves pods of a cluster and cannot be combined with -f",
                        "remove -f; the pods to make room for have to be in the cluster");
    }
    // A number below zero is read as a very large one.
    if (options_.max_moves > kMostMoves) {
      return UsageError(io, fmt::format("--max-moves must be from 0 to {}", kMostMoves));
    }
    if (options_.budget == 0 || options_.budget > kMostAttempts) {
      return UsageError(io, fmt::format("--attempts must be from 1 to {}", kMostAttempts));
    }
    if (timeout_ > kMostSeconds) {
      return UsageError(io, fmt::format("--timeout must be at most {} seconds", kMostSeconds));
    }
    std::optional<planner::DefragGoal> goal = ReadGoal(io);
    if (!goal) return kExitUsage;
    auto input = ReadPlanInput(flags_, io);
    if (!input) return kExitUsage;
    const std::string space = flags_.namespace_.empty() ? "default" : flags_.namespace_;
    for (planner::PodName& pod : goal->pods) pod.namespace_ = space;
    if (!flags_.all_namespaces && !flags_.namespace_.empty()) goal->namespace_ = space;
    options_.max_priority = max_priority_;
    threads::ThreadPool pool(threads::WorkersFor(input->options.config.parallelism));
    input->options.executor = &pool;
    const auto found =
        planner::FindMoves(std::move(input->objects), *goal, input->options, options_);
    if (!found.ok()) return UsageError(io, Printable(base::Message(found.status())));
    for (const std::string& note : found->notes) io.err << "note: " << Printable(note) << '\n';
    std::optional<planner::CarriedOut> carried;
    if (output_ == "table" || output_ == "wide") {
      PrintTable(io, *found);
      if (apply_ && found->reached) {
        carried = Apply(io, *found,
                        {.goal = *std::move(goal), .plan = input->options, .defrag = options_});
        if (!carried) return kExitUsage;
        PrintEnd(io, *carried);
      }
    } else {
      if (apply_ && found->reached) {
        carried = Apply(io, *found,
                        {.goal = *std::move(goal), .plan = input->options, .defrag = options_});
        if (!carried) return kExitUsage;
      }
      const api::DocumentNode document = ToJson(*found, carried ? &*carried : nullptr);
      io.out << (output_ == "yaml" ? api::ToYaml(document)
                                   : api::IndentJson(api::ToJson(document), 2) + "\n");
    }
    return found->reached && (!carried || carried->done) ? kExitOk : kExitFindings;
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("name files with -f, as in -f {}", argument);
  }

 private:
  // Namespaces are not known yet.
  std::optional<planner::DefragGoal> ReadGoal(Io& io) const {
    planner::DefragGoal goal;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::string word = words_[i];
      const bool kind_alone = word == "pod" || word == "pods" || word == "po";
      if (kind_alone && i + 1 < words_.size()) word += "/" + words_[++i];
      const auto slash = word.find('/');
      const std::string kind = word.substr(0, slash);
      const bool pod = kind == "pod" || kind == "pods" || kind == "po";
      if (!pod || slash == std::string::npos || slash + 1 == word.size()) {
        UsageError(io, fmt::format("\"{}\" is not the name of a pod", word),
                   "name pods as in pod/train");
        return std::nullopt;
      }
      goal.pods.push_back({.name = word.substr(slash + 1)});
    }
    goal.nodes = nodes_;
    goal.node_count = node_count_;
    auto selector = api::LabelMatcher::Parse(selector_);
    if (!selector.ok()) {
      UsageError(io, fmt::format("--selector: {}", base::Message(selector.status())));
      return std::nullopt;
    }
    goal.node_selector = *std::move(selector);
    if (!selector_.empty() && node_count_ == 0) {
      UsageError(io, "--selector needs --free-nodes", "for example --free-nodes 1");
      return std::nullopt;
    }
    for (const std::string& text : devices_) {
      const auto equals = text.rfind('=');
      planner::FreeDevices devices{.device_class = text.substr(0, equals)};
      const char* const end = text.data() + text.size();
      const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
      const auto [rest, error] = std::from_chars(begin, end, devices.count);
      if (devices.device_class.empty() || error != std::errc() || rest != end ||
          devices.count < 1) {
        UsageError(io, fmt::format("--free-devices: \"{}\" is not CLASS=N", text),
                   "give a DeviceClass and a number, as in gpu.example.com=8");
        return std::nullopt;
      }
      goal.devices.push_back(std::move(devices));
    }
    return goal;
  }

  void PrintTable(Io& io, const planner::Defrag& found) const {
    const Painter paint(UseColor(flags_.color, io.env.out_is_terminal, io.env));
    const TableOptions options{.wide = output_ == "wide", .headers = !no_headers_};
    io.out << DefragTable(found, options, paint);
    if (options.wide || !found.reached) {
      const std::string kept = KeptTable(found, options, paint);
      if (!kept.empty() && (found.reached)) io.out << '\n';
      io.out << kept;
    }
    io.out.flush();
    const std::string summary = DefragSummary(found);
    for (std::size_t at = 0; at < summary.size();) {
      const std::size_t end = summary.find('\n', at);
      io.err << Printable(std::string_view(summary).substr(at, end - at)) << '\n';
      at = end + 1;
    }
    io.err.flush();
  }

  std::optional<planner::CarriedOut> Apply(Io& io, const planner::Defrag& found,
                                           planner::CarryOutOptions options) {
    const auto access = ReadAccess(io, flags_.server);
    if (!access) return std::nullopt;
    auto server = MakeMoveServer(*access);
    if (!server.ok()) {
      UsageError(io, Printable(base::Message(server.status())));
      return std::nullopt;
    }
    options.timeout = std::chrono::seconds(timeout_);
    options.cordon = !no_cordon_;
    const bool quiet = output_ == "json" || output_ == "yaml";
    return planner::CarryOut(found, **server, io.env.clock, options, [&](const std::string& line) {
      std::ostream& to = quiet ? io.err : io.out;
      to << Printable(line) << '\n';
      to.flush();
    });
  }

  static void PrintEnd(Io& io, const planner::CarriedOut& carried) {
    for (const std::string& node : carried.closed) {
      io.err << fmt::format("node/{} stays cordoned; run kubectl uncordon {} to open it\n", node,
                            node);
    }
    if (carried.done) return;
    io.err << "error: " << Printable(carried.surprise) << '\n'
           << fmt::format("  hint: {} of the list done; run dray defrag again for the rest\n",
                          carried.made.size() == 1
                              ? "1 move is"
                              : fmt::format("{} moves are", carried.made.size()));
  }

  std::vector<std::string> words_;
  std::vector<std::string> nodes_;
  std::size_t node_count_ = 0;
  std::string selector_;
  std::vector<std::string> devices_;
  planner::DefragOptions options_;
  std::optional<std::int32_t> max_priority_;
  bool apply_ = false;
  std::int64_t timeout_ = 300;
  bool no_cordon_ = false;
  PlanFlags flags_;
  std::string output_;
  bool no_headers_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDefragCommand() { return std::make_unique<DefragCommand>(); }

}  // namespace dray::cli::internal
