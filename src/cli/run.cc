// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/edit_distance.h"
#include "cli/internal/command.h"
#include "cli/internal/command_table.h"
#include "cli/internal/completion.h"
#include "cli/internal/parse_error.h"
#include "cli/internal/wrap.h"
#include "fmt/format.h"

namespace dray::cli {
namespace {

using internal::CommandRow;
using internal::Commands;
using internal::FindCommand;

// kubectl's users call the commands by another name.
std::string Spoken(const Environment& env, std::string text) {
  if (!env.plugin) return text;
  std::vector<std::string_view> words = {"COMMAND", "--help", "help"};
  for (const CommandRow& row : Commands()) words.push_back(row.name);
  constexpr std::string_view kOurs = "dray ";
  for (std::size_t at = text.find(kOurs); at != std::string::npos; at = text.find(kOurs, at + 1)) {
    const std::string_view rest = std::string_view(text).substr(at + kOurs.size());
    const bool command =
        std::ranges::any_of(words, [&](std::string_view word) { return rest.starts_with(word); });
    const bool alone = at == 0 || std::string_view(" \n'|").find(text[at - 1]) != std::string::npos;
    constexpr std::string_view kTheirs = "kubectl ";
    const bool theirs = std::string_view(text).substr(0, at).ends_with(kTheirs);
    if (!command || !alone || theirs) continue;
    text.insert(at, kTheirs);
    at += kTheirs.size();
  }
  return text;
}

int UnknownCommand(Io& io, std::string_view word) {
  std::vector<std::string_view> names;
  for (const CommandRow& row : Commands()) names.push_back(row.name);
  const auto closest = base::ClosestMatch(word, names);
  return internal::UsageError(
      io, fmt::format("unknown command \"{}\"", word),
      closest ? fmt::format("did you mean \"{}\"?", *closest) : "'dray --help' lists the commands");
}

// What CLI11 left over is reported here, with a guess at what was meant.
int UnknownArgument(Io& io, const CLI::App& app, const internal::Command& command,
                    const std::string& argument) {
  if (!argument.starts_with("-")) {
    std::string hint = command.HintForArgument(argument);
    if (hint.empty()) hint = fmt::format("'dray {} --help' shows its flags", app.get_name());
    return internal::UsageError(io, fmt::format("unexpected argument \"{}\"", argument), hint);
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  const std::vector<std::string_view> names(flags.begin(), flags.end());
  const std::string_view flag = std::string_view(argument).substr(0, argument.find('='));
  const auto closest = base::ClosestMatch(flag, names);
  return internal::UsageError(
      io, fmt::format("unknown flag \"{}\"", flag),
      closest ? fmt::format("did you mean {}?", *closest)
              : fmt::format("'dray {} --help' shows its flags", app.get_name()));
}

// "dray help validate" is "dray validate --help".
std::vector<std::string> Normalized(std::span<const std::string> args) {
  std::vector<std::string> words(args.begin(), args.end());
  if (words.empty()) return {"--help"};
  if (words[0] == "--version") words[0] = "version";
  // As kubectl takes them: flags that say where before the command.
  constexpr std::array<std::string_view, 4> kWhere = {"-n", "--namespace", "--context",
                                                      "--kubeconfig"};
  std::size_t first = 0;
  while (first + 1 < words.size() && words[first].starts_with("-")) {
    if (std::ranges::find(kWhere, words[first]) != kWhere.end()) {
      first += 2;
    } else if (std::ranges::any_of(kWhere, [&](std::string_view flag) {
                 return words[first].starts_with(std::string(flag) + "=");
               })) {
      ++first;
    } else {
      break;
    }
  }
  if (first > 0 && first < words.size() && FindCommand(words[first]) != nullptr) {
    std::ranges::rotate(words, words.begin() + static_cast<std::ptrdiff_t>(first));
  }
  if (words[0] != "help") return words;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.push_back("--help");
  return words;
}

}  // namespace

namespace internal {

int UsageError(Io& io, std::string_view message, std::string_view hint) {
  io.err << "error: " << message << '\n';
  if (!hint.empty()) io.err << "  hint: " << Spoken(io.env, std::string(hint)) << '\n';
  return kExitUsage;
}

}  // namespace internal

int Run(std::span<const std::string> args, std::istream& in, std::ostream& out, std::ostream& err,
        const Environment& env) {
  Io io{in, out, err, env};
  // Asked by shells, not by people: its words are unfinished and no flags of its own.
  if (!args.empty() && args[0] == "__complete") {
    out << internal::CompletionText(internal::Complete(args.subspan(1)));
    return kExitOk;
  }
  std::vector<std::string> words = Normalized(args);
  const CommandRow* row = FindCommand(words[0]);
  if (row == nullptr && !words[0].starts_with("-")) return UnknownCommand(io, words[0]);

  CLI::App app{std::string(internal::kAbout), env.plugin ? "kubectl dray" : "dray"};
  app.set_help_flag("-h,--help", "Show this text");
  app.footer(std::string(internal::kExamples));
  app.require_subcommand(0, 1);
  std::unique_ptr<internal::Command> command;
  CLI::App* chosen = nullptr;
  for (const CommandRow& entry : Commands()) {
    CLI::App* sub = app.add_subcommand(std::string(entry.name), std::string(entry.summary));
    sub->set_help_flag("-h,--help", "Show this text");
    if (&entry != row) continue;
    chosen = sub;
    chosen->allow_extras();
    command = entry.make();
    command->Define(*sub);
  }
  try {
    std::ranges::reverse(words);  // CLI11 takes them last first
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp& help) {
    std::ostringstream text;
    const int code = app.exit(help, text, err);
    out << internal::WrapHelp(Spoken(env, text.str()), env.columns);
    return code;
  } catch (const CLI::ParseError& error) {
    const std::string topic = row == nullptr ? "" : fmt::format(" {}", row->name);
    return internal::UsageError(
        io, internal::PlainParseError(chosen == nullptr ? app : *chosen, error.what()),
        fmt::format("see 'dray{} --help'", topic));
  }
  if (command == nullptr) return internal::UsageError(io, "no command", "see 'dray --help'");
  if (const auto extras = chosen->remaining(); !extras.empty()) {
    return UnknownArgument(io, *chosen, *command, extras.front());
  }
  return command->Run(io);
}

}  // namespace dray::cli
