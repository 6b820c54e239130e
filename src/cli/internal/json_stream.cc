// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/json_stream.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dray::cli::internal {
namespace {

// Where the object or list that begins a text ends, whatever is in it; the text's size if it does not.
std::size_t EndOfFirst(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth <= 0) return i + 1;
    }
  }
  return text.size();
}

std::size_t SkipBlanks(std::string_view text, std::size_t from) {
  return std::min(text.find_first_not_of(" \t\r\n", from), text.size());
}

// Where the text after `passed` begins, if `from` is where that does.
api::Position After(api::Position from, std::string_view passed) {
  const std::size_t line = passed.rfind('\n');
  if (line == std::string_view::npos) {
    from.column += static_cast<int>(passed.size());
    return from;
  }
  from.line += static_cast<int>(std::ranges::count(passed, '\n'));
  from.column = static_cast<int>(passed.size() - line);
  return from;
}

// Of something whose text began there.
void Shift(api::Position& position, api::Position begin) {
  if (position.line == 0) return;
  if (position.line == 1) position.column += begin.column - 1;
  position.line += begin.line - 1;
}
void Shift(api::DocumentNode& node, api::Position begin) {
  Shift(node.position, begin);
  for (api::DocumentNode& item : node.items) Shift(item, begin);
  for (api::Member& member : node.members) {
    Shift(member.key_position, begin);
    Shift(member.value, begin);
  }
}

}  // namespace

std::vector<api::DocumentNode> ParseJsonStream(std::string_view text,
                                               std::vector<api::Diagnostic>& diagnostics) {
  std::vector<api::DocumentNode> documents;
  api::Position at{1, 1};
  std::size_t begin = 0;
  do {
    const std::size_t end = begin + EndOfFirst(text.substr(begin));
    const std::size_t next = SkipBlanks(text, end);
    // What follows and is no object is told as it is of a single document.
    const bool stray = next < text.size() && text[next] != '{';
    std::vector<api::Diagnostic> faults;
    documents.push_back(
        api::ParseJson(text.substr(begin, stray ? std::string_view::npos : end - begin), faults));
    Shift(documents.back(), at);
    if (!faults.empty()) {
      for (api::Diagnostic& fault : faults) {
        Shift(fault.position, at);
        diagnostics.push_back(std::move(fault));
      }
      return {};
    }
    at = After(at, text.substr(begin, next - begin));
    begin = next;
  } while (begin < text.size());
  return documents;
}

}  // namespace dray::cli::internal
