// SPDX-License-Identifier: Apache-2.0
//
// `dray man`: manual pages, for packages and for whoever has none installed. DRAY_VERSION is that of the
// CMake project.
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/command_table.h"
#include "cli/internal/manual.h"
#include "cli/internal/options.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(The pages contain the same text as --help, formatted for man.

Examples:
  dray man plan | man -l -
  dray man --to /usr/local/share/man/man1    write one file per command

Exit code: 0 written, 2 it could not be written.)";

class ManCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("command", command_, "Command (default: dray itself)")->type_name("COMMAND");
    app.add_option("--to", folder_, "Write the pages of all commands to a folder")
        ->type_name("DIR");
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (!folder_.empty()) return WriteAll(io);
    if (command_.empty()) {
      io.out << ManualOfAll(DRAY_VERSION);
      return kExitOk;
    }
    const CommandRow* row = FindCommand(command_);
    if (row == nullptr) {
      return UsageError(io, fmt::format("unknown command \"{}\"", command_),
                        "'dray --help' lists the commands");
    }
    io.out << ManualOf(OutlineOf(*row), DRAY_VERSION);
    return kExitOk;
  }

 private:
  int WriteAll(Io& io) {
    if (!command_.empty()) {
      return UsageError(io, "--to writes the pages of all commands", "dray man --to " + folder_);
    }
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (!Write("dray", ManualOfAll(DRAY_VERSION))) return Failed(io, "dray");
    for (const CommandOutline& command : OutlineOfAll()) {
      const std::string page = "dray-" + command.name;
      if (!Write(page, ManualOf(command, DRAY_VERSION))) return Failed(io, page);
    }
    return kExitOk;
  }

  bool Write(const std::string& page, const std::string& text) const {
    std::ofstream file(fmt::format("{}/{}.1", folder_, page), std::ios::binary);
    file << text << std::flush;
    return file.good();
  }

  int Failed(Io& io, const std::string& page) const {
    return UsageError(io, fmt::format("{}/{}.1 cannot be written", folder_, page),
                      "--to must name a folder that you may write to");
  }

  std::string command_;
  std::string folder_;
};

}  // namespace

std::unique_ptr<Command> MakeManCommand() { return std::make_unique<ManCommand>(); }

}  // namespace dray::cli::internal
