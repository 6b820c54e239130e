// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/command_table.h"

#include <algorithm>
#include <array>

namespace dray::cli::internal {

namespace {

constexpr std::array kCommands = {
    CommandRow{"up", "Run a control plane that kubectl talks to, in one process", &MakeUpCommand},
    CommandRow{"kubeconfig", "Make credentials for a node, a driver or a person",
               &MakeKubeconfigCommand},
    CommandRow{"node", "Make this machine a node: run its pods, with devices from DRA drivers",
               &MakeNodeCommand},
    CommandRow{"image", "Build, import and list images for nodes without a registry",
               &MakeImageCommand},
    CommandRow{"console", "Show a cluster's devices, claims and pending pods in the browser",
               &MakeConsoleCommand},
    CommandRow{"install", "Print or apply what `dray scheduler` needs in a cluster",
               &MakeInstallCommand},
    CommandRow{"plan", "Show who would get which node and devices, of files or of a cluster",
               &MakePlanCommand},
    CommandRow{"explain", "Show why a pod or claim gets what it gets, or nothing",
               &MakeExplainCommand},
    CommandRow{"defrag", "List the few moves that make room for pods, or free nodes or devices",
               &MakeDefragCommand},
    CommandRow{"devices", "Show the devices of the nodes, who has them, and what is left",
               &MakeDevicesCommand},
    CommandRow{"validate", "Check manifests, alone and against each other, without a cluster",
               &MakeValidateCommand},
    CommandRow{"cel", "Compile an expression and try it on the devices of slices", &MakeCelCommand},
    CommandRow{"simulate", "Run a scenario: a cluster, its work and its mishaps, in simulated time",
               &MakeSimulateCommand},
    CommandRow{"scheduler", "Run the scheduler alone, for an API server somewhere else",
               &MakeSchedulerCommand},
    CommandRow{"apiserver",
               "Run the API server alone, one of several or with other parts elsewhere",
               &MakeApiserverCommand},
    CommandRow{"controllers", "Run the controllers alone, for an API server somewhere else",
               &MakeControllersCommand},
    CommandRow{"store", "Copy all objects from a file to etcd, or back", &MakeStoreCommand},
    CommandRow{"driver", "Serve devices of a file or of the machine to a node; test a driver",
               &MakeDriverCommand},
    CommandRow{"features", "List the feature gates and what they are set to", &MakeFeaturesCommand},
    CommandRow{"completion", "Print what makes a shell complete the commands and flags of dray",
               &MakeCompletionCommand},
    CommandRow{"man", "Print the manual page of dray or of one of its commands", &MakeManCommand},
    CommandRow{"version", "Print the version", &MakeVersionCommand},
};

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

const CommandRow* FindCommand(std::string_view word) {
  const auto it = std::ranges::find(kCommands, word, &CommandRow::name);
  return it == kCommands.end() ? nullptr : &*it;
}

}  // namespace dray::cli::internal
