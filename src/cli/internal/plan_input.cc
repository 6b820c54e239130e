// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/plan_input.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <utility>

#include "CLI/CLI.hpp"
#include "allocator/policy.h"
#include "base/edit_distance.h"
#include "cel/device_env.h"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/scheduler_flags.h"
#include "cli/internal/server_objects.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "fmt/format.h"
#include "threads/thread_pool.h"

namespace dray::cli::internal {
namespace {

// Of files that somebody else wrote: what is there counts, not where it stands.
bool Readable(const Report& report, const InputFlags& flags, Io& io) {
  const std::string text =
      ToText(report, {.color = UseColor(flags.color, io.env.err_is_terminal, io.env)});
  io.err << text;
  if (report.ExitCode() == kExitOk) return true;
  io.err << SummaryOf(report) << '\n';
  return false;
}

std::optional<planner::PlanOptions> OptionsOf(const PlanFlags& flags, Io& io) {
  const auto gates = ReadGates(io, flags.gates);
  if (!gates) return std::nullopt;
  auto config = ReadSchedulerConfig(io, flags.config);
  if (!config) return std::nullopt;
  return planner::PlanOptions{.gates = *gates,
                              .config = *std::move(config),
                              .policy = *allocator::FindPolicy(flags.policy),
                              .now = io.env.clock.Now(),
                              .assume_nodes = AssumeNodesOf(flags.assume_nodes),
                              // In a cluster somebody answers to the name.
                              .assume_schedulers = AsksServer(flags, io),
                              .everything_given = AsksServer(flags, io)};
}

// What the server has; the namespace becomes that of its context.
std::optional<std::vector<api::Object>> ServerObjects(InputFlags& flags, Io& io) {
  const auto access = ReadAccess(io, flags.server);
  if (!access) {
    if (flags.files.names.empty())
      io.err << "  hint: name files with -f to work without a cluster; -f - reads standard input\n";
    return std::nullopt;
  }
  std::vector<std::string> notes;
  auto objects = ReadServer(*access, notes);
  if (!objects.ok()) {
    const bool away = objects.status().code() == StatusCode::kUnavailable;
    UsageError(io, Printable(base::Message(objects.status())),
               away ? "check that the API server is running, or choose another one with --context "
                      "or --kubeconfig"
                    : "");
    return std::nullopt;
  }
  for (const std::string& note : notes) io.err << "note: " << Printable(note) << '\n';
  if (flags.namespace_.empty()) {
    flags.namespace_ = access->namespace_.empty() ? "default" : access->namespace_;
  }
  return *std::move(objects);
}

// What files add is younger than all that is there, whatever the clocks say.
base::Time AfterAll(base::Time now, const std::vector<api::Object>& stored) {
  for (const api::Object& object : stored) {
    const auto& created = object.metadata().creation_timestamp;
    if (created) now = std::max(now, *created + std::chrono::seconds(1));
  }
  return now;
}

std::vector<api::Object> ObjectsOf(Manifests manifests, const std::string& namespace_) {
  std::vector<api::Object> objects;
  for (Manifest& manifest : manifests.manifests) {
    api::Object& object = manifest.object;
    if (!namespace_.empty() && object.kind().namespaced && object.metadata().namespace_.empty()) {
      object.MutableMetadata().namespace_ = namespace_;
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

}  // namespace

planner::AssumeNodes AssumeNodesOf(const std::string& word) {
  if (word == "always") return planner::AssumeNodes::kAlways;
  return word == "never" ? planner::AssumeNodes::kNever : planner::AssumeNodes::kIfNone;
}

bool AsksServer(const InputFlags& flags, const Io& io) {
  return flags.server.given() || flags.files.names.empty() || io.env.plugin;
}

void AddInputFlags(CLI::App& app, InputFlags& flags, const FileOptions& files,
                   const std::string& namespaces) {
  AddFiles(app, flags.files, files);
  AddServerFlags(app, flags.server);
  app.add_option("-n,--namespace", flags.namespace_, namespaces)->type_name("NS");
  app.add_flag("-A,--all-namespaces", flags.all_namespaces, "Show all namespaces");
  AddChoices(*app.add_option("--assume-nodes", flags.assume_nodes,
                             "Assume nodes that only slices or pods name: auto (if the input has "
                             "no Node), always, never")
                  ->type_name("WHEN")
                  ->capture_default_str(),
             {"auto", "always", "never"});
  AddGates(app, flags.gates);
  AddStrict(app, flags.strict);
  AddColor(app, flags.color);
}

void AddPlanFlags(CLI::App& app, PlanFlags& flags, const FileOptions& files) {
  AddInputFlags(app, flags, files, "Namespace to show, and of objects that name none");
  AddPolicy(app, flags.policy,
            "How devices are chosen: the first that fit, as in Kubernetes, or those that leave "
            "most room for others")
      ->capture_default_str();
  AddConfig(app, flags.config);
}

std::optional<GivenObjects> ReadObjects(InputFlags& flags, const api::FeatureGates& gates, Io& io) {
  Manifests manifests =
      ReadManifests(LoadSources(flags.files.names, io.in, {.recursive = flags.files.recursive}),
                    {.strict = flags.strict});
  const cel::DeviceExpressionChecker expressions;
  GivenObjects given{.now = io.env.clock.Now()};
  const Report report = Validate(
      manifests,
      {.gates = gates, .expressions = &expressions, .now = given.now, .fit_together = false});
  if (!Readable(report, flags, io)) return std::nullopt;
  for (const auto& [kind, count] : manifests.report.skipped_kinds) {
    given.skipped.push_back({kind, count});
  }
  given.from_server = AsksServer(flags, io);
  if (given.from_server) {
    auto stored = ServerObjects(flags, io);
    if (!stored) return std::nullopt;
    given.now = AfterAll(given.now, *stored);
    auto applied = Applied(*std::move(stored), manifests, flags.namespace_);
    if (!applied.ok()) {
      UsageError(io, Printable(base::Message(applied.status())));
      return std::nullopt;
    }
    given.objects = *std::move(applied);
  } else {
    given.objects = ObjectsOf(std::move(manifests), flags.namespace_);
  }
  return given;
}

std::optional<PlanInput> ReadPlanInput(PlanFlags& flags, Io& io) {
  auto options = OptionsOf(flags, io);
  if (!options) return std::nullopt;
  auto given = ReadObjects(flags, options->gates, io);
  if (!given) return std::nullopt;
  options->now = given->now;
  return PlanInput{.objects = std::move(given->objects),
                   .skipped = std::move(given->skipped),
                   .options = *std::move(options)};
}

std::optional<Planned> MakePlan(PlanFlags& flags, Io& io) {
  auto input = ReadPlanInput(flags, io);
  if (!input) return std::nullopt;
  planner::PlanOptions& options = input->options;
  threads::ThreadPool pool(threads::WorkersFor(options.config.parallelism));
  options.executor = &pool;
  auto plan = planner::MakePlan(std::move(input->objects), options);
  if (!plan.ok()) {
    UsageError(io, Printable(base::Message(plan.status())));
    return std::nullopt;
  }
  for (const std::string& note : plan->notes) io.err << "note: " << Printable(note) << '\n';
  plan->skipped = std::move(input->skipped);
  options.executor = nullptr;  // it ends here
  return Planned{*std::move(plan), std::move(options)};
}

bool HasNamespace(std::span<const api::Object> objects, std::string_view name) {
  return std::ranges::any_of(objects, [&](const api::Object& object) {
    if (object.kind().namespaced) return object.metadata().namespace_ == name;
    return object.kind().kind == "Namespace" && object.metadata().name == name;
  });
}

bool HasNamespace(const planner::Plan& plan, std::string_view name) {
  const auto here = [&](const auto& outcome) { return outcome.namespace_ == name; };
  return std::ranges::any_of(plan.pods, here) || std::ranges::any_of(plan.claims, here) ||
         HasNamespace(plan.objects, name);
}

int NoSuchNamespace(Io& io, std::span<const api::Object> objects, const std::string& name) {
  std::set<std::string> spaces;
  for (const api::Object& object : objects) {
    if (object.kind().namespaced) spaces.insert(object.metadata().namespace_);
  }
  const std::vector<std::string_view> names(spaces.begin(), spaces.end());
  const auto meant = base::ClosestMatch(name, names);
  return UsageError(io,
                    fmt::format("namespace \"{}\" not found: the input has no object in it", name),
                    meant           ? fmt::format("did you mean {}?", *meant)
                    : names.empty() ? ""
                                    : fmt::format("there is {}", fmt::join(names, ", ")));
}

}  // namespace dray::cli::internal
