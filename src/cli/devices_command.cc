// SPDX-License-Identifier: Apache-2.0
//
// `dray devices`: which devices there are, who has them, and what is left.
#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "api/label_selector.h"
#include "api/yaml_text.h"
#include "base/edit_distance.h"
#include "cli/internal/command.h"
#include "cli/internal/device_text.h"
#include "cli/internal/plan_input.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "client/http_client.h"
#include "client/remote_cluster.h"
#include "fmt/format.h"
#include "planner/device_tree.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Shows each node with its DRA drivers and their devices: which are free, which are allocated
and to which pod, how much of a shared device is left, which partitions are blocked because
their card is in use in another way, which are tainted, and which are gone although a claim
still holds them. Reads manifests or a dump by 'kubectl get -o yaml'; without -f, the cluster
of the current context.

-o wide prints a row per device with its attributes; -o json and -o yaml are for programs.
With -w, the tree is redrawn on a terminal whenever something changes; elsewhere each change
is printed as a line.

Examples:
  dray devices                          every node of the current context
  dray devices node-1 node-2
  dray devices -l gpu=h100 -o wide
  dray devices -n team-a                only what pods of this namespace use
  dray devices -w
  dray devices -f dump.yaml

Exit code: 0 shown, 2 an input or flag could not be used.)";

constexpr std::string_view kClear = "\x1b[H\x1b[2J\x1b[3J";

class DevicesCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("node", filter_.nodes, "Show only these nodes")->type_name("NODE");
    AddInputFlags(app, flags_, {.many = false},
                  "Show only devices used by pods or claims of this namespace");
    app.add_option("-l,--selector", selector_,
                   "Show only nodes with these labels, as in a=b,c in (d)")
        ->type_name("LABELS");
    AddOutput(app, output_, {"tree", "wide", "json", "yaml"});
    app.add_flag("--no-headers", no_headers_, "Print tables without the header line");
    app.add_flag("-w,--watch", watch_, "Watch for changes");
    app.add_option("--timeout", timeout_, "Stop watching after this time; 0 means never")
        ->type_name("DURATION")
        ->capture_default_str();
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (!flags_.all_namespaces) filter_.namespace_ = flags_.namespace_;
    auto labels = api::LabelMatcher::Parse(selector_);
    if (!labels.ok()) {
      return UsageError(io, fmt::format("-l: {}", base::Message(labels.status())));
    }
    filter_.labels = *std::move(labels);
    const auto gates = ReadGates(io, flags_.gates);
    if (!gates) return kExitUsage;
    if (watch_) return Watch(io, *gates);
    auto given = ReadObjects(flags_, *gates, io);
    if (!given) return kExitUsage;
    if (!filter_.namespace_.empty() && !HasNamespace(given->objects, filter_.namespace_)) {
      return NoSuchNamespace(io, given->objects, filter_.namespace_);
    }
    planner::DeviceTreeBuilder builder(*gates);
    std::vector<std::string> notes;
    planner::ApplyObjects(
        std::move(given->objects),
        given->from_server ? planner::AssumeNodes::kNever : AssumeNodesOf(flags_.assume_nodes),
        notes, builder);
    if (const int code = CheckNodes(io, builder); code != kExitOk) return code;
    const auto tree = builder.Build(filter_);
    if (!tree.ok()) return UsageError(io, Printable(base::Message(tree.status())));
    Print(io, *tree, given->now);
    return kExitOk;
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("name files with -f, as in -f {}", argument);
  }

 private:
  // A node that is not there was misspelt.
  int CheckNodes(Io& io, const planner::DeviceTreeBuilder& builder) const {
    for (const std::string& node : filter_.nodes) {
      if (builder.HasNode(node)) continue;
      const std::vector<std::string> names = builder.NodeNames();
      const std::vector<std::string_view> words(names.begin(), names.end());
      const auto meant = base::ClosestMatch(node, words);
      return UsageError(io, fmt::format("node \"{}\" not found", Printable(node)),
                        meant ? fmt::format("did you mean {}?", *meant)
                              : fmt::format("arguments are names of nodes; name files with -f, "
                                            "as in -f {}",
                                            Printable(node)));
    }
    return kExitOk;
  }

  void Print(Io& io, const planner::DeviceTree& tree, base::Time now) const {
    const Painter paint(UseColor(flags_.color, io.env.out_is_terminal, io.env));
    if (output_ == "json" || output_ == "yaml") {
      const api::DocumentNode document = planner::ToJson(tree);
      io.out << (output_ == "yaml" ? api::ToYaml(document)
                                   : api::IndentJson(api::ToJson(document), 2) + "\n");
      return;
    }
    if (output_ == "wide") {
      io.out << DeviceTable(tree, !no_headers_, paint, now);
    } else {
      io.out << DeviceTreeText(
          tree, {.paint = paint, .columns = io.env.columns, .unicode = HasUnicode(io.env)}, now);
    }
    io.out.flush();
    io.err << DeviceSummary(tree) << '\n';
  }

  int Watch(Io& io, const api::FeatureGates& gates) {
    if (!AsksServer(flags_, io)) {
      return UsageError(io, "-w watches a cluster and cannot be combined with -f",
                        "remove -f, or choose a cluster with --context");
    }
    if (!flags_.files.names.empty()) {
      return UsageError(io, "-w watches a cluster as it is and cannot be combined with -f",
                        "remove -f");
    }
    const auto timeout = base::ParseGoDuration(timeout_);
    if (!timeout.ok() || timeout->count() < 0) {
      return UsageError(
          io, fmt::format("--timeout: \"{}\" must be a duration of 0 or more", Printable(timeout_)),
          "for example 30s or 5m; 0 means never");
    }
    const auto access = ReadAccess(io, flags_.server);
    if (!access) return kExitUsage;
    auto http = client::HttpClient::Create(*access);
    if (!http.ok()) return UsageError(io, Printable(base::Message(http.status())));
    const EndSignals signals;
    client::RemoteCluster cluster(**http, io.env.clock,
                                  {.withheld = [](const api::KindInfo&, const Status&) {
                                    return true;  // what may not be read is taken as absent
                                  }});
    const auto watch = cluster.Watch(planner::DeviceTreeBuilder::Kinds());
    planner::DeviceTreeBuilder builder(gates);
    return Follow(io, *watch, builder, signals, *timeout);
  }

  int Follow(Io& io, api::ObjectWatch& watch, planner::DeviceTreeBuilder& builder,
             const EndSignals& signals, std::chrono::nanoseconds timeout) const {
    const auto begin = std::chrono::steady_clock::now();
    const bool redraw = io.env.out_is_terminal && (output_ == "tree" || output_ == "wide");
    std::optional<planner::DeviceTree> shown;
    std::string trouble;
    for (;;) {
      bool changed = !shown;
      while (const auto change = watch.Next()) {
        builder.Apply(*change);
        changed = true;
      }
      std::string now(base::Message(watch.Stale()));
      if (now != trouble && !now.empty()) {
        io.err << "note: the API server cannot be reached: " << Printable(now) << '\n';
      }
      trouble = std::move(now);
      if (changed && (trouble.empty() || shown)) {
        auto tree = builder.Build(filter_);
        if (!tree.ok()) return UsageError(io, Printable(base::Message(tree.status())));
        if (redraw) io.out << kClear;
        if (!shown || redraw) {
          Print(io, *tree, io.env.clock.Now());
        } else if (output_ == "tree" || output_ == "wide") {
          io.out << DeviceChanges(*shown, *tree) << std::flush;
        } else if (!DeviceChanges(*shown, *tree).empty()) {
          Print(io, *tree, io.env.clock.Now());
        }
        io.out.flush();
        shown = *std::move(tree);
      }
      if (signals.Came()) return kExitOk;
      if (timeout.count() > 0 && std::chrono::steady_clock::now() - begin >= timeout) {
        return kExitOk;
      }
    }
  }

  InputFlags flags_;
  planner::DeviceFilter filter_;
  std::string selector_;
  std::string output_;
  std::string timeout_ = "0";
  bool no_headers_ = false;
  bool watch_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDevicesCommand() { return std::make_unique<DevicesCommand>(); }

}  // namespace dray::cli::internal
