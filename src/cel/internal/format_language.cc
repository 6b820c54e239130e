// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cel/internal/format_clauses.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel::internal {
namespace {

// The three doubles without digits.
std::optional<Piece> NotFinite(const Value& value) {
  if (!value.is(Kind::kDouble) || std::isfinite(value.as_double())) return std::nullopt;
  if (std::isnan(value.as_double())) return Piece{"NaN", ""};
  return Piece{value.as_double() > 0 ? "Infinity" : "-Infinity", ""};
}

Piece FormatString(const Value& value);

Piece FormatList(const List& list) {
  Piece out{"[", ""};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Piece member = FormatString(list.At(i));
    if (!member.error.empty()) return member;
    if (i != 0) out.text += ", ";
    out.text += member.text;
  }
  out.text += "]";
  return out;
}

Piece FormatMap(const Map& map) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::size_t i = 0; i < map.size(); ++i) {
    Piece key = FormatString(map.KeyAt(i));
    Piece value = FormatString(map.ValueAt(i));
    if (!value.error.empty()) return value;
    entries.emplace_back(std::move(key.text), std::move(value.text));
  }
  return WrittenMap(std::move(entries), ": ");
}

Piece FormatString(const Value& value) {
  if (auto special = NotFinite(value)) return *special;
  switch (value.kind()) {
    case Kind::kList:
      return FormatList(value.as<List>());
    case Kind::kMap:
      return FormatMap(value.as<Map>());
    case Kind::kNull:
      return {"null", ""};
    case Kind::kDouble:
      return {DoubleToDecimal(value.as_double()), ""};
    case Kind::kTimestamp: {
      Instant instant = value.as<Instant>();
      instant.offset = 0;  // always in UTC
      return {InstantToString(instant), ""};
    }
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kBool:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kType:
      return ConvertedPiece(value);
    default:
      return NoStringClause(value);
  }
}

Piece FormatDecimal(const Value& value) {
  if (value.is(Kind::kInt)) return {fmt::format("{}", value.as_int()), ""};
  if (value.is(Kind::kUint)) return {fmt::format("{}", value.as_uint()), ""};
  if (auto special = NotFinite(value)) return *special;
  if (value.is(Kind::kDouble)) return {DoubleToDecimal(value.as_double()), ""};
  return NoDecimalClause(value);
}

std::optional<double> RealOf(const Value& value) {
  if (value.is(Kind::kDouble)) return value.as_double();
  if (value.is(Kind::kInt)) return static_cast<double>(value.as_int());
  if (value.is(Kind::kUint)) return static_cast<double>(value.as_uint());
  return std::nullopt;
}

Piece FormatFixed(const Value& value, int precision) {
  if (auto special = NotFinite(value)) return *special;
  if (const auto real = RealOf(value)) return {fmt::format("{:.{}f}", *real, precision), ""};
  return NoRealClause("fixed-point", value);
}

Piece FormatScientific(const Value& value, int precision) {
  if (auto special = NotFinite(value)) return *special;
  if (const auto real = RealOf(value)) return {fmt::format("{:.{}e}", *real, precision), ""};
  return NoRealClause("scientific", value);
}

}  // namespace

const FormatClauses kLanguageClauses = {.string = FormatString,
                                        .decimal = FormatDecimal,
                                        .fixed = FormatFixed,
                                        .scientific = FormatScientific};

}  // namespace dray::cel::internal
