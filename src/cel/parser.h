// SPDX-License-Identifier: Apache-2.0
//
// Expression text to syntax tree. Accepts what Kubernetes' parser accepts, gives the trees it gives
// and places nodes where it places them. Syntax errors have words of our own; everything else that
// parsing refuses has Kubernetes' texts (docs/spec/cel.md chapters 4 and 6).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cel/ast.h"
#include "cel/macros.h"
#include "cel/source.h"

namespace dray::cel {

struct ParseOptions {
  MacroSet macros = MacroSet::Dra();
  bool optional_syntax = true;  // a.?b, a[?b], [?a], {?a: b}
  bool quoted_fields = true;    // a.`b-c`
  // Of nesting, and apart from it of chains: `a.b.c...`, `a + b + c...`.
  std::uint32_t max_depth = 250;
  std::size_t max_code_points = 100'000;
  // optMap and optFlatMap copy their target, so that a chain of them doubles with every link. Where
  // this stops, the estimated cost is past what Kubernetes allows too.
  std::size_t max_nodes = 1'000'000;
};

// Either a tree or at least one issue.
struct ParseResult {
  std::optional<Ast> ast;
  std::vector<Issue> issues;  // in the order found; Render() sorts

  bool ok() const { return ast.has_value(); }
};

// Takes time and memory linear in the text, but for chains of optMap (max_nodes).
ParseResult Parse(const Source& source, const ParseOptions& options = {});

}  // namespace dray::cel
