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
    R"(The script asks dray itself, which therefore has to be on the PATH. Packages install it where the
shell looks; by hand, for this shell and for the next ones:

Examples:
  source <(dray completion bash)
  dray completion bash > ~/.local/share/bash-completion/completions/dray
  dray completion zsh > "${fpath[1]}/_dray"
  dray completion fish > ~/.config/fish/completions/dray.fish

Exit code: 0 printed, 2 there is none for such a shell.)";

class CompletionCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddChoices(
        *app.add_option("shell", shell_, "bash, zsh or fish")->type_name("SHELL")->required(),
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
