// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/options.h"

#include <filesystem>
#include <ostream>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/str_split.h"
#include "api/gate_notes.h"
#include "base/status.h"
#include "cli/internal/command.h"
#include "fmt/format.h"

namespace dray::cli::internal {

void AddFiles(CLI::App& app, FileFlags& files, const FileOptions& options) {
  app.add_option("-f,--filename", files.names,
                 fmt::format("{} or - for standard input; may be repeated", options.what))
      ->type_name("FILE|DIR|-")
      ->allow_extra_args(options.many);
  app.add_flag("-R,--recursive", files.recursive, "Also read subfolders");
}

namespace {

// A validator's name is free for whoever adds it; the choices follow this word.
constexpr std::string_view kChoices = "choices:";

}  // namespace

void AddChoices(CLI::Option& option, const std::vector<std::string>& choices) {
  option.check(CLI::IsMember(choices).description("").name(
      fmt::format("{}{}", kChoices, fmt::join(choices, ","))));
}

std::vector<std::string> ChoicesOf(CLI::Option& option) {
  std::vector<std::string> choices;
  // Asking for one that is not there throws, and there is no count to ask for.
  try {
    for (int i = 0;; ++i) {
      const std::string& name = option.get_validator(i)->get_name();
      if (name.starts_with(kChoices)) choices = absl::StrSplit(name.substr(kChoices.size()), ',');
    }
  } catch (const CLI::OptionNotFound&) {
    return choices;
  }
}

void AddOutput(CLI::App& app, std::string& output, std::initializer_list<const char*> formats) {
  output = *formats.begin();
  const std::vector<std::string> names(formats.begin(), formats.end());
  const std::string last = names.size() > 1 ? " or " + names.back() : "";
  CLI::Option* option =
      app.add_option("-o,--output", output,
                     fmt::format("{}{}", fmt::join(names.begin(), names.end() - 1, ", "), last))
          ->type_name("FORMAT")
          ->capture_default_str();
  AddChoices(*option, names);
}

void AddColor(CLI::App& app, std::string& color) {
  color = "auto";
  CLI::Option* option =
      app.add_option("--color", color, "auto (on terminals, unless NO_COLOR is set), always, never")
          ->type_name("WHEN")
          ->capture_default_str();
  AddChoices(*option, {"auto", "always", "never"});
}

void AddGates(CLI::App& app, std::vector<std::string>& texts) {
  app.add_option("--feature-gates", texts,
                 "Feature gates to enable or disable; 'dray features' lists them")
      ->type_name("A=true,B=false")
      ->allow_extra_args(false);
}

namespace {

std::optional<api::FeatureGates> Told(Io& io, const StatusOr<api::FeatureGates>& gates,
                                      std::string_view text, const api::FeatureGates& defaults) {
  if (!gates.ok()) {
    UsageError(io, fmt::format("--feature-gates: {}", base::Message(gates.status())),
               "'dray features' lists the gates");
    return std::nullopt;
  }
  for (const std::string& note : api::GateNotes(text, defaults)) {
    io.err << "note: " << note << '\n';
  }
  return *gates;
}

}  // namespace

std::optional<api::FeatureGates> ReadGates(Io& io, const std::vector<std::string>& texts) {
  return ReadGatesToCheck(io, texts, api::FeatureGates());
}

std::optional<api::FeatureGates> ReadGatesToCheck(Io& io, const std::vector<std::string>& texts,
                                                  const api::FeatureGates& defaults) {
  const std::string text = fmt::format("{}", fmt::join(texts, ","));
  return Told(io, api::FeatureGates::Parse(text, defaults), text, defaults);
}

void AddStrict(CLI::App& app, bool& strict) {
  app.add_flag("--strict", strict, "Report unknown and duplicate fields as errors, not warnings");
}

void AddDataFolder(CLI::App& app, std::string& data) {
  app.add_option("--data", data, "Folder for the database, keys and kubeconfigs (default ~/.dray)")
      ->type_name("DIR");
}

std::string DataFolder(const Environment& env, const std::string& data) {
  if (!data.empty()) return data;
  const auto home = env.variables.find("HOME");
  return home == env.variables.end() ? ".dray" : home->second + "/.dray";
}

bool IsPrivate(Io& io, std::string_view flag, const std::string& file) {
  using std::filesystem::perms;
  std::error_code error;
  const auto about = std::filesystem::status(file, error);
  if (error || about.type() != std::filesystem::file_type::regular) return true;
  const perms mode = about.permissions();
  if ((mode & (perms::others_all | perms::group_write)) == perms::none) return true;
  UsageError(io,
             fmt::format("{}: {} contains secrets, but users other than its owner can read or "
                         "write it (mode {:04o})",
                         flag, file, static_cast<unsigned>(mode & perms::mask)),
             fmt::format("if nobody else has read it: chmod 600 {}", file));
  return false;
}

}  // namespace dray::cli::internal
