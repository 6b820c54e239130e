// SPDX-License-Identifier: Apache-2.0
//
// The process: hands the real world to Run. The only file that no test links.
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <ostream>
#include <streambuf>
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

// Standard output that remembers why it could not be written: the library's forgets it when a long answer fails in its middle.
class Output : public std::streambuf {
 public:
  Output() { Empty(); }
  int error() const { return error_; }

 protected:
  int_type overflow(int_type next) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
    return traits_type::not_eof(next);
  }
  int sync() override {
    const char* from = pbase();
    while (error_ == 0 && from < pptr()) {
      const ssize_t written = write(STDOUT_FILENO, from, static_cast<std::size_t>(pptr() - from));
      if (written >= 0) from += written;
      if (written < 0 && errno != EINTR) error_ = errno;
    }
    Empty();
    return error_ == 0 ? 0 : -1;
  }

 private:
  void Empty() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

  int error_ = 0;
  std::array<char, 16384> buffer_;
};

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
  Output output;
  std::ostream out(&output);
  // As with std::cout: what was said before a question or an error is seen before it.
  std::cin.tie(&out);
  std::cerr.tie(&out);
  const int code = dray::cli::Run(args, std::cin, out, std::cerr, env);
  out.flush();
  std::cin.tie(nullptr);
  std::cerr.tie(nullptr);
  if (output.error() == 0) return code;
  // A full disk or a closed descriptor must not look like an answer, whatever that was.
  std::cerr << "error: standard output cannot be written: " << std::strerror(output.error())
            << '\n';
  return dray::cli::kExitUsage;
}
