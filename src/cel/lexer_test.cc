// SPDX-License-Identifier: Apache-2.0
#include "cel/lexer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dray::cel {
namespace {

struct Lexed {
  std::vector<std::string> tokens;
  std::vector<Issue> issues;
};

// Every token's text; after a slash its kind where the text does not tell.
Lexed Lex(std::string_view text) {
  const Source source(text);
  Lexed out;
  Lexer lexer(source, out.issues);
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd; token = lexer.Next()) {
    std::string shown(token.Text(source));
    switch (token.kind) {
      case TokenKind::kInt:
        shown += "/int";
        break;
      case TokenKind::kUint:
        shown += "/uint";
        break;
      case TokenKind::kDouble:
        shown += "/double";
        break;
      case TokenKind::kString:
        shown += "/string";
        break;
      case TokenKind::kBytes:
        shown += "/bytes";
        break;
      case TokenKind::kIdent:
        shown += "/ident";
        break;
      case TokenKind::kQuotedIdent:
        shown += "/quoted";
        break;
      case TokenKind::kBroken:
        shown += "/broken";
        break;
      default:
        break;
    }
    out.tokens.push_back(shown);
  }
  EXPECT_EQ(lexer.Next().kind, TokenKind::kEnd);
  return out;
}

struct TokenCase {
  std::string name;
  std::string text;
  std::vector<std::string> want;
  friend void PrintTo(const TokenCase& c, std::ostream* os) { *os << c.name; }
};
class TokenTest : public ::testing::TestWithParam<TokenCase> {};

