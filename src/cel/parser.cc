// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent, one function per level of the grammar:
//
//   Expr     = Or ['?' Or ':' Expr]
//   Or       = And {'||' And}            And = Relation {'&&' Relation}
//   Relation = Calc {('<' ... | 'in') Calc}
//   Calc     = Unary {('*' | '/' | '%' | '+' | '-') Unary}, the first three binding tighter
//   Unary    = Member | '!' {'!'} Member | '-' {'-'} Member
//   Member   = Primary {'.' name | '.' name '(' args ')' | '[' Expr ']'
//                       | '.?' name | '[?' Expr ']'}
//   Primary  = name | name '(' args ')' | '(' Expr ')' | list | map | name {'.' name} fields
//            | literal
//
// After a syntax error the parser goes on behind the next comma or closing bracket of the construct
// it is in, with a placeholder for what it could not read; a tree with issues is thrown away.
#include "cel/parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "cel/internal/token_stream.h"
#include "cel/lexer.h"
#include "cel/literals.h"
#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// A part of the tree and how many operators, selections and calls lie above each other in it, which
// is what limits chains.
struct Part {
  ExprId id;
  std::uint32_t height = 0;
};

using Ids = absl::InlinedVector<ExprId, 8>;

struct BinaryOperator {
  std::string_view function;
  int precedence = 0;  // 0: not one
};

BinaryOperator RelationOperator(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEqual:
      return {op::kEqual, 1};
    case TokenKind::kNotEqual:
      return {op::kNotEqual, 1};
    case TokenKind::kLess:
      return {op::kLess, 1};
    case TokenKind::kLessEqual:
      return {op::kLessEqual, 1};
    case TokenKind::kGreater:
      return {op::kGreater, 1};
    case TokenKind::kGreaterEqual:
      return {op::kGreaterEqual, 1};
    case TokenKind::kIn:
      return {op::kIn, 1};
    default:
      return {};
  }
}

BinaryOperator CalcOperator(TokenKind kind) {
  switch (kind) {
    case TokenKind::kPlus:
      return {op::kAdd, 1};
    case TokenKind::kMinus:
      return {op::kSubtract, 1};
    case TokenKind::kStar:
      return {op::kMultiply, 2};
    case TokenKind::kSlash:
      return {op::kDivide, 2};
    case TokenKind::kPercent:
      return {op::kModulo, 2};
    default:
      return {};
  }
}

class Parser {
 public:
  Parser(const Source& source, const ParseOptions& options)
      : source_(source), options_(options), tokens_(source), builder_(source.text().size()) {}

  ParseResult Run() {
    const Part root = ParseExpr();
    if (tokens_.kind() != TokenKind::kEnd) tokens_.SyntaxError("the end of the expression");
    if (root.height > options_.max_depth) tokens_.GiveUp("max recursion depth exceeded");
    if (!tokens_.issues().empty()) return {.issues = std::move(tokens_).TakeIssues()};
    return {.ast = std::move(builder_).Build(root.id)};
  }

 private:
  // One more rule of a kind under way. Each kind has a limit of its own, as in Kubernetes' parser.
  class Nesting {
   public:
    Nesting(Parser& parser, std::uint32_t& depth) : depth_(depth) {
      if (++depth_ > parser.options_.max_depth) {
        parser.tokens_.GiveUp(
            fmt::format("expression recursion limit exceeded: {}", parser.options_.max_depth));
      }
    }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    std::uint32_t& depth_;
  };

  Part Placeholder() { return {builder_.Null(tokens_.offset())}; }

  // --- operators

  Part ParseExpr() {
    const Nesting nesting(*this, expr_depth_);
    if (tokens_.gave_up()) return Placeholder();
    const Part condition = ParseOr();
    if (tokens_.kind() != TokenKind::kQuestion) return condition;
    const Offset at = tokens_.Take();
    const Part yes = ParseOr();
    if (tokens_.kind() == TokenKind::kQuestion) {
      tokens_.SyntaxError("':'; a conditional between '?' and ':' needs parentheses");
      tokens_.SkipToDelimiter(/*stop_at_comma=*/true);
      return condition;
    }
    if (!tokens_.TakeIf(TokenKind::kColon)) {
      tokens_.SyntaxError("':'");
      return condition;
    }
    const Part no = ParseExpr();
    return Operator(at, op::kConditional, {condition, yes, no});
  }

