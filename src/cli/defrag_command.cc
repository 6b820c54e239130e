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
    R"(Takes what 'dray plan' takes: manifests, what 'kubectl get -o yaml' prints of a
cluster, or, when no file is named, the cluster itself. Prints the fewest moves, and
of as few those of the least important pods, after which the pods that are named
(all pending ones, if none is) have places, nodes have no pods but those of DaemonSets, or
devices of a class are free together on one node. Each move finds room when it is its
turn, and the planner has confirmed the end. Nothing is written without --apply.

Pods stay that a DaemonSet or a file of their node runs, that nothing would create again
(--move-bare-pods), that are more important (--max-priority), that belong to a group,
whose claim is not theirs alone, that a PodDisruptionBudget keeps, that lose data
(hostPath, emptyDir: --delete-emptydir-data), or that say so by the annotation
cluster-autoscaler.kubernetes.io/safe-to-evict. When there is no list, they are
told with the rule that keeps each; -o wide always does.

--apply evicts one pod after the other through the eviction API, and waits each time
until the pod that is made in its stead has a node. Nodes that shall have room are
cordoned meanwhile, and freed nodes stay cordoned. At the first surprise it stops,
and says what it saw.

Examples:
  dray defrag -f cluster.yaml                          every pod that waits
  dray defrag pod/train -f cluster.yaml
  dray defrag pod/train -n team-a                      in the cluster of the current context
  dray defrag --free-nodes 2 -l pool=gpu -f cluster.yaml
  dray defrag --free-devices gpu.example.com=8 -o wide
  dray defrag pod/train --apply

Exit code: 0 there is a list (or nothing has to move; with --apply: it was carried
out), 1 there is none (or a surprise), 2 some input or flag could not be used.)";

constexpr std::size_t kMostMoves = 1000;
constexpr std::size_t kMostAttempts = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 366 * 24 * 3600;

class DefragCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("target", words_, "Pods that shall have a place: pod/NAME; all that wait")
        ->type_name("pod/NAME");
    app.add_option("--free-node", nodes_, "Free this node of all pods but those of DaemonSets")
        ->type_name("NODE");
    app.add_option("--free-nodes", node_count_,
                   "So many nodes shall, those that are empty already included")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    app.add_option("-l,--selector", selector_, "Of nodes with these labels: --free-nodes")
        ->type_name("LABELS");
    app.add_option("--free-devices", devices_,
                   "So many devices of a class shall be free together on one node")
        ->type_name("CLASS=N");
    app.add_option("--max-moves", options_.max_moves, "Longer lists are not looked for")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--attempts", options_.budget,
                   "Attempts to place a pod before the search gives up")
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--max-priority", max_priority_, "Pods above this priority stay")
        ->type_name("PRIORITY");
    app.add_flag("--move-bare-pods", options_.bare_pods,
                 "Also move pods without a controller, which nothing creates again");
    app.add_flag("--delete-emptydir-data", options_.empty_dirs,
                 "Also move pods whose emptyDir is lost");
    app.add_flag("--apply", apply_, "Evict the pods of the list, one after the other");
    app.add_option("--timeout", timeout_, "Seconds to wait for each eviction and each new pod")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--no-cordon", no_cordon_,
                 "Leave nodes open meanwhile: pods may go back where they were");
    AddPlanFlags(app, flags_, {.many = false});
    AddOutput(app, output_, {"table", "wide", "json", "yaml"});
    app.add_flag("--no-headers", no_headers_, "Tables without their first line");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (apply_ && (!flags_.files.names.empty())) {
      return UsageError(io, "--apply moves pods of a cluster, and -f would change what is there",
                        "leave -f away; what is to be made room for has to be in the cluster");
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
    return fmt::format("files are named with -f, as in -f {}", argument);
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
        UsageError(io, fmt::format("\"{}\" names no pod", word), "pods are named as in pod/train");
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
      UsageError(io, "--selector says of which nodes --free-nodes is, which is not given",
                 "say how many, as in --free-nodes 1");
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
                   "a DeviceClass and a number, as in gpu.example.com=8");
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
      io.err << fmt::format("node/{} stays cordoned; kubectl uncordon {} opens it\n", node, node);
    }
    if (carried.done) return;
    io.err << "error: " << Printable(carried.surprise) << '\n'
           << fmt::format("  hint: {} of the list made; dray defrag tells what is left to do\n",
                          carried.made.size() == 1
                              ? "1 move was"
                              : fmt::format("{} moves were", carried.made.size()));
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
