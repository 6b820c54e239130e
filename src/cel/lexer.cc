// SPDX-License-Identifier: Apache-2.0
#include "cel/lexer.h"

#include <algorithm>
#include <array>

#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool IsQuotedIdentCharacter(char c) {
  return IsLetter(c) || IsDigit(c) || c == '.' || c == '-' || c == '/' || c == ' ';
}

// The characters of the escape at the start of `text` (a backslash and what belongs to it), or 0 if
// it is none of CEL's. Whether its code point is allowed is not looked at.
std::size_t EscapeLength(std::string_view text) {
  const auto digits = [text](std::size_t count) -> std::size_t {
    if (text.size() < 2 + count) return 0;
    return std::ranges::all_of(text.substr(2, count), IsHexDigit) ? 2 + count : 0;
  };
  if (text.size() < 2) return 0;
  switch (text[1]) {
    case 'x':
    case 'X':
      return digits(2);
    case 'u':
      return digits(4);
    case 'U':
      return digits(8);
    case '0':
    case '1':
    case '2':
    case '3': {
      const auto octal = [](char c) { return c >= '0' && c <= '7'; };
      return text.size() >= 4 && octal(text[2]) && octal(text[3]) ? 4 : 0;
    }
    default:
      return std::string_view("abfnrtv\"'\\?`").find(text[1]) != kNone ? 2 : 0;
  }
}

struct LiteralScan {
  std::size_t length = 0;          // quotes included
  bool closed = false;             // false: `length` is up to where it should have ended
  std::size_t bad_escape = kNone;  // the first one, from the opening quote
};

