// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/command_table.h"

#include <algorithm>
#include <array>

namespace dray::cli::internal {

namespace {

constexpr std::array kCommands = {
    CommandRow{"up", "Run a control plane that kubectl talks to, in one process", &MakeUpCommand},
    CommandRow{"kubeconfig", "Create credentials for a node, a driver or a user",
               &MakeKubeconfigCommand},
    CommandRow{"node", "Run this machine as a node: its pods, with devices from DRA drivers",
               &MakeNodeCommand},
    CommandRow{"image", "Build, import and list container images for nodes without a registry",
               &MakeImageCommand},
    CommandRow{"console", "Show a cluster's devices, claims and pending pods in the browser",
               &MakeConsoleCommand},
    CommandRow{"install", "Print or apply the manifests to run `dray scheduler` in a cluster",
               &MakeInstallCommand},
    CommandRow{"plan", "Show which node and devices each pending pod would get", &MakePlanCommand},
    CommandRow{"explain", "Explain why a pod or claim is pending, or where it was placed",
               &MakeExplainCommand},
    CommandRow{"defrag",
               "Find the fewest pod moves that make room for pods, or free nodes or devices",
               &MakeDefragCommand},
    CommandRow{"devices", "Show the devices of each node, the pods that use them, and what is left",
               &MakeDevicesCommand},
    CommandRow{"validate", "Check manifests, one by one and against each other, without a cluster",
               &MakeValidateCommand},
    CommandRow{"cel", "Check a CEL expression and try it on the devices of ResourceSlices",
               &MakeCelCommand},
    CommandRow{"simulate", "Simulate a cluster, its workloads and failures over time",
               &MakeSimulateCommand},
    CommandRow{"scheduler", "Run only the scheduler, for any API server", &MakeSchedulerCommand},
    CommandRow{"apiserver", "Run only the API server, one or several replicas",
               &MakeApiserverCommand},
    CommandRow{"controllers", "Run only the controllers, for an API server of dray",
               &MakeControllersCommand},
    CommandRow{"store", "Copy all objects from a file to etcd, or back", &MakeStoreCommand},
    CommandRow{"driver",
               "Run a DRA driver for devices of a file or of this machine; test any driver",
               &MakeDriverCommand},
    CommandRow{"features", "List the feature gates and their defaults", &MakeFeaturesCommand},
    CommandRow{"completion", "Print the completion script for bash, zsh or fish",
               &MakeCompletionCommand},
    CommandRow{"man", "Print the manual page of dray or of a command", &MakeManCommand},
    CommandRow{"version", "Print the version", &MakeVersionCommand},
};

}  // namespace

std::span<const CommandRow> Commands() { return kCommands; }

const CommandRow* FindCommand(std::string_view word) {
  const auto it = std::ranges::find(kCommands, word, &CommandRow::name);
  return it == kCommands.end() ? nullptr : &*it;
}

}  // namespace dray::cli::internal
