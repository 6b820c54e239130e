// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/scheduler_flags.h"

#include <ostream>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "allocator/policy.h"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/source_files.h"
#include "fmt/format.h"

namespace dray::cli::internal {

void AddConfig(CLI::App& app, std::string& file) {
  app.add_option("--config", file, "KubeSchedulerConfiguration of the scheduler")
      ->type_name("FILE");
}

CLI::Option* AddPolicy(CLI::App& app, std::string& name, const std::string& description) {
  std::vector<std::string> names;
  for (const allocator::PolicyRow& row : allocator::Policies()) names.emplace_back(row.name);
  CLI::Option* option = app.add_option("--policy", name, description);
  option->type_name(allocator::PolicyNames("|"));
  AddChoices(*option, names);
  return option;
}

std::optional<std::string> ReadText(Io& io, const std::string& name) {
  Sources sources = LoadSources(std::vector<std::string>{name}, io.in);
  for (const SourceError& error : sources.errors) {
    UsageError(io, fmt::format("{}: {}", error.path, error.message), error.hint);
  }
  if (!sources.errors.empty()) return std::nullopt;
  if (sources.files.size() != 1) {
    UsageError(io, fmt::format("\"{}\" must be one file", name));
    return std::nullopt;
  }
  return std::move(sources.files.front().text);
}

std::optional<scheduler::LoadedConfig> ReadWholeConfig(Io& io, const std::string& file) {
  if (file.empty()) return scheduler::LoadedConfig();
  const std::optional<std::string> text = ReadText(io, file);
  if (!text) return std::nullopt;
  auto loaded = scheduler::ReadConfig(*text);
  if (!loaded.ok()) {
    UsageError(io, Printable(fmt::format("--config {}: {}", file, base::Message(loaded.status()))));
    return std::nullopt;
  }
  for (const std::string& note : loaded->notes) {
    io.err << Printable(fmt::format("note: --config {}: {}", file, note)) << '\n';
  }
  return *std::move(loaded);
}

std::optional<scheduler::Config> ReadSchedulerConfig(Io& io, const std::string& file,
                                                     const std::string& policy) {
  auto loaded = ReadWholeConfig(io, file);
  if (!loaded) return std::nullopt;
  const auto unused = [&](std::string_view field) {
    io.err << Printable(fmt::format("note: --config {}: {}: does not apply: it is for `dray "
                                    "scheduler`, which is a process of its own",
                                    file, field))
           << '\n';
  };
  if (loaded->leader_election) unused("leaderElection");
  if (loaded->client_connection) unused("clientConnection");
  if (const auto wanted = allocator::FindPolicy(policy)) {
    for (scheduler::Profile& profile : loaded->config.profiles) {
      profile = scheduler::WithPolicy(std::move(profile), *wanted);
    }
  }
  return std::move(loaded->config);
}

}  // namespace dray::cli::internal