// Reads a literal from its opening quote.
LiteralScan ScanLiteral(std::string_view text, bool raw) {
  const char quote = text[0];
  const std::string_view triple = quote == '"' ? R"(""")" : "'''";
  const bool is_triple = text.starts_with(triple);
  LiteralScan scan;
  std::size_t i = is_triple ? 3 : 1;
  while (i < text.size()) {
    if (is_triple ? text.substr(i).starts_with(triple) : text[i] == quote) {
      scan.length = i + (is_triple ? 3 : 1);
      scan.closed = true;
      return scan;
    }
    if (!is_triple && (text[i] == '\n' || text[i] == '\r')) break;
    if (raw || text[i] != '\\') {
      ++i;
      continue;
    }
    const std::size_t escape = EscapeLength(text.substr(i));
    if (escape == 0 && scan.bad_escape == kNone) scan.bad_escape = i;
    // After an escape that is none, the next character is still not the closing quote.
    i += escape == 0 ? (i + 1 < text.size() && text[i + 1] != '\n' ? 2 : 1) : escape;
  }
  scan.length = std::min(i, text.size());
  return scan;
}

constexpr std::array<std::string_view, 17> kReservedWords = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

}  // namespace

std::string_view Describe(TokenKind kind) {
  static constexpr std::array<std::string_view, 37> kNames = {"the end of the expression",
                                                              "a broken literal",
                                                              "an identifier",
                                                              "a quoted field name",
                                                              "an int literal",
                                                              "a uint literal",
                                                              "a double literal",
                                                              "a string literal",
                                                              "a bytes literal",
                                                              "'true'",
                                                              "'false'",
                                                              "'null'",
                                                              "'in'",
                                                              "'=='",
                                                              "'!='",
                                                              "'<'",
                                                              "'<='",
                                                              "'>'",
                                                              "'>='",
                                                              "'&&'",
                                                              "'||'",
                                                              "'['",
                                                              "']'",
                                                              "'{'",
                                                              "'}'",
                                                              "'('",
                                                              "')'",
                                                              "'.'",
                                                              "','",
                                                              "'-'",
                                                              "'!'",
                                                              "'?'",
                                                              "':'",
                                                              "'+'",
                                                              "'*'",
                                                              "'/'",
                                                              "'%'"};
  static_assert(kNames.size() == static_cast<std::size_t>(TokenKind::kPercent) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

bool IsReserved(std::string_view word) {
  // Every identifier of an expression is asked about; most are told apart by their first letter.
  if (word.size() > 9 || std::string_view("abceficlnprvw").find(word[0]) == kNone) return false;
  return std::ranges::find(kReservedWords, word) != kReservedWords.end();
}

Token Lexer::Next() {
  while (true) {
    SkipSpace();
    if (at_ >= text_.size()) {
      const auto end = static_cast<Offset>(text_.size());
      return {TokenKind::kEnd, end, end};
    }
    const char c = text_[at_];
    if (IsLetter(c)) return Word();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number();
    if (c == '"' || c == '\'') return Quoted(TokenKind::kString, 0, false);
    if (c == '`') return QuotedIdent();
    const Token token = Punctuation();
    if (token.kind != TokenKind::kEnd) return token;
  }
}

void Lexer::SkipSpace() {
  while (at_ < text_.size()) {
    if (IsSpace(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '/' && Peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

Token Lexer::Make(TokenKind kind, std::size_t length) {
  const auto begin = static_cast<Offset>(at_);
  at_ += length;
  return {kind, begin, static_cast<Offset>(at_)};
}

// A word, unless its first letters are the prefix of a literal.
Token Lexer::Word() {
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  const bool b = text_[at_] == 'b' || text_[at_] == 'B';
  const std::size_t r_at = b ? 1 : 0;
  const bool r = Peek(r_at) == 'r' || Peek(r_at) == 'R';
  const std::size_t prefix = r_at + (r ? 1 : 0);
  if (prefix > 0 && is_quote(Peek(prefix))) {
    return Quoted(b ? TokenKind::kBytes : TokenKind::kString, prefix, r);
  }
  std::size_t length = 1;
  while (IsLetter(Peek(length)) || IsDigit(Peek(length))) ++length;
  const std::string_view word = text_.substr(at_, length);
  TokenKind kind = TokenKind::kIdent;
  if (word == "in") kind = TokenKind::kIn;
  if (word == "true") kind = TokenKind::kTrue;
  if (word == "false") kind = TokenKind::kFalse;
  if (word == "null") kind = TokenKind::kNull;
  return Make(kind, length);
}

Token Lexer::Number() {
  std::size_t i = 0;
  const auto unsigned_or = [&](TokenKind kind) {
    if (Peek(i) == 'u' || Peek(i) == 'U') return Make(TokenKind::kUint, i + 1);
    return Make(kind, i);
  };
  if (Peek(0) == '0' && Peek(1) == 'x' && IsHexDigit(Peek(2))) {
    i = 2;
    while (IsHexDigit(Peek(i))) ++i;
    return unsigned_or(TokenKind::kInt);
  }
  while (IsDigit(Peek(i))) ++i;
  bool is_double = false;
  if (Peek(i) == '.' && IsDigit(Peek(i + 1))) {
    is_double = true;
    ++i;
    while (IsDigit(Peek(i))) ++i;
  }
  if (Peek(i) == 'e' || Peek(i) == 'E') {
    const std::size_t sign = Peek(i + 1) == '+' || Peek(i + 1) == '-' ? 1 : 0;
    if (IsDigit(Peek(i + 1 + sign))) {
      is_double = true;
      i += 1 + sign;
      while (IsDigit(Peek(i))) ++i;
    }
  }
  return is_double ? Make(TokenKind::kDouble, i) : unsigned_or(TokenKind::kInt);
}

Token Lexer::Quoted(TokenKind kind, std::size_t prefix, bool raw) {
  const std::size_t begin = at_;
  const LiteralScan scan = ScanLiteral(text_.substr(at_ + prefix), raw);
  const Token token = Make(kind, prefix + scan.length);
  if (!scan.closed) {
    Report(begin, "literal without a closing quote");
  } else if (scan.bad_escape != kNone) {
    const std::size_t at = begin + prefix + scan.bad_escape;
    const std::size_t length =
        at + 1 < token.end ? 1 + std::max<std::size_t>(Utf8Length(text_.substr(at + 1)), 1) : 1;
    Report(at, fmt::format("invalid escape sequence '{}'", text_.substr(at, length)));
  } else {
    return token;
  }
  return {TokenKind::kBroken, token.begin, token.end};
}

Token Lexer::QuotedIdent() {
  std::size_t length = 1;
  while (IsQuotedIdentCharacter(Peek(length))) ++length;
  if (Peek(length) == '`' && length > 1) return Make(TokenKind::kQuotedIdent, length + 1);
  Report(at_, "a quoted field name is made of letters, digits, '_', '.', '-', '/' and ' '");
  // Up to the closing quote, if this line has one.
  const std::size_t close = text_.find_first_of("`\n", at_ + 1);
  if (close == kNone || text_[close] == '\n') return Make(TokenKind::kBroken, length);
  return Make(TokenKind::kBroken, close + 1 - at_);
}

// An operator or bracket; kEnd after reporting something that is neither.
Token Lexer::Punctuation() {
  const auto twin = [this](char second, TokenKind both, TokenKind one) {
    return Peek(1) == second ? Make(both, 2) : Make(one, 1);
  };
  switch (text_[at_]) {
    case '[':
      return Make(TokenKind::kLeftBracket, 1);
    case ']':
      return Make(TokenKind::kRightBracket, 1);
    case '{':
      return Make(TokenKind::kLeftBrace, 1);
    case '}':
      return Make(TokenKind::kRightBrace, 1);
    case '(':
      return Make(TokenKind::kLeftParen, 1);
    case ')':
      return Make(TokenKind::kRightParen, 1);
    case '.':
      return Make(TokenKind::kDot, 1);
    case ',':
      return Make(TokenKind::kComma, 1);
    case '-':
      return Make(TokenKind::kMinus, 1);
    case '?':
      return Make(TokenKind::kQuestion, 1);
    case ':':
      return Make(TokenKind::kColon, 1);
    case '+':
      return Make(TokenKind::kPlus, 1);
    case '*':
      return Make(TokenKind::kStar, 1);
    case '/':
      return Make(TokenKind::kSlash, 1);
    case '%':
      return Make(TokenKind::kPercent, 1);
    case '<':
      return twin('=', TokenKind::kLessEqual, TokenKind::kLess);
    case '>':
      return twin('=', TokenKind::kGreaterEqual, TokenKind::kGreater);
    case '!':
      return twin('=', TokenKind::kNotEqual, TokenKind::kNot);
    // A single one is a slip; it is reported and read as what was probably meant.
    case '=':
      if (Peek(1) == '=') return Make(TokenKind::kEqual, 2);
      Report(at_, "'=' is not an operator, use '=='");
      return Make(TokenKind::kEqual, 1);
    case '&':
      if (Peek(1) == '&') return Make(TokenKind::kAnd, 2);
      Report(at_, "'&' is not an operator, use '&&'");
      return Make(TokenKind::kAnd, 1);
    case '|':
      if (Peek(1) == '|') return Make(TokenKind::kOr, 2);
      Report(at_, "'|' is not an operator, use '||'");
      return Make(TokenKind::kOr, 1);
    default:
      break;
  }
  const std::size_t length = Utf8Length(text_.substr(at_));
  const std::string_view character = text_.substr(at_, length);
  if (length == 1 && (character[0] < ' ' || character[0] == '\x7f')) {
    Report(at_, fmt::format("unexpected control character {:#04x}", character[0]));
  } else {
    Report(at_, fmt::format("unexpected character '{}'", character));
  }
  at_ += length;
  return {};
}

void Lexer::Report(std::size_t at, std::string_view message) {
  issues_.push_back({static_cast<Offset>(at), fmt::format("Syntax error: {}", message)});
}

}  // namespace dray::cel
