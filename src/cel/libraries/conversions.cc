// SPDX-License-Identifier: Apache-2.0
//
// int(), string() and their like.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/charconv.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/source.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

constexpr Error kIntOverflow{"integer overflow"};
constexpr Error kUintOverflow{"unsigned integer overflow"};
constexpr Error kTimestampOverflow{"timestamp overflow"};

Value Refused(Arena& arena, const Value& from, std::string_view to) {
  return MakeError(arena,
                   fmt::format("type conversion error from '{}' to '{}'", TypeName(from), to));
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = Utf8Length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  if constexpr (std::is_signed_v<T>) {
    if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  }
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ParseReal(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::string_view body = text;
  bool negative = false;
  if (body[0] == '+' || body[0] == '-') {
    negative = body[0] == '-';
    body.remove_prefix(1);
  }
  std::string lower(body);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "inf" || lower == "infinity") return negative ? -HUGE_VAL : HUGE_VAL;
  if (lower == "nan") return std::nan("");
  if (body.empty() || (std::isdigit(static_cast<unsigned char>(body[0])) == 0 && body[0] != '.')) {
    return std::nullopt;
  }
  // Go lets underscores separate digits.
  if (lower.find('_') != std::string::npos) {
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (lower[i] != '_') continue;
      if (i == 0 || i + 1 == lower.size() ||
          std::isdigit(static_cast<unsigned char>(lower[i - 1])) == 0 ||
          std::isdigit(static_cast<unsigned char>(lower[i + 1])) == 0) {
        return std::nullopt;
      }
    }
    std::erase(lower, '_');
    body = lower;
  }
  double value = 0;
  const auto result = absl::from_chars(body.data(), body.data() + body.size(), value);
  if (result.ec == std::errc::result_out_of_range && value != 0 && std::isinf(value)) {
    return std::nullopt;
  }
  if (result.ec == std::errc::invalid_argument || result.ptr != body.data() + body.size()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

Value ToBool(Arena& arena, Args args) {
  if (args[0].is(Kind::kBool)) return args[0];
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return Value::Bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return Value::Bool(false);
  }
  return Refused(arena, args[0], "bool");
}

Value ToBytes(Arena&, Args args) {
  if (args[0].is(Kind::kBytes)) return args[0];
  return args[0].is(Kind::kString) ? Value::Bytes(args[0].as_text()) : UnmatchedCall();
}

Value ToDouble(Arena& arena, Args args) {
  switch (args[0].kind()) {
    case Kind::kDouble:
      return args[0];
    case Kind::kInt:
      return Value::Double(static_cast<double>(args[0].as_int()));
    case Kind::kUint:
      return Value::Double(static_cast<double>(args[0].as_uint()));
    case Kind::kString: {
      const auto value = ParseReal(args[0].as_text());
      return value ? Value::Double(*value) : Refused(arena, args[0], "double");
    }
    default:
      return UnmatchedCall();
  }
}

Value ToDuration(Arena& arena, Args args) {
  switch (args[0].kind()) {
    case Kind::kDuration:
      return args[0];
    case Kind::kInt:
      return Value::Duration(args[0].as_int());
    case Kind::kString: {
      const auto nanos = ParseDuration(args[0].as_text());
      return nanos ? Value::Duration(*nanos) : Refused(arena, args[0], "google.protobuf.Duration");
    }
    default:
      return UnmatchedCall();
  }
}

Value ToTimestamp(Arena& arena, Args args) {
  switch (args[0].kind()) {
    case Kind::kTimestamp:
      return args[0];
    case Kind::kInt:
      if (args[0].as_int() < Instant::kMinSeconds || args[0].as_int() > Instant::kMaxSeconds) {
        return StaticError(kTimestampOverflow);
      }
      return MakeInstant(arena, {args[0].as_int(), 0});
    case Kind::kString: {
      const auto instant = ParseInstant(args[0].as_text());
      return instant ? MakeInstant(arena, *instant)
                     : Refused(arena, args[0], "google.protobuf.Timestamp");
    }
    default:
      return UnmatchedCall();
  }
}

Value ToInt(Arena& arena, Args args) {
  switch (args[0].kind()) {
    case Kind::kInt:
      return args[0];
    case Kind::kUint:
      if (args[0].as_uint() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(args[0].as_int());
    case Kind::kDouble: {
      const double d = args[0].as_double();
      // The ends are excluded, since a double near them may have been rounded there.
      if (!(d > -9223372036854775808.0 && d < 9223372036854775807.0)) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(static_cast<std::int64_t>(d));
    }
    case Kind::kDuration:
      return Value::Int(args[0].as_int());
    case Kind::kTimestamp:
      return Value::Int(args[0].as<Instant>().seconds);
    case Kind::kString: {
      const auto value = ParseWhole<std::int64_t>(args[0].as_text());
      return value ? Value::Int(*value) : Refused(arena, args[0], "int");
    }
    default:
      return UnmatchedCall();
  }
}

Value ToUint(Arena& arena, Args args) {
  switch (args[0].kind()) {
    case Kind::kUint:
      return args[0];
    case Kind::kInt:
      if (args[0].as_int() < 0) return StaticError(kUintOverflow);
      return Value::Uint(args[0].as_uint());
    case Kind::kDouble: {
      const double d = args[0].as_double();
      if (!(d >= 0 && d < 18446744073709551615.0)) return StaticError(kUintOverflow);
      return Value::Uint(static_cast<std::uint64_t>(d));
    }
    case Kind::kString: {
      const auto value = ParseWhole<std::uint64_t>(args[0].as_text());
      return value ? Value::Uint(*value) : Refused(arena, args[0], "uint");
    }
    default:
      return UnmatchedCall();
  }
}

Value Dyn(Arena&, Args args) { return args[0]; }
Value TypeFunction(Arena& arena, Args args) { return TypeOf(arena, args[0]); }

}  // namespace

