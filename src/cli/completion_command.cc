// SPDX-License-Identifier: Apache-2.0
//
// `dray completion`: what a shell loads to complete command lines.
#include <memory>
#include <ostream>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/completion.h"
#include "cli/internal/options.h"
#include "cli/run.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Prints a completion script for bash, zsh or fish. The script calls dray for its suggestions,
so dray has to be on the PATH. The packages install the scripts already; to do it by hand:

Examples:
  source <(dray completion bash)                         for this shell
  dray completion bash > ~/.local/share/bash-completion/completions/dray
  dray completion zsh > "${fpath[1]}/_dray"
  dray completion fish > ~/.config/fish/completions/dray.fish

Exit code: 0 the script was printed, 2 the shell is not supported.)";

class CompletionCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddChoices(*app.add_option("shell", shell_, "bash, zsh or fish")
                    ->type_name("bash|zsh|fish")
                    ->required(),
               {"bash", "zsh", "fish"});
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    io.out << CompletionScript(shell_);
    return kExitOk;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> MakeCompletionCommand() { return std::make_unique<CompletionCommand>(); }

}  // namespace dray::cli::internal
