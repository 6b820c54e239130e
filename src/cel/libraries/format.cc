// SPDX-License-Identifier: Apache-2.0
//
// "...".format([...]): reading the clauses, and those that are the same in every dialect.
#include <algorithm>
#include <array>
#include <string>

#include "cel/bounds.h"
#include "cel/functions.h"
#include "cel/internal/format_clauses.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace internal {

Piece ConvertedPiece(const Value& value) {
  Arena arena;
  const Value text = ConvertToString(arena, value);
  if (text.is_error()) {
    return Piece::Fail(
        fmt::format("could not convert argument {} to string", QuoteGo(ErrorMessage(text))));
  }
  return {std::string(text.as_text()), ""};
}

Piece NoStringClause(const Value& value) {
  return Piece::Fail(fmt::format(
      "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
      "types, durations, and timestamps, was given {}",
      TypeName(value)));
}

Piece NoDecimalClause(const Value& value) {
  return Piece::Fail(
      fmt::format("decimal clause can only be used on integers, was given {}", TypeName(value)));
}

Piece NoRealClause(std::string_view clause, const Value& value) {
  return Piece::Fail(
      fmt::format("{} clause can only be used on doubles, was given {}", clause, TypeName(value)));
}

Piece WrittenMap(std::vector<std::pair<std::string, std::string>> entries, std::string_view colon) {
  std::ranges::stable_sort(entries, {}, &std::pair<std::string, std::string>::first);
  Piece out{"{", ""};
  for (const auto& [key, value] : entries) {
    if (out.text.size() > 1) out.text += ", ";
    out.text += fmt::format("{}{}{}", key, colon, value);
  }
  out.text += "}";
  return out;
}

}  // namespace internal

namespace {

using internal::FormatClauses;
using internal::kDefaultPrecision;
using internal::Piece;
using Args = std::span<const Value>;

constexpr int kMaxPrecision = 1000;

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
Piece FormatClause(const FormatClauses& clauses, std::string_view clause, const Value& value,
                   std::size_t* read) {
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
      out = clauses.string(value);
      break;
    case 'd':
      out = clauses.decimal(value);
      break;
    case 'f':
      out = clauses.fixed(value, precision);
      break;
    case 'e':
      out = clauses.scientific(value, precision);
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

template <const FormatClauses& clauses>
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
    if (!IsBounded(arena.work(), list.At(next)) || out.size() > kMaxMadeBytes) return TooLarge();
    std::size_t read = 0;
    const Piece piece = FormatClause(clauses, format.substr(i + 1), list.At(next), &read);
    if (!piece.error.empty()) return MakeError(arena, piece.error);
    out += piece.text;
    i += 1 + read;
    ++next;
  }
  return MakeString(arena, out);
}

}  // namespace

Library library::StringFormat() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"format", "string_format string.(list(dyn)) -> string",
       Implementation(FormatFunction<internal::kKubernetesClauses>,
                      FormatFunction<internal::kLanguageClauses>),
       RunTimeCost(kTenth, kOne), estimate::ReadReceiver},
  });
  return kRows;
}

}  // namespace dray::cel
