// SPDX-License-Identifier: Apache-2.0
//
// The text of an expression, places in it, and what is said about them. Messages look like
// Kubernetes': docs/spec/cel.md chapter 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dray::cel {

// Lines count from 1, columns from 0 in code points; a message shows the column plus one. The
// default is "nowhere": what concerns the whole expression.
struct Location {
  std::int32_t line = -1;
  std::int32_t column = -1;
  friend bool operator==(const Location&, const Location&) = default;
};

// A byte offset into Source::text(). Everything in the room that has a place keeps one of these.
using Offset = std::uint32_t;
inline constexpr Offset kNowhere = 0xffffffff;

// Invariant: text() is valid UTF-8. Each byte of the input that is not part of a character was
// replaced by U+FFFD. Thread-safe: immutable.
class Source {
 public:
  explicit Source(std::string_view text, std::string_view description = "<input>");

  const std::string& text() const { return text_; }
  const std::string& description() const { return description_; }
  std::size_t code_points() const { return code_points_; }

  // Walks the text: for messages, not for loops.
  Location LocationAt(Offset offset) const;
  // A line without its newline, or nothing if there is no such line or no text at all.
  std::optional<std::string_view> Line(std::int32_t line) const;

 private:
  std::string text_;
  std::string description_;
  std::size_t code_points_ = 0;
};

// Something wrong with an expression.
struct Issue {
  Offset offset = kNowhere;
  std::string message;
  friend bool operator==(const Issue&, const Issue&) = default;
};

// "\n | the line\n | .....^" for a place, nothing for nowhere. Of a line that is longer than
// `width` characters only the part around the place is shown; 0: all of it.
std::string Snippet(const Source& source, Offset offset, std::size_t width = 0);

// "ERROR: <input>:1:18: text", then the source line and a caret under the place; for an issue
// without a place the first line only.
std::string Render(const Source& source, const Issue& issue);

// How many issues are worth reading. The lexer stops at so many, so an expression never has many
// more.
inline constexpr std::size_t kMaxIssues = 100;

// All of them by place, one after the other; after kMaxIssues only how many more there are.
std::string Render(const Source& source, std::vector<Issue> issues);

// The bytes of the character that starts `text`, or 0 if none does. `text` is not empty.
std::size_t Utf8Length(std::string_view text);

}  // namespace dray::cel
