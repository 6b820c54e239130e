// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/outline.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "CLI/CLI.hpp"
#include "cli/internal/options.h"

namespace dray::cli::internal {
namespace {

bool NamesFiles(std::string_view value) {
  constexpr std::array<std::string_view, 5> kFiles = {"FILE", "DIR", "FOLDER", "PATH", "SOCKET"};
  return std::ranges::any_of(kFiles, [&](std::string_view word) {
    return value.find(word) != std::string_view::npos && value.find('=') == std::string_view::npos;
  });
}

FlagOutline OutlineOf(CLI::Option& option) {
  FlagOutline flag;
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  if (flag.names.empty()) flag.names.push_back(option.get_name());
  if (option.get_items_expected_max() > 0) {
    flag.value = option.get_type_name();
    // What CLI11 says of validators that describe themselves.
    flag.value = flag.value.substr(0, flag.value.find(":{"));
    if (flag.value.empty()) flag.value = "VALUE";
  }
  flag.value_optional = !flag.value.empty() && option.get_items_expected_min() == 0;
  flag.repeated = option.get_items_expected_max() > 1;
  flag.choices = ChoicesOf(option);
  flag.files = flag.choices.empty() && NamesFiles(flag.value);
  flag.default_value = option.get_default_str();
  flag.text = option.get_description();
  return flag;
}

}  // namespace

CommandOutline OutlineOf(const CommandRow& row) {
  CLI::App app{std::string(row.summary), std::string(row.name)};
  app.set_help_flag("-h,--help", "Show this text");
  const std::unique_ptr<Command> command = row.make();
  command->Define(app);
  CommandOutline outline{.name = std::string(row.name), .summary = std::string(row.summary)};
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not shown by --help either
    (option->nonpositional() ? outline.flags : outline.arguments).push_back(OutlineOf(*option));
  }
  outline.footer = app.get_footer();
  return outline;
}

std::vector<CommandOutline> OutlineOfAll() {
  std::vector<CommandOutline> all;
  for (const CommandRow& row : Commands()) all.push_back(OutlineOf(row));
  return all;
}

}  // namespace dray::cli::internal
