// SPDX-License-Identifier: Apache-2.0
//
// RuncRuntime: containers of this machine, by runc and a shim each (shim.h). No daemon: what runs is
// found again on disk, so that an agent may end, or be killed, at any moment.
//
// A sandbox is a process that holds namespaces, without a container of its own. A pod's network is
// the host's, or has a loopback interface only: there is no CNI.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "container/runtime.h"
#include "image/store.h"

namespace dray::container {

struct RuncOptions {
  std::string root;  // state; for root only
  std::string runc = "runc";
  // How a shim is started: what comes before its arguments.
  std::vector<std::string> shim = {"/proc/self/exe", "node-shim"};
  std::string cgroup_parent = "/dray";
  std::vector<std::string> cdi_folders;
  std::int64_t log_max_bytes = 10 << 20;
  std::int64_t log_max_files = 5;
  std::size_t workers = 4;
  // False: as on a machine that has no inotify instance to give. Containers that end are noticed later
  // then, within a fifth of a second.
  bool inotify = true;
};

// Removes what an agent that was killed left half done. The store and the clock outlive it. Not OK:
// the state cannot be read or written. Destroying it leaves containers alone; what was asked and is
// not done yet is done or told as cancelled.
StatusOr<std::unique_ptr<Runtime>> OpenRuncRuntime(const RuncOptions& options, image::Store& store,
                                                   const base::Clock& clock);

}  // namespace dray::container
