// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/token_stream.h"

#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr std::string_view kSyntaxError = "Syntax error: ";

bool IsClosing(TokenKind kind) {
  return kind == TokenKind::kRightParen || kind == TokenKind::kRightBracket ||
         kind == TokenKind::kRightBrace;
}
bool IsOpening(TokenKind kind) {
  return kind == TokenKind::kLeftParen || kind == TokenKind::kLeftBracket ||
         kind == TokenKind::kLeftBrace;
}

}  // namespace

void TokenStream::Expect(TokenKind closing) {
  if (TakeIf(closing)) return;
  SyntaxError(Describe(closing));
  SkipToDelimiter(/*stop_at_comma=*/false);
  TakeIf(closing);
}

void TokenStream::SkipToDelimiter(bool stop_at_comma) {
  std::size_t open = 0;
  for (; token_.kind != TokenKind::kEnd; Advance()) {
    const bool comma = stop_at_comma && token_.kind == TokenKind::kComma;
    if (open == 0 && (comma || IsClosing(token_.kind))) return;
    if (IsOpening(token_.kind)) ++open;
    if (IsClosing(token_.kind)) --open;
  }
}

void TokenStream::SyntaxError(std::string_view expected) {
  constexpr std::size_t kQuietTokens = 2;
  if (gave_up_ || (has_syntax_error_ && count_ < error_count_ + kQuietTokens)) return;
  has_syntax_error_ = true;
  error_count_ = count_;
  if (token_.kind == TokenKind::kBroken) return;  // the lexer has said it
  Report(token_.begin, fmt::format("{}found {}, expected {}", kSyntaxError, Found(), expected));
}

std::string TokenStream::Found() const {
  constexpr std::size_t kMaxQuoted = 40;
  if (text().empty() || text().size() > kMaxQuoted) return std::string(Describe(token_.kind));
  return fmt::format("'{}'", text());
}

void TokenStream::Report(Offset at, std::string message) {
  if (!gave_up_) issues_.push_back({at, std::move(message)});
}

void TokenStream::GiveUp(std::string message) {
  if (gave_up_) return;
  std::erase_if(issues_, [](const Issue& i) { return !i.message.starts_with(kSyntaxError); });
  issues_.push_back({kNowhere, std::move(message)});
  gave_up_ = true;
  lexer_.Stop();
  Advance();
}

}  // namespace dray::cel
