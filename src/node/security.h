// SPDX-License-Identifier: Apache-2.0
//
// Security settings of pods and containers, which the API carries as JSON: what a runtime is told of
// them, and what this machine cannot enforce. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/pod.h"
#include "base/status.h"
#include "container/runtime.h"
#include "node/admission.h"

namespace dray::node {

// Whether a part of it is "..".
bool LeadsUp(std::string_view path);

// Where a container runs.
struct SecurityPlace {
  std::string seccomp_folder;        // profiles of this machine
  bool runtime_checks_user = false;  // Runtime::ChecksUser
};
StatusOr<container::SecurityConfig> SecurityOf(const api::Pod& pod, const api::Container& container,
                                               const SecurityPlace& place);

// Of the pod as a whole; what cannot be understood is nothing.
std::optional<container::SelinuxLabel> SelinuxOf(const api::Pod& pod);
std::map<std::string, std::string> SysctlsOf(const api::Pod& pod);
bool HasPrivileged(const api::Pod& pod);

// What this machine and its runtime can enforce.
struct Enforcing {
  container::Abilities runtime;
  bool app_armor = false;  // the kernel has it switched on
};

// What of the settings at `field`, of a pod or of a container of it, cannot be had here, with the
// kubelet's words where it has any.
std::optional<Rejection> RefusedSecurity(const api::Pod& pod, const api::Box<api::RawJson>& json,
                                         const std::string& field, const Enforcing& enforcing);

// net.ipv4.ip_forward and net/ipv4/ip_forward are the same; in net/ipv4/conf/eth0.1/x the dot is of a
// name.
std::string SysctlName(std::string_view written);

}  // namespace dray::node
