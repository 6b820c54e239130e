// SPDX-License-Identifier: Apache-2.0
//
// Which system calls a container may make when its pod leaves that to the runtime. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::container::internal {

// linux.seccomp of a config.json: everything but what reaches beyond a container (the kernel's modules,
// clock, keys and memory, other processes, mounts, namespaces), unless a capability that the container
// has is there for just that.
std::string DefaultSeccomp(const std::vector<std::string>& capabilities);

// Whether it is one: runc would fail without saying where.
Status CheckSeccomp(std::string_view json);

}  // namespace dray::container::internal
