// SPDX-License-Identifier: Apache-2.0
//
// Control groups of pods and containers, in whatever hierarchies the machine has: runc makes them, and
// removes the innermost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "container/runtime.h"

namespace dray::container::internal {

// Whether the machine has that controller (memory, cpu, pids), in either version.
bool HasController(const std::string& name);
// Folders of that group in all hierarchies, of those that exist.
std::vector<std::string> CgroupFolders(const std::string& group);
// Makes the group, with limits for all that is in it and below it; what the machine has no controller
// for is left out. It may be there already.
Status LimitCgroup(const std::string& group, const Limits& limits);
// Removes the group and those below it. A group with processes in it stays, and is an error.
Status RemoveCgroup(const std::string& group);
// How many times the kernel killed something in the memory group of that process, told later: the
// group has to be known while the process lives.
std::string MemoryGroupOf(std::int64_t pid);
std::int64_t OomKills(const std::string& memory_folder);

}  // namespace dray::container::internal