  Part ParseOr() {
    return ParseLogic(TokenKind::kOr, op::kOr, [this] { return ParseAnd(); });
  }
  Part ParseAnd() {
    return ParseLogic(TokenKind::kAnd, op::kAnd, [this] { return ParseRelation(0); });
  }

  // A chain becomes a balanced tree, so that it may be as long as it likes.
  template <typename ParseTerm>
  Part ParseLogic(TokenKind kind, std::string_view function, ParseTerm parse_term) {
    const Part first = parse_term();
    if (tokens_.kind() != kind) return first;
    Ids terms{first.id};
    absl::InlinedVector<Offset, 8> operators;
    std::uint32_t height = first.height;
    while (tokens_.kind() == kind) {
      operators.push_back(tokens_.Take());
      const Part term = parse_term();
      terms.push_back(term.id);
      height = std::max(height, term.height);
    }
    const StringId name = builder_.Intern(function);
    return {Balance(name, terms, operators), height};
  }

  ExprId Balance(StringId function, std::span<const ExprId> terms,
                 std::span<const Offset> operators) {
    if (terms.size() == 1) return terms[0];
    const std::size_t middle = operators.size() / 2;
    const std::array<ExprId, 2> args = {
        Balance(function, terms.first(middle + 1), operators.first(middle)),
        Balance(function, terms.subspan(middle + 1), operators.subspan(middle + 1))};
    return builder_.Call(operators[middle], {.function = function, .args = args});
  }

  Part ParseRelation(int min_precedence) {
    const Nesting nesting(*this, relation_depth_);
    if (tokens_.gave_up()) return Placeholder();
    Part left = ParseCalc(0);
    while (true) {
      const BinaryOperator found = RelationOperator(tokens_.kind());
      if (found.precedence == 0 || found.precedence < min_precedence) return left;
      const Offset at = tokens_.Take();
      const Part right = ParseRelation(found.precedence + 1);
      left = Operator(at, found.function, {left, right});
    }
  }

  Part ParseCalc(int min_precedence) {
    const Nesting nesting(*this, calc_depth_);
    if (tokens_.gave_up()) return Placeholder();
    Part left = ParseUnary();
    while (true) {
      const BinaryOperator found = CalcOperator(tokens_.kind());
      if (found.precedence == 0 || found.precedence < min_precedence) return left;
      const Offset at = tokens_.Take();
      const Part right = ParseCalc(found.precedence + 1);
      left = Operator(at, found.function, {left, right});
    }
  }

  Part Operator(Offset at, std::string_view function, std::initializer_list<Part> parts) {
    Ids args;
    std::uint32_t height = 0;
    for (const Part& part : parts) {
      args.push_back(part.id);
      height = std::max(height, part.height);
    }
    return {builder_.Call(at, {.function = builder_.Intern(function), .args = args}), height + 1};
  }

  // An even number of signs is none. One minus before a number belongs to it: only so can the
  // smallest int be written.
  Part ParseUnary() {
    const TokenKind sign = tokens_.kind();
    if (sign != TokenKind::kNot && sign != TokenKind::kMinus) return ParseMember();
    const Offset at = tokens_.offset();
    std::size_t count = 0;
    while (tokens_.TakeIf(sign)) ++count;
    if (sign == TokenKind::kMinus && count == 1 && AtNumber()) {
      return ParseSuffixes(ParseNumber(at, /*negative=*/true), /*name=*/false);
    }
    const Part operand = ParseMember();
    if (count % 2 == 0) return operand;
    const StringId function = builder_.Intern(sign == TokenKind::kNot ? op::kNot : op::kNegate);
    return {builder_.Call(at, {.function = function, .args = std::span(&operand.id, 1)}),
            operand.height};
  }

  // --- members

