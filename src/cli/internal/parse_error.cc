// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/parse_error.h"

#include <optional>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_split.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

// "before" and "after" of the first `middle` in a text.
std::optional<std::pair<std::string_view, std::string_view>> Cut(std::string_view text,
                                                                 std::string_view middle) {
  const std::size_t at = text.find(middle);
  if (at == text.npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + middle.size()));
}

// A flag of one letter is called like a long one by the parser.
std::string FlagName(std::string_view name) {
  constexpr std::size_t kDashesAndLetter = 3;
  if (name.starts_with("--") && name.size() == kDashesAndLetter) name.remove_prefix(1);
  return std::string(name);
}

// What stands for the value of a flag or an argument in its help, after a blank.
std::string ValueOf(const CLI::App& app, std::string_view name) {
  const CLI::Option* option = app.get_option_no_throw(std::string(name));
  return option == nullptr || option->get_type_name().empty() ? "" : " " + option->get_type_name();
}

// "a", "b" or "c"
std::string Choices(std::string_view list) {
  const std::vector<std::string> words = absl::StrSplit(std::string(list), ',');
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  }
  return text;
}

std::optional<std::string> WrongValue(std::string_view name, std::string_view rest) {
  if (const auto choice = Cut(rest, " not in {"); choice && rest.ends_with('}')) {
    return fmt::format("{}: unsupported value \"{}\": must be {}", name, choice->first,
                       Choices(choice->second.substr(0, choice->second.size() - 1)));
  }
  constexpr std::string_view kValue = "Value ";
  if (!rest.starts_with(kValue)) return std::nullopt;
  const auto range = Cut(rest.substr(kValue.size()), " not in range ");
  if (!range) return std::nullopt;
  const auto ends = Cut(range->second, " to ");
  if (!ends) return std::nullopt;
  // A number without a bound has one of three hundred digits.
  constexpr std::size_t kBound = 30;
  return ends->second.size() > kBound
             ? fmt::format("{}: \"{}\" must be a positive number", name, range->first)
             : fmt::format("{}: \"{}\" must be a number from {} to {}", name, range->first,
                           ends->first, ends->second);
}

}  // namespace

std::string PlainParseError(const CLI::App& app, std::string_view text) {
  if (const auto named = Cut(text, " is required"); named && named->second.empty()) {
    const bool flag = named->first.starts_with('-');
    if (flag) return fmt::format("missing flag {}{}", named->first, ValueOf(app, named->first));
    const std::string value = ValueOf(app, named->first);
    return fmt::format("missing argument{}",
                       value.empty() ? " " + std::string(named->first) : value);
  }
  const auto parts = Cut(text, ": ");
  if (!parts) return std::string(text);
  if (parts->first == "Could not convert") {
    const auto value = Cut(parts->second, " = ");
    if (!value) return std::string(text);
    return fmt::format("{}: \"{}\" is not a valid value", FlagName(value->first), value->second);
  }
  const std::string name = FlagName(parts->first);
  const std::string_view rest = parts->second;
  if (rest.starts_with("1 required ") && rest.ends_with(" missing")) {
    return fmt::format("flag needs an argument: {}{}", name, ValueOf(app, parts->first));
  }
  if (rest.starts_with("At Most 1 required"))
    return fmt::format("{}: must be given only once", name);
  return WrongValue(name, rest).value_or(std::string(text));
}

}  // namespace dray::cli::internal
