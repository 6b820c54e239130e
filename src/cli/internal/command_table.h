// SPDX-License-Identifier: Apache-2.0
//
// The commands there are. Help, completion, manual pages and guesses at what was meant read this
// table.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "cli/internal/command.h"

namespace dray::cli::internal {

struct CommandRow {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Command> (*make)();
};

std::span<const CommandRow> Commands();

// The command that `word` is, or null.
const CommandRow* FindCommand(std::string_view word);

// What `dray --help` says above and below the commands.
inline constexpr std::string_view kAbout =
    "dray implements Dynamic Resource Allocation (resource.k8s.io) for Kubernetes: it gives "
    "devices to the workloads that request them, and explains why when it cannot.";
inline constexpr std::string_view kExamples = R"(Examples:
  dray up --demo                           run a small cluster, for kubectl
  dray plan -f manifests/                  see which pods would be placed where
  dray explain pod/train -f manifests/     see why a pod is pending, and what would help
  dray validate -f manifests/              check every manifest of a folder
  kubectl get resourceslices,deviceclasses,resourceclaims -A -o yaml | dray validate -f -
                                           check the objects of a cluster
  dray features                            list the feature gates

Run 'dray COMMAND --help' for more about a command.)";

}  // namespace dray::cli::internal
