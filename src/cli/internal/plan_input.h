// SPDX-License-Identifier: Apache-2.0
//
// What `dray plan` and `dray explain` have in common: from flags and files to a plan.
#pragma once

#include <optional>
#include <string>
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

struct PlanFlags {
  FileFlags files;
  ServerFlags server;
  std::string namespace_;  // with a server: its context's, unless given
  bool all_namespaces = false;
  std::string policy{allocator::Policies().front().name};
  std::string config;
  std::string assume_nodes = "auto";
  std::vector<std::string> gates;
  bool strict = false;
  std::string color;
};
void AddPlanFlags(CLI::App& app, PlanFlags& flags, const FileOptions& files);

struct Planned {
  planner::Plan plan;
  planner::PlanOptions options;  // with which it was made
};

// Reads and checks the objects and makes the plan. Files alone are planned by themselves. With a
// server, which is also asked when no file is named and always by kubectl's plugin, it is what the
// server has and the files applied to that. Nothing when some flag or input cannot be used; what is
// to be said about it, and what was assumed, has been written to standard error then.
std::optional<Planned> MakePlan(PlanFlags& flags, Io& io);

// Whether anything is in a namespace, or it is there itself.
bool HasNamespace(const planner::Plan& plan, std::string_view name);
// Tells that it is not there, with what was probably meant.
int NoSuchNamespace(Io& io, const planner::Plan& plan, const std::string& name);

}  // namespace dray::cli::internal