  Part ParseMember() {
    switch (tokens_.kind()) {
      case TokenKind::kIdent:
      case TokenKind::kDot:
        return ParseName();
      case TokenKind::kLeftParen: {
        tokens_.Advance();
        const Part inner = ParseExpr();
        tokens_.Expect(TokenKind::kRightParen);
        return ParseSuffixes(inner, /*name=*/false);
      }
      case TokenKind::kLeftBracket:
        return ParseSuffixes(ParseList(), /*name=*/false);
      case TokenKind::kLeftBrace:
        return ParseSuffixes(ParseMap(), /*name=*/false);
      default:
        return ParseSuffixes(ParseLiteral(), /*name=*/false);
    }
  }

  // A variable or a function, with or without a leading dot.
  Part ParseName() {
    const Offset start = tokens_.offset();
    const bool dotted = tokens_.TakeIf(TokenKind::kDot);
    if (tokens_.kind() != TokenKind::kIdent) {
      tokens_.SyntaxError("an identifier");
      return Placeholder();
    }
    const Offset at = tokens_.offset();
    const std::string_view word = tokens_.text();
    tokens_.Advance();
    // A message's name may be made of any words.
    if (IsReserved(word) && tokens_.kind() != TokenKind::kLeftBrace) {
      tokens_.Report(start, fmt::format("reserved identifier: {}", word));
    }
    const StringId name =
        dotted ? builder_.Intern(fmt::format(".{}", word)) : builder_.Intern(word);
    if (tokens_.kind() != TokenKind::kLeftParen) {
      return ParseSuffixes({builder_.Ident(at, name)}, /*name=*/true);
    }
    const Offset open = tokens_.Take();
    std::uint32_t height = 0;
    const Ids args = ParseArguments(height);
    return ParseSuffixes({CallOrMacro(open, {.function = name, .args = args}, height), height},
                         /*name=*/false);
  }

  // `name`: so far it is a plain name like a.b.c, which a message literal may begin with.
  Part ParseSuffixes(Part part, bool name) {
    while (true) {
      switch (tokens_.kind()) {
        case TokenKind::kDot:
          part = ParseSelection(part, name);
          break;
        case TokenKind::kLeftBracket:
          part = ParseIndex(part);
          name = false;
          break;
        case TokenKind::kLeftBrace:
          if (!name) return part;
          part = ParseStruct(part);
          name = false;
          break;
        default:
          return part;
      }
    }
  }

  Part ParseSelection(Part operand, bool& name) {
    const Offset dot = tokens_.Take();
    const bool optional = tokens_.TakeIf(TokenKind::kQuestion);
    const Token field = tokens_.token();
    if (field.kind != TokenKind::kIdent && field.kind != TokenKind::kQuotedIdent) {
      tokens_.SyntaxError("a field name");
      if (field.kind == TokenKind::kBroken || field.kind == TokenKind::kIn ||
          field.kind == TokenKind::kTrue || field.kind == TokenKind::kFalse ||
          field.kind == TokenKind::kNull) {
        tokens_.Advance();  // meant as the name
      }
      return operand;
    }
    tokens_.Advance();
    const StringId id = FieldName(field);
    const bool quoted = field.kind == TokenKind::kQuotedIdent;
    name = name && !optional && !quoted;
    if (optional) {
      if (!options_.optional_syntax) tokens_.Report(dot, "unsupported syntax '.?'");
      return Operator(dot, op::kOptionalSelect, {operand, {builder_.String(field.begin, id)}});
    }
    if (tokens_.kind() != TokenKind::kLeftParen || quoted) {
      return {builder_.Select(dot, {operand.id, id}), operand.height + 1};
    }
    name = false;
    const Offset open = tokens_.Take();
    std::uint32_t height = operand.height;
    const Ids args = ParseArguments(height);
    return {CallOrMacro(open, {id, operand.id, args}, height), height + 1};
  }

  Part ParseIndex(Part operand) {
    const Offset open = tokens_.Take();
    const bool optional = tokens_.TakeIf(TokenKind::kQuestion);
    if (optional && !options_.optional_syntax) tokens_.Report(open, "unsupported syntax '[?'");
    const Part index = ParseExpr();
    tokens_.Expect(TokenKind::kRightBracket);
    return Operator(open, optional ? op::kOptionalIndex : op::kIndex, {operand, index});
  }

  StringId FieldName(const Token& token) {
    const std::string_view text = token.Text(source_);
    if (token.kind == TokenKind::kIdent) return builder_.Intern(text);
    if (!options_.quoted_fields) tokens_.Report(token.begin, "unsupported syntax: '`'");
    return builder_.Intern(text.substr(1, text.size() - 2));
  }

