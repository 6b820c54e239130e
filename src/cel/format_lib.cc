// SPDX-License-Identifier: Apache-2.0
//
// "...".format([...]): the formatter that Kubernetes has, in the locale en_US (spec chapter 6).
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "cel/bounds.h"
#include "cel/functions.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

constexpr int kDefaultPrecision = 6;
constexpr int kMaxPrecision = 1000;

// A text, or why there is none.
struct Piece {
  std::string text;
  std::string error;
  static Piece Fail(std::string reason) { return {"", std::move(reason)}; }
};

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
  std::ranges::stable_sort(pairs, {}, &std::pair<std::string, std::string>::first);
  Piece out{"{", ""};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i != 0) out.text += ", ";
    out.text += pairs[i].first + ":" + pairs[i].second;
  }
  out.text += "}";
  return out;
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
    case Kind::kType: {
      Arena arena;
      const Value text = ConvertToString(arena, value);
      if (text.is_error()) {
        return Piece::Fail(
            fmt::format("could not convert argument {} to string", QuoteGo(ErrorMessage(text))));
      }
      return {std::string(text.as_text()), ""};
    }
    default:
      return Piece::Fail(fmt::format(
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
          "types, durations, and timestamps, was given {}",
          TypeName(value)));
  }
}

Piece FormatDecimal(const Value& value) {
  if (value.is(Kind::kInt)) return {fmt::format("{}", value.as_int()), ""};
  if (value.is(Kind::kUint)) return {fmt::format("{}", value.as_uint()), ""};
  return Piece::Fail(
      fmt::format("decimal clause can only be used on integers, was given {}", TypeName(value)));
}

// A double, also from the three texts that stand for those without digits.
std::optional<double> RealOf(const Value& value) {
  if (value.is(Kind::kDouble)) return value.as_double();
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
  if (!real) {
    return Piece::Fail(fmt::format("fixed-point clause can only be used on doubles, was given {}",
                                   TypeName(value)));
  }
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
  if (!real) {
    return Piece::Fail(fmt::format("scientific clause can only be used on doubles, was given {}",
                                   TypeName(value)));
  }
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

Piece FormatBinary(const Value& value) {
  switch (value.kind()) {
    case Kind::kInt:
      return {fmt::format("{:b}", value.as_int()), ""};
    case Kind::kUint:
      return {fmt::format("{:b}", value.as_uint()), ""};
    case Kind::kBool:
      return {value.as_bool() ? "1" : "0", ""};
    default:
      return Piece::Fail(fmt::format(
          "only integers and bools can be formatted as binary, was given {}", TypeName(value)));
  }
}

Piece FormatHex(const Value& value, bool upper) {
  switch (value.kind()) {
    case Kind::kInt:
      return {upper ? fmt::format("{:X}", value.as_int()) : fmt::format("{:x}", value.as_int()),
              ""};
    case Kind::kUint:
      return {upper ? fmt::format("{:X}", value.as_uint()) : fmt::format("{:x}", value.as_uint()),
              ""};
    case Kind::kString:
    case Kind::kBytes: {
      std::string out;
      for (const char c : value.as_text()) {
        const auto byte = static_cast<unsigned char>(c);
        out += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
      }
      return {out, ""};
    }
    default:
      return Piece::Fail(fmt::format(
          "only integers, byte buffers, and strings can be formatted as hex, was given {}",
          TypeName(value)));
  }
}

Piece FormatOctal(const Value& value) {
  if (value.is(Kind::kInt)) return {fmt::format("{:o}", value.as_int()), ""};
  if (value.is(Kind::kUint)) return {fmt::format("{:o}", value.as_uint()), ""};
  return Piece::Fail(
      fmt::format("octal clause can only be used on integers, was given {}", TypeName(value)));
}

// One clause after its '%'. `read` says how many characters it has.
Piece FormatClause(std::string_view clause, const Value& value, std::size_t* read) {
  constexpr std::string_view kParse = "could not parse formatting clause: ";
  std::size_t i = 0;
  int precision = kDefaultPrecision;
  if (clause[0] == '.') {
    std::string digits;
    for (i = 1;; ++i) {
      if (i >= clause.size()) {
        return Piece::Fail(fmt::format(
            "{}error while parsing precision: could not find end of precision specifier", kParse));
      }
      if (clause[i] < '0' || clause[i] > '9') break;
      digits += clause[i];
    }
    if (digits.empty() || digits.size() > 6) {
      return Piece::Fail(fmt::format(
          "{}error while parsing precision: error while converting precision to integer: "
          "strconv.Atoi: parsing {}: invalid syntax",
          kParse, QuoteGo(digits)));
    }
    precision = std::stoi(digits);
    if (precision > kMaxPrecision) {
      return Piece::Fail(fmt::format(
          "{}error while parsing precision: precision {} exceeds maximum", kParse, precision));
    }
  }
  *read = i + 1;
  Piece out;
  switch (clause[i]) {
    case 's':
      out = FormatString(value);
      break;
    case 'd':
      out = FormatDecimal(value);
      break;
    case 'f':
      out = FormatFixed(value, precision);
      break;
    case 'e':
      out = FormatScientific(value, precision);
      break;
    case 'b':
      out = FormatBinary(value);
      break;
    case 'x':
    case 'X':
      out = FormatHex(value, clause[i] == 'X');
      break;
    case 'o':
      out = FormatOctal(value);
      break;
    default:
      return Piece::Fail(fmt::format("{}unrecognized formatting clause \"{}\"", kParse, clause[i]));
  }
  if (!out.error.empty()) out.error = "error during formatting: " + out.error;
  return out;
}

Value FormatFunction(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString) || !args[1].is(Kind::kList)) return UnmatchedCall();
  const std::string_view format = args[0].as_text();
  const List& list = args[1].as<List>();
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      out += format[i++];
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      out += '%';
      i += 2;
      continue;
    }
    if (next >= list.size()) return MakeError(arena, fmt::format("index {} out of range", next));
    if (i + 1 >= format.size()) return MakeError(arena, "unexpected end of string");
    if (!IsBounded(list.At(next)) || out.size() > kMaxMadeBytes) return TooLarge();
    std::size_t read = 0;
    const Piece piece = FormatClause(format.substr(i + 1), list.At(next), &read);
    if (!piece.error.empty()) return MakeError(arena, piece.error);
    out += piece.text;
    i += 1 + read;
    ++next;
  }
  return MakeString(arena, out);
}

}  // namespace

std::span<const Builtin> FormatFunctions() {
  static constexpr std::array<Builtin, 1> kFunctions = {{{"format", 2, 2, FormatFunction}}};
  return kFunctions;
}

}  // namespace dray::cel
