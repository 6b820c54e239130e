// SPDX-License-Identifier: Apache-2.0
//
// The shim: one small process per container and one per sandbox, which outlive the agent.
//
//   node-shim pause   holds the namespaces of a sandbox
//   node-shim run     makes a container with runc, keeps its pipes, writes its log, and writes down
//                     how it ended
//
// Both begin in the folder of their sandbox or container (internal/state_files.h), with the lock that
// tells that they live as descriptor 4, and say on descriptor 3 what came of it: "ok", or a sentence.
#pragma once

#include <string>
#include <vector>

namespace dray::container {

// The command's arguments, without its own name. The exit code of the process.
int ShimMain(const std::vector<std::string>& args);

}  // namespace dray::container