  // The rest of a call; raises `height` to that of the highest argument.
  Ids ParseArguments(std::uint32_t& height) {
    Ids args;
    if (tokens_.TakeIf(TokenKind::kRightParen)) return args;
    do {
      const Part arg = ParseExpr();
      args.push_back(arg.id);
      height = std::max(height, arg.height);
    } while (NextItem(TokenKind::kRightParen));
    tokens_.Expect(TokenKind::kRightParen);
    return args;
  }

  // After an item of a list: whether another follows. Something else than a comma or the end is
  // reported and skipped.
  bool NextItem(TokenKind closing) {
    if (tokens_.kind() != TokenKind::kComma && tokens_.kind() != closing) {
      tokens_.SyntaxError(fmt::format("',' or {}", Describe(closing)));
      tokens_.SkipToDelimiter(/*stop_at_comma=*/true);
    }
    return tokens_.TakeIf(TokenKind::kComma);
  }

  // `height` is that of the target and the arguments.
  ExprId CallOrMacro(Offset open, const CallExpr& call, std::uint32_t height) {
    // A placeholder among the arguments would only give a second, wrong message; and what is too
    // high will be refused, but must not be copied before.
    if (!tokens_.has_syntax_error() && height <= options_.max_depth) {
      Expansion expansion = ExpandMacro(options_.macros, builder_, open, call, options_.max_nodes);
      if (expansion.expr) return *expansion.expr;
      if (expansion.issue)
        tokens_.Report(expansion.issue->offset, std::move(expansion.issue->message));
    }
    return builder_.Call(open, call);
  }

  // --- literals

  bool AtNumber() const {
    return tokens_.kind() == TokenKind::kInt || tokens_.kind() == TokenKind::kDouble;
  }

  // `at` is the sign, if there is one.
  Part ParseNumber(Offset at, bool negative) {
    const std::string_view text = tokens_.text();
    const bool is_int = tokens_.kind() == TokenKind::kInt;
    tokens_.Advance();
    if (is_int) {
      const auto value = ParseInt(text, negative);
      if (!value) tokens_.Report(at, "invalid int literal");
      return {builder_.Int(at, value.value_or(0))};
    }
    const auto value = ParseDouble(text, negative);
    if (!value) tokens_.Report(at, "invalid double literal");
    return {builder_.Double(at, value.value_or(0))};
  }

  Part ParseLiteral() {
    const Offset at = tokens_.offset();
    switch (tokens_.kind()) {
      case TokenKind::kInt:
      case TokenKind::kDouble:
        return ParseNumber(at, /*negative=*/false);
      case TokenKind::kMinus:  // after a '!'
        tokens_.Advance();
        if (AtNumber()) return ParseNumber(at, /*negative=*/true);
        tokens_.SyntaxError("a number");
        return Placeholder();
      case TokenKind::kUint: {
        const auto value = ParseUint(tokens_.text());
        if (!value) tokens_.Report(at, "invalid uint literal");
        tokens_.Advance();
        return {builder_.Uint(at, value.value_or(0))};
      }
      case TokenKind::kString:
      case TokenKind::kBytes:
        return ParseText();
      case TokenKind::kTrue:
      case TokenKind::kFalse: {
        const bool value = tokens_.kind() == TokenKind::kTrue;
        tokens_.Advance();
        return {builder_.Bool(at, value)};
      }
      case TokenKind::kNull:
        tokens_.Advance();
        return {builder_.Null(at)};
      case TokenKind::kBroken:
        tokens_.SyntaxError("an expression");
        tokens_.Advance();
        return {builder_.Null(at)};
      default:
        tokens_.SyntaxError("an expression");
        return Placeholder();
    }
  }

  Part ParseText() {
    const Offset at = tokens_.offset();
    const bool bytes = tokens_.kind() == TokenKind::kBytes;
    const Unquoted unquoted = Unquote(tokens_.text(), bytes);
    tokens_.Advance();
    if (!unquoted.error.empty()) tokens_.Report(at, std::string(unquoted.error));
    const StringId value = builder_.Intern(unquoted.value);
    return {bytes ? builder_.Bytes(at, value) : builder_.String(at, value)};
  }

