// SPDX-License-Identifier: Apache-2.0
#include "api/source_map.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/integer.h"
#include "base/utf8.h"

namespace dray::api {
namespace {

using Style = DocumentNode::Style;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Walks along the written form and the value at the same time. The value is known, so nothing has
// to be decided: a line break became whatever the value has there, and where the two do not agree
// the walk is given up.
class Walker {
 public:
  Walker(std::string_view text, std::size_t start, const DocumentNode& scalar)
      : text_(text), value_(scalar.text), style_(scalar.style), at_(start) {}

  // The byte of the text that became byte `offset` of the value.
  std::optional<std::size_t> Find(std::size_t offset) {
    if (style_ == Style::kUnknown || offset > value_.size() || !Open()) return std::nullopt;
    while (done_ < offset) {
      const std::size_t before = at_;
      const std::size_t had = done_;
      if (!Step()) return std::nullopt;
      if (done_ > offset) return before;  // inside of an escape or a line break
      if (done_ == had && at_ == before) return std::nullopt;
    }
    // A place after a line break is where the next line's text begins; after the last character it
    // is the end of what was written.
    while (done_ < value_.size() && Continues()) {
      if (!Step()) return std::nullopt;
    }
    return at_;
  }

 private:
  char Char(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool IsBlock() const { return style_ == Style::kLiteral || style_ == Style::kFolded; }
  bool AtBreak() const { return Char() == '\n' || (Char() == '\r' && Char(1) == '\n'); }
  void SkipBreak() { at_ += Char() == '\r' ? 2 : 1; }
  void SkipBlanks() {
    while (IsBlank(Char())) ++at_;
  }

  // To the first character of the value's text.
  bool Open() {
    if (style_ == Style::kJson) return Take('"');
    // An anchor or a tag may stand before the scalar.
    while (Char() == '&' || Char() == '!') {
      while (at_ < text_.size() && !IsBlank(Char()) && !AtBreak()) ++at_;
      SkipBlanks();
    }
    if (style_ == Style::kSingleQuoted) return Take('\'');
    if (style_ == Style::kDoubleQuoted) return Take('"');
    return IsBlock() ? OpenBlock() : true;
  }
  bool Take(char c) {
    if (Char() != c) return false;
    ++at_;
    return true;
  }

  // Past `|`, what belongs to it, and the indentation. How much that is follows from the first line
  // with text: what the value has of its spaces is not indentation.
  bool OpenBlock() {
    if (!Take(style_ == Style::kLiteral ? '|' : '>')) return false;
    while (at_ < text_.size() && !AtBreak()) ++at_;
    if (!AtBreak()) return false;
    SkipBreak();
    std::size_t line = at_;
    std::size_t spaces = 0;
    while (true) {
      const auto first = text_.find_first_not_of(' ', line);
      if (first == std::string_view::npos) return false;
      spaces = first - line;
      if (text_[first] != '\n' && text_[first] != '\r') break;
      const auto end = text_.find('\n', first);
      if (end == std::string_view::npos) return false;
      line = end + 1;
    }
    const auto text = std::min(value_.find_first_not_of('\n'), value_.size());
    const auto kept = std::min(value_.find_first_not_of(' ', text), value_.size()) - text;
    if (kept > spaces) return false;
    indent_ = spaces - kept;
    SkipIndent();
    return true;
  }
  void SkipIndent() {
    for (std::size_t i = 0; i < indent_ && Char() == ' '; ++i) ++at_;
  }

  // Whether what stands here is not yet a character of the value but leads to one.
  bool Continues() const {
    return (style_ == Style::kDoubleQuoted && Char() == '\\' &&
            (Char(1) == '\n' || Char(1) == '\r'));
  }

  bool Step() {
    if (style_ == Style::kJson) return Char() == '\\' ? Escape() : Same();
    if (AtBreak() || (!IsBlock() && BlanksBeforeBreak())) return Break();
    if (style_ == Style::kDoubleQuoted && Char() == '\\') return Escape();
    if (style_ == Style::kSingleQuoted && Char() == '\'') ++at_;  // of two
    return Same();
  }

  bool Same() {
    if (at_ >= text_.size() || text_[at_] != value_[done_]) return false;
    ++at_;
    ++done_;
    return true;
  }

  bool BlanksBeforeBreak() const {
    if (!IsBlank(Char())) return false;
    const auto end = text_.find_first_not_of(" \t", at_);
    return end != std::string_view::npos && (text_[end] == '\n' || text_[end] == '\r');
  }

  bool Break() {
    std::size_t breaks = 0;
    SkipBlanksUnlessBlock();
    while (AtBreak()) {
      SkipBreak();
      ++breaks;
      if (IsBlock()) {
        SkipIndent();
      } else {
        SkipBlanks();
      }
    }
    if (breaks == 1 && value_[done_] == ' ') {
      ++done_;
      return true;
    }
    std::size_t kept = 0;
    while (kept < breaks && done_ < value_.size() && value_[done_] == '\n') ++done_, ++kept;
    return kept > 0;
  }
  void SkipBlanksUnlessBlock() {
    if (!IsBlock()) SkipBlanks();
  }

  bool Escape() {
    ++at_;
    if (AtBreak()) {  // joins two lines
      SkipBreak();
      SkipBlanks();
      return true;
    }
    const char c = Char();
    ++at_;
    std::string meant;
    if (c == 'x' || c == 'u' || c == 'U') {
      auto code = Hex(c == 'x' ? 2 : c == 'u' ? 4 : 8);
      if (!code) return false;
      if (*code >= 0xd800 && *code < 0xdc00 && Char() == '\\' && Char(1) == 'u') {
        at_ += 2;
        const auto low = Hex(4);
        if (!low) return false;
        code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
      }
      base::AppendUtf8(meant, static_cast<char32_t>(*code));
    } else {
      meant = Named(c);
    }
    if (value_.substr(done_, meant.size()) != meant) return false;
    done_ += meant.size();
    return true;
  }

  std::optional<std::uint32_t> Hex(std::size_t digits) {
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const int digit = base::HexDigit(Char());
      if (digit < 0) return std::nullopt;
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  }

  static std::string Named(char c) {
    switch (c) {
      case '0':
        return std::string(1, '\0');
      case 'a':
        return "\a";
      case 'b':
        return "\b";
      case 't':
      case '\t':
        return "\t";
      case 'n':
        return "\n";
      case 'v':
        return "\v";
      case 'f':
        return "\f";
      case 'r':
        return "\r";
      case 'e':
        return "\x1b";
      case 'N':
        return "\xc2\x85";
      case '_':
        return "\xc2\xa0";
      case 'L':
        return "\xe2\x80\xa8";
      case 'P':
        return "\xe2\x80\xa9";
      default:
        return std::string(1, c);
    }
  }

  std::string_view text_;
  std::string_view value_;
  Style style_;
  std::size_t at_;          // in the text
  std::size_t done_ = 0;    // of the value
  std::size_t indent_ = 0;  // of a block
};

}  // namespace

SourceMap::SourceMap(std::string_view text) : text_(text) {
  lines_.push_back(0);
  for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    lines_.push_back(at + 1);
  }
}

Position SourceMap::Inside(const DocumentNode& scalar, std::size_t offset) const {
  const Position begin = scalar.position;
  if (begin.line < 1 || static_cast<std::size_t>(begin.line) > lines_.size()) return begin;
  const bool bytes = scalar.style == Style::kJson;
  std::size_t start = lines_[static_cast<std::size_t>(begin.line) - 1];
  for (int column = 1; column < begin.column && start < text_.size(); ++column) {
    ++start;
    while (!bytes && start < text_.size() && base::IsContinuation(text_[start])) ++start;
  }
  const auto found = Walker(text_, start, scalar).Find(offset);
  if (!found) return begin;
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), *found) - lines_.begin();
  const std::string_view before = text_.substr(lines_[static_cast<std::size_t>(line) - 1],
                                               *found - lines_[static_cast<std::size_t>(line) - 1]);
  const auto columns =
      bytes ? static_cast<std::ptrdiff_t>(before.size())
            : std::ranges::count_if(before, [](char c) { return !base::IsContinuation(c); });
  return {static_cast<int>(line), static_cast<int>(columns) + 1};
}

}  // namespace dray::api
