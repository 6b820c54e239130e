// SPDX-License-Identifier: Apache-2.0
#include "crd/field_paths.h"

#include <optional>
#include <utility>

#include "fmt/format.h"

namespace dray::crd {
namespace {

// Dots, brackets and what is between them; a text in quotes is one piece.
std::optional<std::string_view> TakeToken(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  std::size_t end = 1;
  if (rest.front() == '\'') {
    while (end < rest.size() && (rest[end] != '\'' || rest[end - 1] == '\\')) ++end;
    end = std::min(end + 1, rest.size());
  } else if (rest.front() != '.' && rest.front() != '[' && rest.front() != ']') {
    end = std::min(rest.find_first_of(".[]"), rest.size());
  }
  const std::string_view token = rest.substr(0, end);
  rest.remove_prefix(end);
  return token;
}

std::optional<std::string> Unescaped(std::string_view text) {
  constexpr std::string_view kNames = "abfnrtv'\\";
  constexpr std::string_view kMeant = "\a\b\f\n\r\t\v'\\";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const std::size_t which = kNames.find(text[++i]);
    if (which == kNames.npos) return std::nullopt;
    out += kMeant[which];
  }
  return out;
}

}  // namespace

FoundField FindField(std::string_view path, const Schema& schema, bool brackets) {
  FoundField found;
  found.schema = &schema;
  const auto fail = [](std::string why) {
    FoundField none;
    none.error = std::move(why);
    return none;
  };
  const auto step = [&](const std::string& name) {
    const bool named = !found.schema->properties.empty();
    const Schema* next = named ? found.schema->FindProperty(name) : found.schema->additional.get();
    if (next == nullptr) return false;
    found.path = named ? found.path / name : found.path.Key(name);
    found.names.push_back(name);
    found.schema = next;
    return true;
  };
  constexpr std::string_view kNone = "does not refer to a valid field";
  constexpr std::string_view kEnd = "unexpected end of JSON path";
  while (const auto token = TakeToken(path)) {
    if (*token == ".") {
      const auto name = TakeToken(path);
      if (!name) return fail(std::string(kEnd));
      if (!step(std::string(*name))) return fail(std::string(kNone));
    } else if (*token == "[") {
      if (!brackets) return fail("array notation is not allowed");
      const auto quoted = TakeToken(path);
      if (!quoted) return fail(std::string(kEnd));
      if (quoted->size() < 2 || !quoted->starts_with('\'') || !quoted->ends_with('\'')) {
        return fail(fmt::format("expected single quoted string but got {}", *quoted));
      }
      const auto name = Unescaped(quoted->substr(1, quoted->size() - 2));
      if (!name) return fail("invalid string literal: invalid escape char");
      if (!step(*name)) return fail(std::string(kNone));
      const auto close = TakeToken(path);
      if (!close) return fail(std::string(kEnd));
      if (*close != "]") return fail(fmt::format("expected ] but got {}", *close));
    } else {
      return fail(fmt::format("expected [ or . but got: {}", *token));
    }
  }
  return found;
}

}  // namespace dray::crd
