// SPDX-License-Identifier: Apache-2.0
//
// The clauses of "...".format([...]) that each dialect has its own of: %s, %d, %f and %e.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/dialect.h"
#include "cel/value.h"

namespace dray::cel::internal {

inline constexpr int kDefaultPrecision = 6;

// A text, or why there is none.
struct Piece {
  std::string text;
  std::string error;
  static Piece Fail(std::string reason) { return {"", std::move(reason)}; }
};

struct FormatClauses {
  Piece (*string)(const Value& value) = nullptr;
  Piece (*decimal)(const Value& value) = nullptr;
  Piece (*fixed)(const Value& value, int precision) = nullptr;
  Piece (*scientific)(const Value& value, int precision) = nullptr;
};

// The formatter that Kubernetes has, in the locale en_US (docs/spec/cel.md 6): members of lists and
// maps look like literals, numbers have thousands and superscripts.
extern const FormatClauses kKubernetesClauses;
// Version 4 of the strings extension: members look like %s of themselves, numbers like C's, and
// every number has a decimal form.
extern const FormatClauses kLanguageClauses;

// %s of the kinds that string() takes.
Piece ConvertedPiece(const Value& value);
// What %s says about a kind that it does not take.
Piece NoStringClause(const Value& value);
// What %d says.
Piece NoDecimalClause(const Value& value);
// What %f ("fixed-point") and %e ("scientific") say.
Piece NoRealClause(std::string_view clause, const Value& value);

// A map of texts, by the text of its keys; `colon` is what stands between a key and its value.
Piece WrittenMap(std::vector<std::pair<std::string, std::string>> entries, std::string_view colon);

}  // namespace dray::cel::internal
