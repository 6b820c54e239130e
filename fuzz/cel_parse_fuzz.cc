// SPDX-License-Identifier: Apache-2.0
//
// Properties: parsing gives a tree or an issue, never both or neither; issues can be rendered; a
// tree has children before parents, prints, and what it prints parses to the same tree and prints
// the same. The first byte chooses the options.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "cel/parser.h"
#include "cel/unparse.h"

namespace {

using namespace dray::cel;

ParseOptions OptionsOf(char c) {
  switch (c) {
    case '0':
      return {.macros = MacroSet()};
    case '1':
      return {.macros = MacroSet::Standard(), .optional_syntax = false, .quoted_fields = false};
    case '2':
      return {.macros = MacroSet::All(), .max_depth = 5, .max_code_points = 100};
    default:
      return {};
  }
}

void CheckOrder(const Ast& ast) {
  const auto below = [](ExprId child, ExprId parent) { DRAY_CHECK(child < parent); };
  for (std::uint32_t i = 0; i < ast.size(); ++i) {
    const ExprId id{i};
    switch (ast.kind(id)) {
      case ExprKind::kSelect:
        below(ast.select(id).operand, id);
        break;
      case ExprKind::kCall:
        if (const auto target = ast.call(id).target) below(*target, id);
        for (const ExprId arg : ast.call(id).args) below(arg, id);
        break;
      case ExprKind::kList:
        for (const ExprId element : ast.list(id).elements) below(element, id);
        break;
      case ExprKind::kMap:
        for (const MapEntry& entry : ast.map(id)) below(std::max(entry.key, entry.value), id);
        break;
      case ExprKind::kStruct:
        for (const StructField& field : ast.struct_literal(id).fields) below(field.value, id);
        break;
      case ExprKind::kComprehension: {
        const Comprehension& loop = ast.comprehension(id);
        below(std::max({loop.range, loop.init, loop.condition, loop.step, loop.result}), id);
        break;
      }
      default:
        break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  ParseOptions options = OptionsOf(input[0]);
  options.max_nodes = 10'000;  // the limit is met often enough, and soon
  const Source source(input.substr(1));
  const ParseResult result = Parse(source, options);
  DRAY_CHECK(result.ok() == result.issues.empty());
  if (!result.ok()) {
    DRAY_CHECK(Render(source, result.issues).starts_with("ERROR: <input>:"));
    return 0;
  }
  CheckOrder(*result.ast);
  const std::string printed = Unparse(*result.ast);
  const Source again(printed);
  // Escapes make the text longer, and -(1.f(-(1))) is deeper than ---1.f(---1).
  options.max_code_points *= 10;
  options.max_depth = 2 * options.max_depth + 1;
  const ParseResult reparsed = Parse(again, options);
  DRAY_CHECK(reparsed.ok(), Render(again, reparsed.issues));
  DRAY_CHECK(SameTree(*result.ast, *reparsed.ast), printed);
  DRAY_CHECK(Unparse(*reparsed.ast) == printed, printed);
  return 0;
}
