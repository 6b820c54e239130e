// SPDX-License-Identifier: Apache-2.0
//
// The process: hands the real world to Run. The only file that no test links.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/run.h"
#include "container/shim.h"

namespace {

std::size_t Columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const dray::base::SystemClock clock;
  std::string_view program = argc > 0 ? argv[0] : "";
  program.remove_prefix(program.rfind('/') + 1);  // npos + 1 is 0
  dray::cli::Environment env{.variables = {},
                             .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                             .err_is_terminal = isatty(STDERR_FILENO) == 1,
                             .clock = clock,
                             .plugin = program == "kubectl-dray",
                             .log_file = STDERR_FILENO,
                             .columns = Columns()};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  // Not a command for people: what `dray node` starts beside each container.
  if (!args.empty() && args[0] == "node-shim") {
    return dray::container::ShimMain({args.begin() + 1, args.end()});
  }
  const int code = dray::cli::Run(args, std::cin, std::cout, std::cerr, env);
  errno = 0;
  std::cout.flush();
  if (std::cout) return code;
  // A full disk or a closed descriptor must not look like an answer, whatever that was.
  std::cerr << "error: standard output cannot be written"
            << (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()) << '\n';
  return dray::cli::kExitUsage;
}
