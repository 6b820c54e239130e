// SPDX-License-Identifier: Apache-2.0
#include <array>
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

Piece FormatString(const Value& value);

std::string Quoted(const Value& value, const std::string& text) {
  switch (value.kind()) {
    case Kind::kString:
      return QuoteGo(text);
    case Kind::kBytes:
      return "b" + QuoteGo(text);
    case Kind::kDouble:
      return std::isfinite(value.as_double()) ? text : QuoteGo(text);
    default:
      return text;
  }
}

// An element of a list or map.
Piece FormatMember(const Value& value) {
  switch (value.kind()) {
    case Kind::kDouble: {
      const double d = value.as_double();
      if (std::isnan(d)) return {"NaN", ""};
      if (std::isinf(d)) return {d > 0 ? "+Inf" : "-Inf", ""};
      return {fmt::format("{:.6f}", d), ""};
    }
    case Kind::kTimestamp:
      return {fmt::format("timestamp(\"{}\")", InstantToString(value.as<Instant>())), ""};
    case Kind::kDuration:
      return {fmt::format("duration(\"{}\")", DurationToString(value.as_int())), ""};
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kList:
    case Kind::kMap:
    case Kind::kType:
      return FormatString(value);
    default:
      return Piece::Fail(fmt::format("no formatting function for {}", TypeName(value)));
  }
}

Piece FormatList(const List& list) {
  Piece out{"[", ""};
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out.text += ", ";
    const Piece member = FormatMember(list.At(i));
    if (!member.error.empty()) return member;
    out.text += Quoted(list.At(i), member.text);
  }
  out.text += "]";
  return out;
}

Piece FormatMap(const Map& map) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const Value key = map.KeyAt(i);
    if (!IsKeyKind(key.kind())) {
      return Piece::Fail(
          fmt::format("no formatting function for map key of type {}", TypeName(key)));
    }
    const Piece key_text = FormatString(key);
    const Piece value = FormatMember(map.ValueAt(i));
    if (!value.error.empty()) return value;
    pairs.emplace_back(Quoted(key, key_text.text), Quoted(map.ValueAt(i), value.text));
  }
  return WrittenMap(std::move(pairs), ":");
}

Piece FormatString(const Value& value) {
  switch (value.kind()) {
    case Kind::kList:
      return FormatList(value.as<List>());
    case Kind::kMap:
      return FormatMap(value.as<Map>());
    case Kind::kNull:
      return {"null", ""};
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kBool:
    case Kind::kString:
    case Kind::kTimestamp:
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
  return NoDecimalClause(value);
}

// A double, also from the three texts that stand for those without digits.
std::optional<double> RealOf(const Value& value) {
  if (value.is(Kind::kDouble)) return value.as_double() + 0.0;  // no minus before a zero
  if (!value.is(Kind::kString)) return std::nullopt;
  if (value.as_text() == "NaN") return std::nan("");
  if (value.as_text() == "Infinity") return HUGE_VAL;
  if (value.as_text() == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}

std::string NotFinite(double d) {
  if (std::isnan(d)) return "NaN";
  return d > 0 ? "∞" : "-∞";
}

std::string Padded(std::string text, int width) {
  const std::size_t size = CodePoints(text);
  if (size < static_cast<std::size_t>(width)) {
    text.insert(0, static_cast<std::size_t>(width) - size, ' ');
  }
  return text;
}

Piece FormatFixed(const Value& value, int precision) {
  const auto real = RealOf(value);
  if (!real) return NoRealClause("fixed-point", value);
  if (!std::isfinite(*real)) return {NotFinite(*real), ""};
  std::string digits = fmt::format("{:.{}f}", *real, precision);
  // Thousands are grouped.
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  std::size_t point = digits.find('.');
  if (point == std::string::npos) point = digits.size();
  for (std::size_t at = point; at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return {digits, ""};
}

// The precision is a width here, and the digits are always six.
Piece FormatScientific(const Value& value, int width) {
  const auto real = RealOf(value);
  if (!real) return NoRealClause("scientific", value);
  if (!std::isfinite(*real)) return {Padded(NotFinite(*real), width), ""};
  const std::string digits = fmt::format("{:.{}e}", *real, kDefaultPrecision);
  const std::size_t e = digits.find('e');
  std::string out = digits.substr(0, e) + "×10";
  int exponent = std::stoi(digits.substr(e + 1));
  if (exponent < 0) {
    out += "⁻";
    exponent = -exponent;
  }
  static constexpr std::array<std::string_view, 10> kSuperscripts = {"⁰", "¹", "²", "³", "⁴",
                                                                     "⁵", "⁶", "⁷", "⁸", "⁹"};
  for (const char c : fmt::format("{:02}", exponent)) {
    out += kSuperscripts[static_cast<std::size_t>(c - '0')];
  }
  return {Padded(std::move(out), width), ""};
}

}  // namespace

const FormatClauses kKubernetesClauses = {.string = FormatString,
                                          .decimal = FormatDecimal,
                                          .fixed = FormatFixed,
                                          .scientific = FormatScientific};

}  // namespace dray::cel::internal
