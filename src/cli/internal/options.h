// SPDX-License-Identifier: Apache-2.0
//
// Flags that several commands have: defined once, so that they mean and read the same everywhere.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"
#include "cli/environment.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dray::cli::internal {

// -f and -R.
struct FileFlags {
  std::vector<std::string> names;
  bool recursive = false;
};
struct FileOptions {
  std::string_view what = "File, folder (its *.yaml, *.yml and *.json)";
  bool many = true;  // several after one -f, as a shell's *.yaml gives them
};
void AddFiles(CLI::App& app, FileFlags& files, const FileOptions& options = {});

// The only values that a flag takes; completion knows them by this.
void AddChoices(CLI::Option& option, const std::vector<std::string>& choices);
// What AddChoices was given, or nothing.
std::vector<std::string> ChoicesOf(CLI::Option& option);

// -o; the first format is the default.
void AddOutput(CLI::App& app, std::string& output, std::initializer_list<const char*> formats);

// --color; what it means is UseColor's (paint.h).
void AddColor(CLI::App& app, std::string& color);

// --feature-gates.
void AddGates(CLI::App& app, std::vector<std::string>& texts);
// For a command that acts by them. What cannot be is told as an error; what went off with a gate
// that it needs, as a note.
std::optional<api::FeatureGates> ReadGates(Io& io, const std::vector<std::string>& texts);
// For a command that checks objects for whoever has the gates: on top of `defaults`.
std::optional<api::FeatureGates> ReadGatesToCheck(Io& io, const std::vector<std::string>& texts,
                                                  const api::FeatureGates& defaults);

// --data: the folder of `dray up`, and what it is if nobody says.
void AddDataFolder(CLI::App& app, std::string& data);
std::string DataFolder(const Environment& env, const std::string& data);

// A file with secrets that others than its owner can read, or write and so let themselves in, is
// refused, which has been said; its group may read it, as the volume of a secret has it. What is no
// file, as a pipe, is taken.
bool IsPrivate(Io& io, std::string_view flag, const std::string& file);

// --strict.
void AddStrict(CLI::App& app, bool& strict);

}  // namespace dray::cli::internal
