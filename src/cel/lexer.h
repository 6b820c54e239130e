// SPDX-License-Identifier: Apache-2.0
//
// Text to tokens. Spec: cel-spec langdef "Syntax", and back-quoted field names as Kubernetes has
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/source.h"

namespace dray::cel {

enum class TokenKind : std::uint8_t {
  kEnd,
  kBroken,  // an operand that could not be read; its issue is reported
  kIdent,
  kQuotedIdent,  // `like-this`, quotes included
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kDot,
  kComma,
  kMinus,
  kNot,
  kQuestion,
  kColon,
  kPlus,
  kStar,
  kSlash,
  kPercent,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Offset begin = 0;
  Offset end = 0;

  std::string_view Text(const Source& source) const {
    return std::string_view(source.text()).substr(begin, end - begin);
  }
};

// What a message calls such a token: "')'", "an identifier", "the end of the expression".
std::string_view Describe(TokenKind kind);

// Whether `word` may not name a variable or a function. `true`, `false`, `null` and `in` are tokens
// of their own and not asked for here.
bool IsReserved(std::string_view word);

// Gives one token after the other, kEnd for ever at the end. What cannot be a token is reported and
// stepped over, so that the parser sees something sensible. One thread.
class Lexer {
 public:
  // Both must outlive the lexer.
  Lexer(const Source& source, std::vector<Issue>& issues)
      : source_(source), text_(source.text()), issues_(issues) {}

  Token Next();
  // From now on there is only kEnd.
  void Stop() { at_ = text_.size(); }

 private:
  void SkipSpace();
  Token Make(TokenKind kind, std::size_t length);
  Token Word();
  Token Number();
  Token Punctuation();
  Token QuotedIdent();
  // A literal whose quotes begin `prefix` characters on.
  Token Quoted(TokenKind kind, std::size_t prefix, bool raw);
  void Report(std::size_t at, std::string_view message);
  char Peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  const Source& source_;
  std::string_view text_;
  std::vector<Issue>& issues_;
  std::size_t at_ = 0;
};

}  // namespace dray::cel
