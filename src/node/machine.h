// SPDX-License-Identifier: Apache-2.0
//
// What this machine has, for its Node object.
#pragma once

#include <string>
#include <vector>

#include "api/map.h"
#include "api/node.h"
#include "base/quantity.h"

namespace dray::node {

struct Machine {
  api::Map<base::Quantity> capacity;  // cpu, memory, pods, ephemeral-storage, hugepages
  api::NodeSystemInfo info;           // without the runtime's version
  std::string hostname;
  std::vector<std::string> addresses;  // of interfaces that are up, without loopback
  bool app_armor = false;              // the kernel has it switched on
};

struct MachineOptions {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string etc = "/etc";
  std::string disk = "/";  // whose size is ephemeral-storage
  std::int64_t max_pods = 110;
  std::string version = "v1.38.0";  // of the kubelet that this one is like
};

// Reads files; what cannot be read is left out.
Machine LookAtMachine(const MachineOptions& options);

}  // namespace dray::node
