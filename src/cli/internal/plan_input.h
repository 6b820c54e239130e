// SPDX-License-Identifier: Apache-2.0
//
// What `dray plan` and `dray explain` have in common: from flags and files to a plan.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "cli/environment.h"
#include "cli/internal/options.h"
#include "cli/internal/server_flags.h"
#include "planner/plan.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

// Where objects come from, and which of them are meant.
struct InputFlags {
  FileFlags files;
  ServerFlags server;
  std::string namespace_;  // with a server: its context's, unless given
  bool all_namespaces = false;
  std::string assume_nodes = "auto";
  std::vector<std::string> gates;
  bool strict = false;
  std::string color;
};
// `namespaces` is what -n and -A show.
void AddInputFlags(CLI::App& app, InputFlags& flags, const FileOptions& files,
                   const std::string& namespaces);

struct PlanFlags : InputFlags {
  std::string policy{allocator::Policies().front().name};
  std::string config;
};
void AddPlanFlags(CLI::App& app, PlanFlags& flags, const FileOptions& files);

// Whether a server is asked: when it is named, when no file is, and always by kubectl's plugin.
bool AsksServer(const InputFlags& flags, const Io& io);
planner::AssumeNodes AssumeNodesOf(const std::string& word);

struct GivenObjects {
  std::vector<api::Object> objects;
  std::vector<planner::Skipped> skipped;
  bool from_server = false;
  // Files add to what a server has, and are younger than all that is there, whatever the clocks say.
  base::Time now;
};
// Files alone are taken by themselves; with a server it is what the server has, and the files
// applied to that. Nothing when some input cannot be used, which has been said.
std::optional<GivenObjects> ReadObjects(InputFlags& flags, const api::FeatureGates& gates, Io& io);

// What a plan is made of.
struct PlanInput {
  std::vector<api::Object> objects;
  std::vector<planner::Skipped> skipped;
  planner::PlanOptions options;
};
// As ReadObjects, with what the flags say of planning.
std::optional<PlanInput> ReadPlanInput(PlanFlags& flags, Io& io);

struct Planned {
  planner::Plan plan;
  planner::PlanOptions options;  // with which it was made
};

// The input, and the plan that is made of it. Nothing as above, or when there is no plan.
std::optional<Planned> MakePlan(PlanFlags& flags, Io& io);

// Whether anything is in a namespace, or it is there itself.
bool HasNamespace(std::span<const api::Object> objects, std::string_view name);
bool HasNamespace(const planner::Plan& plan, std::string_view name);
// Tells that it is not there, with what was probably meant.
int NoSuchNamespace(Io& io, std::span<const api::Object> objects, const std::string& name);

}  // namespace dray::cli::internal
