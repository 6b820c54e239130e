// SPDX-License-Identifier: Apache-2.0
//
// A subcommand. One file each; adding one is that file and a row in command_table.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/environment.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

// One object per run. Define is called once, then Run at most once, after the flags were parsed.
class Command {
 public:
  virtual ~Command() = default;

  // Declares flags, bound to members. `app` outlives the command.
  virtual void Define(CLI::App& app) = 0;
  // Returns the exit code.
  virtual int Run(Io& io) = 0;
  // What somebody meant who gave an argument that is no flag's; may be empty.
  virtual std::string HintForArgument(std::string_view argument) const {
    (void)argument;
    return "";
  }
};

std::unique_ptr<Command> MakeApiserverCommand();
std::unique_ptr<Command> MakeCelCommand();
std::unique_ptr<Command> MakeCompletionCommand();
std::unique_ptr<Command> MakeConsoleCommand();
std::unique_ptr<Command> MakeControllersCommand();
std::unique_ptr<Command> MakeDefragCommand();
std::unique_ptr<Command> MakeDevicesCommand();
std::unique_ptr<Command> MakeDriverCommand();
std::unique_ptr<Command> MakeExplainCommand();
std::unique_ptr<Command> MakeFeaturesCommand();
std::unique_ptr<Command> MakeImageCommand();
std::unique_ptr<Command> MakeInstallCommand();
std::unique_ptr<Command> MakeKubeconfigCommand();
std::unique_ptr<Command> MakeManCommand();
std::unique_ptr<Command> MakeNodeCommand();
std::unique_ptr<Command> MakePlanCommand();
std::unique_ptr<Command> MakeSchedulerCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeStoreCommand();
std::unique_ptr<Command> MakeUpCommand();
std::unique_ptr<Command> MakeValidateCommand();
std::unique_ptr<Command> MakeVersionCommand();

// "error: message" and, unless it is empty, a line with the hint. Returns kExitUsage.
int UsageError(Io& io, std::string_view message, std::string_view hint = "");

}  // namespace dray::cli::internal
