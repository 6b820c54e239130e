// SPDX-License-Identifier: Apache-2.0
//
// What a folder of examples needs on the command line, beside its name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_test_support.h"

namespace dray::cli {

// `plans`: for commands that take a scheduler's configuration.
inline std::vector<std::string> ExampleFlags(std::string_view folder, bool plans) {
  std::vector<std::string> flags;
  if (!folder.ends_with("gangs") && !folder.ends_with("gang-preemption")) return flags;
  flags = {"--feature-gates",
           "GenericWorkload=true,DRAWorkloadResourceClaims=true,"
           "TopologyAwareWorkloadScheduling=true"};
  if (!plans || !folder.ends_with("gang-preemption")) return flags;
  flags.emplace_back("--config");
  flags.push_back((SourceFolder() / "examples/scenarios/preemption/scheduler.yaml").string());
  return flags;
}

inline std::vector<std::string> With(std::vector<std::string> line,
                                     const std::vector<std::string>& flags) {
  line.insert(line.end(), flags.begin(), flags.end());
  return line;
}

}  // namespace dray::cli
