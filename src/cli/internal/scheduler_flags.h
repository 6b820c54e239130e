// SPDX-License-Identifier: Apache-2.0
//
// --config and --policy, for commands that run a scheduler.
#pragma once

#include <optional>
#include <string>

#include "cli/environment.h"
#include "scheduler/config.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dray::cli::internal {

void AddConfig(CLI::App& app, std::string& file);
// One of allocator::Policies(), by its name.
CLI::Option* AddPolicy(CLI::App& app, std::string& name, const std::string& description);

// The text of one file, or of standard input. Nothing when it cannot be read, which has been said.
std::optional<std::string> ReadText(Io& io, const std::string& name);

// What has no effect is told on standard error. Nothing when the file cannot be used, which has
// been said. No file: the defaults. `policy`: of the profiles that do not say; empty: nobody does.
std::optional<scheduler::Config> ReadSchedulerConfig(Io& io, const std::string& file,
                                                     const std::string& policy = {});
// The same with what it says about the process that schedules.
std::optional<scheduler::LoadedConfig> ReadWholeConfig(Io& io, const std::string& file);

}  // namespace dray::cli::internal
