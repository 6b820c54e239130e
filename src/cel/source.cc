// SPDX-License-Identifier: Apache-2.0
#include "cel/source.h"

#include <algorithm>

#include "base/utf8.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
// Dots and carets as wide as the character above them: what takes more than a byte counts as wide.
constexpr std::string_view kWideDot = "\xef\xbc\x8e";
constexpr std::string_view kWideCaret = "\xef\xbc\xbe";
// A longer line is not shown.
constexpr std::size_t kMaxShownLine = 16384;

// The line under the source line: dots up to `column`, then a caret.
std::string Pointer(std::string_view line, std::int32_t column) {
  std::string out;
  for (std::int32_t i = 0; i < column && !line.empty(); ++i) {
    const std::size_t length = Utf8Length(line);
    out.append(length > 1 ? kWideDot : ".");
    line.remove_prefix(length);
  }
  out.append(!line.empty() && Utf8Length(line) > 1 ? kWideCaret : "^");
  return out;
}

// Cuts a line to `width` characters around `column`, and returns where that is now.
std::int32_t Clip(std::string& line, std::int32_t column, std::size_t width) {
  const std::size_t characters = base::CodePoints(line);
  if (characters <= width) return column;
  const auto at = static_cast<std::size_t>(column);
  const std::size_t first = std::min(at - std::min(at, width / 2), characters - width);
  const auto byte_of = [&](std::size_t character) {
    std::size_t byte = 0;
    for (; character > 0; --character) byte += Utf8Length(std::string_view(line).substr(byte));
    return byte;
  };
  const std::size_t begin = byte_of(first);
  const std::size_t end = byte_of(first + width);
  const std::string_view before = begin > 0 ? "..." : "";
  const std::string_view after = end < line.size() ? "..." : "";
  line = fmt::format("{}{}{}", before, std::string_view(line).substr(begin, end - begin), after);
  return static_cast<std::int32_t>(at - first + before.size());
}

}  // namespace

std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  // The range of the second byte keeps out overlong forms, surrogates and what is past 10FFFF.
  std::size_t length = 0;
  unsigned char low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!base::IsContinuation(text[i])) return 0;
  }
  return length;
}

Source::Source(std::string_view text, std::string_view description) : description_(description) {
  const bool ascii =
      std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (ascii) {
    text_ = text;
    code_points_ = text.size();
    return;
  }
  text_.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    text_.append(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
    ++code_points_;
  }
}

Location Source::LocationAt(Offset offset) const {
  if (offset == kNowhere) return {};
  const std::string_view before =
      std::string_view(text_).substr(0, std::min<std::size_t>(offset, text_.size()));
  const std::size_t newline = before.rfind('\n');
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = static_cast<std::int32_t>(1 + std::ranges::count(before, '\n')),
          .column = static_cast<std::int32_t>(base::CodePoints(before.substr(start)))};
}

std::optional<std::string_view> Source::Line(std::int32_t line) const {
  if (line < 1 || text_.empty()) return std::nullopt;
  std::string_view rest = text_;
  for (; line > 1; --line) {
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(newline + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

std::string Snippet(const Source& source, Offset offset, std::size_t width) {
  const Location at = source.LocationAt(offset);
  const auto line = source.Line(at.line);
  if (!line || (width == 0 && line->size() > kMaxShownLine)) return "";
  std::string shown(*line);
  std::ranges::replace(shown, '\t', ' ');
  const std::int32_t column = width == 0 ? at.column : Clip(shown, at.column, width);
  return fmt::format("\n | {}\n | {}", shown, Pointer(shown, column));
}

std::string Render(const Source& source, const Issue& issue) {
  const Location at = source.LocationAt(issue.offset);
  return fmt::format("ERROR: {}:{}:{}: {}{}", source.description(), at.line, at.column + 1,
                     issue.message, Snippet(source, issue.offset));
}

std::string Render(const Source& source, std::vector<Issue> issues) {
  // Nowhere comes first.
  std::ranges::stable_sort(issues, {}, [](const Issue& issue) { return issue.offset + 1; });
  std::string out;
  for (std::size_t i = 0; i < std::min(issues.size(), kMaxIssues); ++i) {
    if (i > 0) out.push_back('\n');
    out.append(Render(source, issues[i]));
  }
  if (issues.size() > kMaxIssues) {
    out.append(fmt::format("\n{} more errors were truncated", issues.size() - kMaxIssues));
  }
  return out;
}

}  // namespace dray::cel
