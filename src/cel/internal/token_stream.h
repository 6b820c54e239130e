// SPDX-License-Identifier: Apache-2.0
//
// The parser's view of its input: one token at a time, what was wrong so far, and how to go on
// after an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/lexer.h"
#include "cel/source.h"

namespace dray::cel {

// Starts at the first token. `source` must outlive it. One thread.
class TokenStream {
 public:
  explicit TokenStream(const Source& source) : source_(source), lexer_(source, issues_) {
    Advance();
  }
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;

  const Token& token() const { return token_; }
  TokenKind kind() const { return token_.kind; }
  Offset offset() const { return token_.begin; }
  std::string_view text() const { return token_.Text(source_); }

  void Advance() {
    token_ = lexer_.Next();
    ++count_;
  }
  // Steps over the token and says where it was.
  Offset Take() {
    const Offset at = token_.begin;
    Advance();
    return at;
  }
  // Whether the token is of that kind; if so it is stepped over.
  bool TakeIf(TokenKind kind) {
    if (token_.kind != kind) return false;
    Advance();
    return true;
  }

  // Takes the closing bracket that must come now; if something else does, reports that and goes on
  // behind the bracket.
  void Expect(TokenKind closing);
  // Up to a closing bracket, or comma, that belongs to the construct around.
  void SkipToDelimiter(bool stop_at_comma);

  // Says what should have been instead of the token. Right behind an error there are no others:
  // they would only follow from it.
  void SyntaxError(std::string_view expected);
  void Report(Offset at, std::string message);
  // For a limit that is passed: nothing else is worth saying, except syntax errors already found.
  // From here on there is only the end of the text, so that every function returns soon.
  void GiveUp(std::string message);

  bool gave_up() const { return gave_up_; }
  bool has_syntax_error() const { return has_syntax_error_; }
  const std::vector<Issue>& issues() const { return issues_; }
  std::vector<Issue> TakeIssues() && { return std::move(issues_); }

 private:
  // The token for a message: quoted, or described if it is long.
  std::string Found() const;

  const Source& source_;
  std::vector<Issue> issues_;
  Lexer lexer_;
  Token token_;
  std::size_t count_ = 0;        // tokens so far
  std::size_t error_count_ = 0;  // what count_ was at the last syntax error
  bool has_syntax_error_ = false;
  bool gave_up_ = false;
};

}  // namespace dray::cel