  bool TakeOptionalMark() {
    if (tokens_.kind() != TokenKind::kQuestion) return false;
    if (!options_.optional_syntax) tokens_.Report(tokens_.offset(), "unsupported syntax '?'");
    tokens_.Advance();
    return true;
  }

  // Lists, maps and messages: items up to `closing`, a comma after the last one allowed, and even
  // without a first.
  template <typename ParseItem>
  void ParseItems(TokenKind closing, ParseItem parse_item) {
    if (tokens_.TakeIf(TokenKind::kComma)) {
      tokens_.Expect(closing);
      return;
    }
    while (tokens_.kind() != closing) {
      parse_item();
      if (!NextItem(closing)) break;
    }
    tokens_.Expect(closing);
  }

  Part ParseList() {
    const Offset open = tokens_.Take();
    Ids elements;
    absl::InlinedVector<std::uint32_t, 4> optional;
    std::uint32_t height = 0;
    ParseItems(TokenKind::kRightBracket, [&] {
      if (TakeOptionalMark()) optional.push_back(static_cast<std::uint32_t>(elements.size()));
      const Part element = ParseExpr();
      elements.push_back(element.id);
      height = std::max(height, element.height);
    });
    return {builder_.List(open, elements, optional), height};
  }

  Part ParseMap() {
    const Offset open = tokens_.Take();
    absl::InlinedVector<MapEntry, 4> entries;
    std::uint32_t height = 0;
    ParseItems(TokenKind::kRightBrace, [&] {
      const bool optional = TakeOptionalMark();
      const Part key = ParseExpr();
      const Offset colon = tokens_.offset();
      if (!tokens_.TakeIf(TokenKind::kColon)) {
        tokens_.SyntaxError("':' and the value of the entry");
        return;
      }
      const Part value = ParseExpr();
      entries.push_back({.key = key.id, .value = value.id, .offset = colon, .optional = optional});
      height = std::max({height, key.height, value.height});
    });
    return {builder_.Map(open, entries), height};
  }

  // A message, its name being read. The nodes that stood for the name stay behind, unused.
  Part ParseStruct(Part name) {
    const Offset open = tokens_.Take();
    const StringId message = builder_.Intern(DottedName(name.id));
    absl::InlinedVector<StructField, 4> fields;
    std::uint32_t height = 0;
    ParseItems(TokenKind::kRightBrace, [&] {
      const bool optional = TakeOptionalMark();
      const Token field = tokens_.token();
      if (field.kind != TokenKind::kIdent && field.kind != TokenKind::kQuotedIdent) {
        tokens_.SyntaxError("a field name");
        return;
      }
      tokens_.Advance();
      const StringId id = FieldName(field);
      const Offset colon = tokens_.offset();
      if (!tokens_.TakeIf(TokenKind::kColon)) {
        tokens_.SyntaxError("':' and the value of the field");
        return;
      }
      const Part value = ParseExpr();
      fields.push_back({.name = id, .value = value.id, .offset = colon, .optional = optional});
      height = std::max(height, value.height);
    });
    return {builder_.Struct(open, {message, fields}), height};
  }

  std::string DottedName(ExprId id) const {
    const Ast& ast = builder_.ast();
    std::vector<std::string_view> parts;
    for (; ast.kind(id) == ExprKind::kSelect; id = ast.select(id).operand) {
      parts.push_back(ast.text(ast.select(id).field));
    }
    std::string out(ast.text(ast.ident(id)));
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) out.append(".").append(*part);
    return out;
  }

  const Source& source_;
  const ParseOptions& options_;
  TokenStream tokens_;
  AstBuilder builder_;

  std::uint32_t expr_depth_ = 0;
  std::uint32_t relation_depth_ = 0;
  std::uint32_t calc_depth_ = 0;
};

}  // namespace

ParseResult Parse(const Source& source, const ParseOptions& options) {
  if (source.code_points() > options.max_code_points) {
    return {.issues = {{kNowhere, fmt::format("expression code point size exceeds limit: "
                                              "size: {}, limit {}",
                                              source.code_points(), options.max_code_points)}}};
  }
  return Parser(source, options).Run();
}

}  // namespace dray::cel
