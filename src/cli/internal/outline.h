// SPDX-License-Identifier: Apache-2.0
//
// Commands and flags as plain values, read from the same definitions that parse command lines: for
// completion and manual pages, which therefore cannot tell anything else than --help does.
#pragma once

#include <string>
#include <vector>

#include "cli/internal/command_table.h"

namespace dray::cli::internal {

struct FlagOutline {
  std::vector<std::string> names;  // "--output", "-o"; of an argument: its one name
  std::string value;               // what it takes, such as FILE; empty: nothing, it is a switch
  bool value_optional = false;     // --discover and --discover=pci
  bool repeated = false;
  std::vector<std::string> choices;  // the only values it takes; empty: anything
  bool files = false;                // its values are names of files, folders or sockets
  std::string default_value;
  std::string text;
};

struct CommandOutline {
  std::string name;
  std::string summary;
  std::vector<FlagOutline> flags;
  std::vector<FlagOutline> arguments;  // given by their place
  std::string footer;                  // prose, examples, exit codes
};

CommandOutline OutlineOf(const CommandRow& row);
std::vector<CommandOutline> OutlineOfAll();

}  // namespace dray::cli::internal