TEST_P(TokenTest, IsReadWithoutIssue) {
  const Lexed lexed = Lex(GetParam().text);
  EXPECT_EQ(lexed.tokens, GetParam().want);
  EXPECT_TRUE(lexed.issues.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Langdef, TokenTest,
    ::testing::ValuesIn(std::vector<TokenCase>{
        {"words", "a _b c9 trueish", {"a/ident", "_b/ident", "c9/ident", "trueish/ident"}},
        {"keywords", "true false null in", {"true", "false", "null", "in"}},
        {"reserved_words_are_identifiers_here", "for let", {"for/ident", "let/ident"}},
        {"operators",
         "== != < <= > >= && || + - * / % ! ? : . ,",
         {"==", "!=", "<", "<=", ">", ">=", "&&", "||", "+", "-", "*", "/", "%", "!", "?", ":", ".",
          ","}},
        {"brackets", "()[]{}", {"(", ")", "[", "]", "{", "}"}},
        {"operators_without_space", "a<=-b", {"a/ident", "<=", "-", "b/ident"}},
        {"ints", "0 12 0x1F 007", {"0/int", "12/int", "0x1F/int", "007/int"}},
        {"uints", "1u 2U 0xffu", {"1u/uint", "2U/uint", "0xffu/uint"}},
        {"doubles",
         "1.5 .5 1e3 1.0E-3 2e+4",
         {"1.5/double", ".5/double", "1e3/double", "1.0E-3/double", "2e+4/double"}},
        {"a_dot_needs_digits_behind", "5.x", {"5/int", ".", "x/ident"}},
        {"an_exponent_needs_digits", "1e 1e+", {"1/int", "e/ident", "1/int", "e/ident", "+"}},
        {"hex_needs_digits", "0x", {"0/int", "x/ident"}},
        {"hex_has_no_fraction", "0x1.5", {"0x1/int", ".5/double"}},
        {"quotes", R"('a"b' "a'b" '')", {R"('a"b'/string)", R"("a'b"/string)", "''/string"}},
        {"triple_quotes",
         "'''a\n'b''' \"\"\"c\"\"\"",
         {"'''a\n'b'''/string", "\"\"\"c\"\"\"/string"}},
        {"triple_quotes_end_at_the_first_three", "''''a'''", {"''''a'''/string"}},
        {"raw", R"(r'\d' R"\")", {R"(r'\d'/string)", R"(R"\"/string)"}},
        {"bytes",
         R"(b'a' B"b" br'\x' bR"""c""")",
         {"b'a'/bytes", "B\"b\"/bytes", R"(br'\x'/bytes)", R"(bR"""c"""/bytes)"}},
        {"rb_is_no_prefix", "rb'a'", {"rb/ident", "'a'/string"}},
        {"escaped_quote_does_not_end", R"('a\'b')", {R"('a\'b'/string)"}},
        {"all_escapes",
         R"('\a\b\f\n\r\t\v\\\?\"\'\`\x41\X41\u00e9\U0001f600\101')",
         {R"('\a\b\f\n\r\t\v\\\?\"\'\`\x41\X41\u00e9\U0001f600\101'/string)"}},
        {"quoted_field", "a.`b-c/d.e f`", {"a/ident", ".", "`b-c/d.e f`/quoted"}},
        {"comments_and_space", "a // b\n\t\f\r c//", {"a/ident", "c/ident"}},
        {"nothing", "  // only a comment", {}},
    }),
    [](const auto& info) { return info.param.name; });

struct BadTokenCase {
  std::string name;
  std::string text;
  std::vector<std::string> want;  // tokens
  std::vector<Issue> issues;
  friend void PrintTo(const BadTokenCase& c, std::ostream* os) { *os << c.name; }
};
class BadTokenTest : public ::testing::TestWithParam<BadTokenCase> {};

TEST_P(BadTokenTest, IsReportedAndSteppedOver) {
  const Lexed lexed = Lex(GetParam().text);
  EXPECT_EQ(lexed.tokens, GetParam().want);
  EXPECT_EQ(lexed.issues, GetParam().issues);
}

INSTANTIATE_TEST_SUITE_P(Slips, BadTokenTest,
                         ::testing::ValuesIn(std::vector<BadTokenCase>{
                             {"unclosed_string_ends_with_its_line",
                              "'abc\n+ d",
                              {"'abc/broken", "+", "d/ident"},
                              {{0, "Syntax error: literal without a closing quote"}}},
                             {"unclosed_triple_quotes_end_with_the_text",
                              "x '''abc\n'' y",
                              {"x/ident", "'''abc\n'' y/broken"},
                              {{2, "Syntax error: literal without a closing quote"}}},
                             {"a_backslash_at_the_end",
                              "'a\\",
                              {"'a\\/broken"},
                              {{0, "Syntax error: literal without a closing quote"}}},
                             {"unknown_escape",
                              R"('a\z' + 1)",
                              {R"('a\z'/broken)", "+", "1/int"},
                              {{2, R"(Syntax error: invalid escape sequence '\z')"}}},
                             {"short_escapes",
                              R"('\x4' '\u12' '\08')",
                              {R"('\x4'/broken)", R"('\u12'/broken)", R"('\08'/broken)"},
                              {{1, R"(Syntax error: invalid escape sequence '\x')"},
                               {7, R"(Syntax error: invalid escape sequence '\u')"},
                               {14, R"(Syntax error: invalid escape sequence '\0')"}}},
                             {"octals_end_at_377",
                              R"('\400')",
                              {R"('\400'/broken)"},
                              {{1, R"(Syntax error: invalid escape sequence '\4')"}}},
                             {"single_equals_is_read_as_two",
                              "a = b",
                              {"a/ident", "=", "b/ident"},
                              {{2, "Syntax error: '=' is not an operator, use '=='"}}},
                             {"single_and",
                              "a & b",
                              {"a/ident", "&", "b/ident"},
                              {{2, "Syntax error: '&' is not an operator, use '&&'"}}},
                             {"foreign_characters",
                              "a # \u4e16 b",
                              {"a/ident", "b/ident"},
                              {{2, "Syntax error: unexpected character '#'"},
                               {4, "Syntax error: unexpected character '\u4e16'"}}},
                             {"control_character",
                              "a \x01",
                              {"a/ident"},
                              {{2, "Syntax error: unexpected control character 0x01"}}},
                             {"quoted_field_with_other_characters",
                              "a.`b$c`.d",
                              {"a/ident", ".", "`b$c`/broken", ".", "d/ident"},
                              {{2,
                                "Syntax error: a quoted field name is made of letters, digits, "
                                "'_', '.', '-', '/' and ' '"}}},
                         }),
                         [](const auto& info) { return info.param.name; });

TEST(Lexer, ReservedWordsAreTheSpecifications) {
  for (const char* word :
       {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
        "loop", "package", "namespace", "return", "var", "void", "while"}) {
    EXPECT_TRUE(IsReserved(word)) << word;
  }
  for (const char* word : {"device", "a", "ass", "For", "namespaces"})
    EXPECT_FALSE(IsReserved(word));
}

}  // namespace
}  // namespace dray::cel
