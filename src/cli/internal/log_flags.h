// SPDX-License-Identifier: Apache-2.0
//
// -v, --logging-format and the thresholds of what is slow, for commands that run until they are
// told to end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cli/environment.h"
#include "logs/log.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

struct LogFlags {
  std::string format = "text";
  int verbosity = 0;
};
void AddLogFlags(CLI::App& app, LogFlags& flags);
// The log of this run. It ends before anybody writes to io.err again.
std::unique_ptr<logs::Log> OpenLog(Io& io, const LogFlags& flags);

// A threshold such as 500ms or 2s; 0 is never.
void AddThreshold(CLI::App& app, const std::string& flag, std::string& text,
                  const std::string& what);
// Nothing: it cannot be read, which has been said.
std::optional<std::chrono::nanoseconds> ReadThreshold(Io& io, const std::string& flag,
                                                      const std::string& text);

}  // namespace dray::cli::internal
