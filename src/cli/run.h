// SPDX-License-Identifier: Apache-2.0
//
// The `dray` command line: finds the subcommand, has its flags parsed, runs it.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "cli/environment.h"

namespace dray::cli {

// Exit codes that every command shares.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFindings = 1;  // the work was done, and its answer is "not good"
inline constexpr int kExitUsage = 2;     // flags or input that cannot be used

// Runs one command line; `args` are without the program's name. Returns the exit code. Touches
// nothing but the given streams, the files that the arguments name, and the environment it is
// handed.
int Run(std::span<const std::string> args, std::istream& in, std::ostream& out, std::ostream& err,
        const Environment& env);

}  // namespace dray::cli
