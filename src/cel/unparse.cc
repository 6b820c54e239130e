// SPDX-License-Identifier: Apache-2.0
#include "cel/unparse.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cel/lexer.h"
#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// How tightly something binds. A part stands without parentheses where at least its own level is
// wanted.
enum Level : int { kExpr, kOr, kAnd, kRelation, kSum, kProduct, kUnary, kMember };

struct OperatorText {
  std::string_view function;
  std::string_view text;
  Level level = kMember;
};

constexpr std::array<OperatorText, 14> kBinary = {{
    {op::kAnd, " && ", kAnd},
    {op::kOr, " || ", kOr},
    {op::kEqual, " == ", kRelation},
    {op::kNotEqual, " != ", kRelation},
    {op::kLess, " < ", kRelation},
    {op::kLessEqual, " <= ", kRelation},
    {op::kGreater, " > ", kRelation},
    {op::kGreaterEqual, " >= ", kRelation},
    {op::kIn, " in ", kRelation},
    {op::kAdd, " + ", kSum},
    {op::kSubtract, " - ", kSum},
    {op::kMultiply, " * ", kProduct},
    {op::kDivide, " / ", kProduct},
    {op::kModulo, " % ", kProduct},
}};

const OperatorText* FindBinary(std::string_view function) {
  const auto* found = std::ranges::find(kBinary, function, &OperatorText::function);
  return found == kBinary.end() ? nullptr : found;
}

bool IsWord(std::string_view field) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !field.empty() && letter(field[0]) &&
         std::ranges::all_of(field, [&](char c) { return letter(c) || digit(c); }) &&
         field != "in" && field != "true" && field != "false" && field != "null";
}

class Printer {
 public:
  explicit Printer(const Ast& ast) : ast_(ast) {}

  std::string Run(ExprId id) && {
    Print(id, kExpr);
    return std::move(out_);
  }

 private:
  Level LevelOf(ExprId id) const {
    if (ast_.kind(id) != ExprKind::kCall || ast_.FindMacroCall(id)) return kMember;
    const std::string_view function = ast_.text(ast_.call(id).function);
    if (const OperatorText* binary = FindBinary(function)) return binary->level;
    if (function == op::kConditional) return kExpr;
    if (function == op::kNot || function == op::kNegate) return kUnary;
    return kMember;
  }

  void Print(ExprId id, Level wanted) {
    const bool parentheses = LevelOf(id) < wanted;
    if (parentheses) out_.push_back('(');
    PrintBare(id);
    if (parentheses) out_.push_back(')');
  }

  void PrintBare(ExprId id) {
    if (const auto macro = ast_.FindMacroCall(id)) return PrintFunction(macro->call);
    switch (ast_.kind(id)) {
      case ExprKind::kNull:
        out_.append("null");
        break;
      case ExprKind::kBool:
        out_.append(ast_.bool_value(id) ? "true" : "false");
        break;
      case ExprKind::kInt:
        out_.append(fmt::format("{}", ast_.int_value(id)));
        break;
      case ExprKind::kUint:
        out_.append(fmt::format("{}u", ast_.uint_value(id)));
        break;
      case ExprKind::kDouble:
        PrintDouble(ast_.double_value(id));
        break;
      case ExprKind::kString:
        PrintString(ast_.string_value(id));
        break;
      case ExprKind::kBytes:
        PrintBytes(ast_.string_value(id));
        break;
      case ExprKind::kIdent:
        out_.append(ast_.text(ast_.ident(id)));
        break;
      case ExprKind::kSelect:
        PrintSelect(ast_.select(id));
        break;
      case ExprKind::kCall:
        PrintCall(id);
        break;
      case ExprKind::kList:
        PrintList(ast_.list(id));
        break;
      case ExprKind::kMap:
        PrintMap(ast_.map(id));
        break;
      case ExprKind::kStruct:
        PrintStruct(ast_.struct_literal(id));
        break;
      case ExprKind::kComprehension:
        PrintLoop(ast_.comprehension(id));
        break;
    }
  }

  // The shortest text that reads back as the same number, and as a double.
  void PrintDouble(double value) {
    const std::string text = fmt::format("{}", value);
    out_.append(text);
    if (text.find_first_of(".e") == std::string::npos) out_.append(".0");
  }

  void PrintSelect(const SelectExpr& select) {
    Print(select.operand, kMember);
    out_.push_back('.');
    PrintField(ast_.text(select.field));
  }

  void PrintField(std::string_view field) {
    if (IsWord(field)) {
      out_.append(field);
    } else {
      out_.append("`").append(field).append("`");
    }
  }

  void PrintCall(ExprId id) {
    const CallExpr call = ast_.call(id);
    const std::string_view function = ast_.text(call.function);
    if (function == op::kAnd || function == op::kOr) {
      PrintLogic(id, MaxTerms(id, call.function));
    } else if (const OperatorText* binary = FindBinary(function)) {
      Print(call.args[0], binary->level);
      out_.append(binary->text);
      Print(call.args[1], static_cast<Level>(binary->level + 1));
    } else if (function == op::kConditional) {
      Print(call.args[0], kOr);
      out_.append(" ? ");
      Print(call.args[1], kOr);
      out_.append(" : ");
      Print(call.args[2], kExpr);
    } else if (function == op::kNot) {
      out_.push_back('!');
      Print(call.args[0], kMember);
    } else if (function == op::kNegate) {
      PrintNegation(call.args[0]);
    } else if (function == op::kIndex || function == op::kOptionalIndex) {
      Print(call.args[0], kMember);
      out_.append(function == op::kIndex ? "[" : "[?");
      Print(call.args[1], kExpr);
      out_.push_back(']');
    } else if (function == op::kOptionalSelect) {
      Print(call.args[0], kMember);
      out_.append(".?");
      PrintField(ast_.string_value(call.args[1]));
    } else {
      PrintFunction(call);
    }
  }

