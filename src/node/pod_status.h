// SPDX-License-Identifier: Apache-2.0
//
// What a pod's status says, from what is known of its containers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "base/time.h"
#include "container/runtime.h"

namespace dray::node {

// What is known of one container of the spec.
struct ContainerView {
  const api::Container* spec = nullptr;
  std::optional<container::ContainerInfo> latest;  // nothing: it never was there
  std::optional<container::ContainerInfo> before;  // the one before that, if it is known
  std::int32_t restarts = 0;
  // Why it does not run although it should; no reason: it is on its way.
  std::string waiting_reason;
  std::string waiting_message;
  bool ready = false;       // its readiness probe says so; only of one that runs
  bool started = false;     // its startup probe says so
  bool starting = false;    // it runs, but its postStart hook has not ended: nobody is told yet
  std::string stop_signal;  // of the spec
  std::vector<api::ResourceStatus> devices;

  bool shown_running() const { return running() && !starting; }
  bool running() const { return latest && latest->state == container::ContainerState::kRunning; }
  bool exited() const { return latest && latest->state == container::ContainerState::kExited; }
  bool succeeded() const { return exited() && latest->exit_code == 0; }
};

// Why a pod has failed that did not fail by itself.
struct Verdict {
  std::string reason;  // OutOfcpu, DeadlineExceeded
  std::string message;
};

struct PodView {
  const api::Pod* pod = nullptr;  // as the API server has it
  std::vector<ContainerView> init;
  std::vector<ContainerView> main;
  std::vector<ContainerView> ephemeral;           // for debugging
  std::optional<container::SandboxInfo> sandbox;  // the one that is ready
  std::vector<std::string> host_ips;
  std::string runtime;  // its name, for container ids
  std::optional<Verdict> verdict;
  // Nothing of it runs, and its claims are unprepared: from now on the status may be final.
  bool ended = false;
  base::Time now;
};

bool IsSidecar(const api::Container& container);

// Whether it is started again after it has ended like that.
bool Restarts(const api::PodSpec& spec, const api::Container& container, bool is_init,
              std::int32_t exit_code);

// Init containers that must be through are.
bool Initialized(const PodView& view);

// The whole status: what others write into it (claims, nominated nodes, their conditions) stays.
api::PodStatus StatusOf(const PodView& view);

// The container as the runtime had it, from what a status says of it; nothing: it never was there.
std::optional<container::ContainerInfo> InfoFrom(const api::ContainerStatus& status,
                                                 std::string_view runtime);

bool IsTerminal(const api::PodStatus& status);

}  // namespace dray::node