Value TypeOf(Arena&, const Value& value) { return Value::Type(TypeName(value)); }

Value ToString(Arena& arena, Args args) { return ConvertToString(arena, args[0]); }

Value ConvertToString(Arena& arena, const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return value;
    case Kind::kBool:
      return Value::String(value.as_bool() ? "true" : "false");
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
      return MakeString(arena, Printed(value));
    case Kind::kBytes:
      if (!IsUtf8(value.as_text())) {
        static constexpr Error kNotUtf8{"invalid UTF-8 in bytes, cannot convert to string"};
        return StaticError(kNotUtf8);
      }
      return Value::String(value.as_text());
    case Kind::kDuration:
      return MakeString(arena, DurationToString(value.as_int()));
    case Kind::kTimestamp:
      return MakeString(arena, InstantToString(value.as<Instant>()));
    case Kind::kType:
      return Value::String(value.as_text());
    case Kind::kIp:
      return MakeString(arena, IpToString(value.as<Ip>()));
    case Kind::kCidr:
      return MakeString(arena, CidrToString(value.as<Cidr>()));
    default:
      return UnmatchedCall();
  }
}

Library library::Conversions() {
  using enum CostRule;
  using enum OfConstants;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"bool", "bool_to_bool (bool) -> bool", ToBool, kOne, estimate::Unit, kFold},
      {"bool", "string_to_bool (string) -> bool", ToBool, kOne, estimate::Unit, kFold},
      {"bytes", "bytes_to_bytes (bytes) -> bytes", ToBytes, kOne, estimate::Unit, kFold},
      {"bytes", "string_to_bytes (string) -> bytes", ToBytes, RunTimeCost(kTenth, kOne),
       estimate::ToBytes, kFold},
      {"double", "double_to_double (double) -> double", ToDouble, kOne, estimate::Unit, kFold},
      {"double", "int64_to_double (int) -> double", ToDouble, kOne, estimate::Unit, kFold},
      {"double", "string_to_double (string) -> double", ToDouble, kOne, estimate::Unit, kFold},
      {"double", "uint64_to_double (uint) -> double", ToDouble, kOne, estimate::Unit, kFold},
      {"duration", "duration_to_duration (duration) -> duration", ToDuration, kOne, estimate::Unit,
       kFold},
      {"duration", "string_to_duration (string) -> duration", ToDuration, kOne, estimate::Unit,
       kFold},
      {"dyn", "to_dyn (A) -> dyn", Dyn, kOne, estimate::Unit, kFold},
      {"int", "int64_to_int64 (int) -> int", ToInt, kOne, estimate::Unit, kFold},
      {"int", "double_to_int64 (double) -> int", ToInt, kOne, estimate::Unit, kFold},
      {"int", "duration_to_int64 (duration) -> int", ToInt, kOne, estimate::Unit, kFold},
      {"int", "string_to_int64 (string) -> int", ToInt, kOne, estimate::Unit, kFold},
      {"int", "timestamp_to_int64 (timestamp) -> int", ToInt, kOne, estimate::Unit, kFold},
      {"int", "uint64_to_int64 (uint) -> int", ToInt, kOne, estimate::Unit, kFold},
      {"string", "string_to_string (string) -> string", ToString, kOne, estimate::Unit, kFold},
      {"string", "bool_to_string (bool) -> string", ToString, kOne, estimate::Unit, kFold},
      {"string", "bytes_to_string (bytes) -> string", ToString, RunTimeCost(kTenth, kOne),
       estimate::BytesToText, kFold},
      {"string", "double_to_string (double) -> string", ToString, kOne, estimate::Unit, kFold},
      {"string", "duration_to_string (duration) -> string", ToString, kOne, estimate::Unit, kFold},
      {"string", "int64_to_string (int) -> string", ToString, kOne, estimate::Unit, kFold},
      {"string", "timestamp_to_string (timestamp) -> string", ToString, kOne, estimate::Unit,
       kFold},
      {"string", "uint64_to_string (uint) -> string", ToString, kOne, estimate::Unit, kFold},
      {"timestamp", "timestamp_to_timestamp (timestamp) -> timestamp", ToTimestamp, kOne,
       estimate::Unit, kFold},
      {"timestamp", "int64_to_timestamp (int) -> timestamp", ToTimestamp, kOne, estimate::Unit,
       kFold},
      {"timestamp", "string_to_timestamp (string) -> timestamp", ToTimestamp, kOne, estimate::Unit,
       kFold},
      {"type", "type (A) -> type(A)", TypeFunction, kOne, estimate::Unit, kFold},
      {"uint", "uint64_to_uint64 (uint) -> uint", ToUint, kOne, estimate::Unit, kFold},
      {"uint", "double_to_uint64 (double) -> uint", ToUint, kOne, estimate::Unit, kFold},
      {"uint", "int64_to_uint64 (int) -> uint", ToUint, kOne, estimate::Unit, kFold},
      {"uint", "string_to_uint64 (string) -> uint", ToUint, kOne, estimate::Unit, kFold},
  });
  return kRows;
}

}  // namespace dray::cel