  // A minus right before a number would become part of it.
  void PrintNegation(ExprId operand) {
    out_.push_back('-');
    const std::size_t start = out_.size();
    Print(operand, kMember);
    const char first = out_[start];
    if (first == '-' || (first >= '0' && first <= '9')) {
      out_.insert(start, "(");
      out_.push_back(')');
    }
  }

  bool IsLogic(ExprId id, StringId function) const {
    return ast_.kind(id) == ExprKind::kCall && ast_.call(id).function == function;
  }

  // The parser makes a balanced tree of a chain of n terms: the first half, rounded up, on the
  // left. This is the largest n whose tree is the upper part of the one at `id`.
  std::size_t MaxTerms(ExprId id, StringId function) const {
    if (!IsLogic(id, function)) return 1;
    const auto args = ast_.call(id).args;
    return std::min(2 * MaxTerms(args[0], function), 2 * MaxTerms(args[1], function) + 1);
  }

  // As a chain of `terms` terms, which is the upper part of the tree.
  void PrintLogic(ExprId id, std::size_t terms) {
    const OperatorText& chain = *FindBinary(ast_.text(ast_.call(id).function));
    const auto args = ast_.call(id).args;
    PrintTerms(args[0], (terms + 1) / 2, chain.level);
    out_.append(chain.text);
    PrintTerms(args[1], terms / 2, chain.level);
  }

  void PrintTerms(ExprId id, std::size_t terms, Level level) {
    if (terms == 1) {
      Print(id, static_cast<Level>(level + 1));
    } else {
      PrintLogic(id, terms);
    }
  }

  void PrintFunction(const CallExpr& call) {
    if (call.target) {
      Print(*call.target, kMember);
      out_.push_back('.');
    }
    out_.append(ast_.text(call.function)).push_back('(');
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      if (i > 0) out_.append(", ");
      Print(call.args[i], kExpr);
    }
    out_.push_back(')');
  }

  void PrintList(const ListExpr& list) {
    out_.push_back('[');
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      if (i > 0) out_.append(", ");
      if (list.IsOptional(i)) out_.push_back('?');
      Print(list.elements[i], kExpr);
    }
    out_.push_back(']');
  }

  void PrintMap(std::span<const MapEntry> entries) {
    out_.push_back('{');
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.append(", ");
      if (entries[i].optional) out_.push_back('?');
      Print(entries[i].key, kExpr);
      out_.append(": ");
      Print(entries[i].value, kExpr);
    }
    out_.push_back('}');
  }

  void PrintStruct(const StructExpr& literal) {
    out_.append(ast_.text(literal.name)).push_back('{');
    for (std::size_t i = 0; i < literal.fields.size(); ++i) {
      const StructField& field = literal.fields[i];
      if (i > 0) out_.append(", ");
      if (field.optional) out_.push_back('?');
      PrintField(ast_.text(field.name));
      out_.append(": ");
      Print(field.value, kExpr);
    }
    out_.push_back('}');
  }

  // Only below an expansion, when somebody prints a part of one. Not CEL, but readable.
  void PrintLoop(const Comprehension& loop) {
    out_.append("@fold(").append(ast_.text(loop.iter_var));
    if (loop.iter_var2) out_.append(", ").append(ast_.text(*loop.iter_var2));
    out_.append(" in ");
    Print(loop.range, kExpr);
    out_.append(", ").append(ast_.text(loop.accu_var)).append(" = ");
    Print(loop.init, kExpr);
    for (const ExprId part : {loop.condition, loop.step, loop.result}) {
      out_.append(", ");
      Print(part, kExpr);
    }
    out_.push_back(')');
  }

  // Whether `c` was one of the characters that both kinds of literals escape alike.
  bool PrintSimpleEscape(char c) {
    constexpr std::string_view kCharacters = "\a\b\f\n\r\t\v\\\"";
    const std::size_t found = kCharacters.find(c);
    if (found == std::string_view::npos) return false;
    out_.push_back('\\');
    out_.push_back("abfnrtv\\\""[found]);
    return true;
  }

  void PrintString(std::string_view value) {
    out_.push_back('"');
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (PrintSimpleEscape(c)) continue;
      if (byte < 0x20 || byte == 0x7f) {
        out_.append(fmt::format("\\x{:02x}", byte));
      } else {
        out_.push_back(c);
      }
    }
    out_.push_back('"');
  }

  void PrintBytes(std::string_view value) {
    out_.append("b\"");
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (PrintSimpleEscape(c)) continue;
      if (byte < 0x20 || byte >= 0x7f) {
        out_.append(fmt::format("\\x{:02x}", byte));
      } else {
        out_.push_back(c);
      }
    }
    out_.push_back('"');
  }

  const Ast& ast_;
  std::string out_;
};

}  // namespace

std::string Unparse(const Ast& ast) { return Unparse(ast, ast.root()); }

std::string Unparse(const Ast& ast, ExprId id) { return Printer(ast).Run(id); }

}  // namespace dray::cel
