// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/options.h"

#include "CLI/CLI.hpp"
#include "fmt/format.h"

namespace dray::cli::internal {

void AddFiles(CLI::App& app, FileFlags& files, const FileOptions& options) {
  app.add_option("-f,--filename", files.names,
                 fmt::format("{} or - for standard input; may be repeated", options.what))
      ->type_name("FILE|DIR|-")
      ->allow_extra_args(options.many);
  app.add_flag("-R,--recursive", files.recursive, "Look into the subfolders of folders");
}

void AddOutput(CLI::App& app, std::string& output, std::initializer_list<const char*> formats) {
  output = *formats.begin();
  const std::vector<std::string> names(formats.begin(), formats.end());
  const std::string last = names.size() > 1 ? " or " + names.back() : "";
  app.add_option("-o,--output", output,
                 fmt::format("{}{}", fmt::join(names.begin(), names.end() - 1, ", "), last))
      ->type_name("FORMAT")
      ->check(CLI::IsMember(names).description(""))
      ->capture_default_str();
}

void AddColor(CLI::App& app, std::string& color) {
  color = "auto";
  app.add_option("--color", color, "auto (on terminals, unless NO_COLOR is set), always, never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->capture_default_str();
}

void AddGates(CLI::App& app, std::vector<std::string>& texts) {
  app.add_option("--feature-gates", texts, "Which features are on; 'dray features' lists them")
      ->type_name("A=true,B=false")
      ->allow_extra_args(false);
}

StatusOr<api::FeatureGates> ParseGates(const std::vector<std::string>& texts) {
  const auto gates =
      api::FeatureGates::Parse(fmt::format("{}", fmt::join(texts, ",")), api::FeatureGates());
  if (gates.ok()) return gates;
  return base::InvalidArgument(fmt::format("--feature-gates: {}", base::Message(gates.status())));
}

void AddStrict(CLI::App& app, bool& strict) {
  app.add_flag("--strict", strict, "Unknown and repeated fields are errors, not warnings");
}

void AddDataFolder(CLI::App& app, std::string& data) {
  app.add_option("--data", data, "Folder for the database, keys and kubeconfigs; ~/.dray")
      ->type_name("DIR");
}

std::string DataFolder(const Environment& env, const std::string& data) {
  if (!data.empty()) return data;
  const auto home = env.variables.find("HOME");
  return home == env.variables.end() ? ".dray" : home->second + "/.dray";
}

}  // namespace dray::cli::internal
