// SPDX-License-Identifier: Apache-2.0
//
// Which values are equal, which come first, and which are keys.
#include <cmath>

#include "absl/hash/hash.h"
#include "base/quantity.h"
#include "base/semver.h"
#include "cel/bounds.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

int Sign(auto a, auto b) { return a < b ? -1 : (b < a ? 1 : 0); }

int CompareIntUint(std::int64_t a, std::uint64_t b) {
  return a < 0 ? -1 : Sign(static_cast<std::uint64_t>(a), b);
}

// As in Kubernetes, a whole number near the ends of its range is compared as the double next to it.
// NaN orders after everything here, so that no comparison with it is an equality.
int CompareDoubleInt(double d, std::int64_t i) {
  if (std::isnan(d)) return 1;
  if (d < -9223372036854775808.0) return -1;
  if (d > 9223372036854775808.0) return 1;
  return Sign(d, static_cast<double>(i));
}

int CompareDoubleUint(double d, std::uint64_t u) {
  if (std::isnan(d)) return 1;
  if (d < 0) return -1;
  if (d > 18446744073709551616.0) return 1;
  return Sign(d, static_cast<double>(u));
}

int CompareNumbers(const Value& a, const Value& b) {
  switch (a.kind()) {
    case Kind::kInt:
      if (b.is(Kind::kInt)) return Sign(a.as_int(), b.as_int());
      if (b.is(Kind::kUint)) return CompareIntUint(a.as_int(), b.as_uint());
      return std::isnan(b.as_double()) ? 1 : -CompareDoubleInt(b.as_double(), a.as_int());
    case Kind::kUint:
      if (b.is(Kind::kInt)) return -CompareIntUint(b.as_int(), a.as_uint());
      if (b.is(Kind::kUint)) return Sign(a.as_uint(), b.as_uint());
      return std::isnan(b.as_double()) ? 1 : -CompareDoubleUint(b.as_double(), a.as_uint());
    default:
      if (b.is(Kind::kInt)) return CompareDoubleInt(a.as_double(), b.as_int());
      if (b.is(Kind::kUint)) return CompareDoubleUint(a.as_double(), b.as_uint());
      if (std::isnan(a.as_double()) || std::isnan(b.as_double())) return 1;
      return Sign(a.as_double(), b.as_double());
  }
}

bool IsNan(const Value& value) { return value.is(Kind::kDouble) && std::isnan(value.as_double()); }

Value EqualLists(Work& work, const List& a, const List& b) {
  if (a.size() != b.size()) return Value::Bool(false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!work.Spend(1)) return StaticError(kWorkExceeded);
    // As in Kubernetes, elements that cannot be compared do not make lists different.
    if (Equal(work, a.At(i), b.At(i)).is_false()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value EqualMaps(Work& work, const Map& a, const Map& b) {
  if (a.size() != b.size()) return Value::Bool(false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!work.Spend(1)) return StaticError(kWorkExceeded);
    Value other;
    if (!b.Find(a.KeyAt(i), &other)) return Value::Bool(false);
    if (Equal(work, a.ValueAt(i), other).is_false()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

}  // namespace

Value Equal(Work& work, const Value& a, const Value& b) {
  if (a.is(Kind::kNull) || b.is(Kind::kNull)) return Value::Bool(a.kind() == b.kind());
  if (a.kind() != b.kind()) {
    if (IsNumber(a.kind()) && IsNumber(b.kind())) return Value::Bool(CompareNumbers(a, b) == 0);
    switch (a.kind()) {
      case Kind::kQuantity:
      case Kind::kSemver:
      case Kind::kIp:
      case Kind::kCidr:
      case Kind::kUrl:
      case Kind::kFormat:
        return NoSuchOverload();
      default:
        return Value::Bool(false);
    }
  }
  switch (a.kind()) {
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kBool:
    case Kind::kDuration:
      return Value::Bool(a.as_uint() == b.as_uint());
    case Kind::kDouble:
      return Value::Bool(a.as_double() == b.as_double());
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType:
      work.SpendText(a.as_text());
      return Value::Bool(a.as_text() == b.as_text());
    case Kind::kList:
      if (!IsBounded(work, a)) return TooLarge();
      return EqualLists(work, a.as<List>(), b.as<List>());
    case Kind::kMap:
      if (!IsBounded(work, a)) return TooLarge();
      return EqualMaps(work, a.as<Map>(), b.as<Map>());
    case Kind::kTimestamp:
      return Value::Bool(a.as<Instant>() == b.as<Instant>());
    case Kind::kOptional: {
      const Optional& x = a.as<Optional>();
      const Optional& y = b.as<Optional>();
      if (!x.present || !y.present) return Value::Bool(x.present == y.present);
      return Equal(work, x.value, y.value);
    }
    case Kind::kQuantity:
      if (b.tag() != 0) return NoSuchOverload();
      return Value::Bool(a.as<base::Quantity>() == b.as<base::Quantity>());
    case Kind::kSemver:
      return Value::Bool(a.as<base::SemVer>() == b.as<base::SemVer>());
    case Kind::kIp:
      return Value::Bool(a.as<Ip>() == b.as<Ip>());
    case Kind::kCidr:
      return Value::Bool(a.as<Cidr>() == b.as<Cidr>());
    case Kind::kUrl:
      return Value::Bool(a.as<Url>().printed == b.as<Url>().printed);
    case Kind::kFormat:
      return Value::Bool(a.as<Format>().title == b.as<Format>().title);
    case Kind::kHost:
      return Value::Bool(a.as_uint() == b.as_uint());
    default:
      return NoSuchOverload();
  }
}

std::optional<int> Compare(const Value& a, const Value& b) {
  if (IsNumber(a.kind()) && IsNumber(b.kind())) {
    if (IsNan(a) || IsNan(b)) return std::nullopt;
    return CompareNumbers(a, b);
  }
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case Kind::kBool:
      return Sign(a.as_uint(), b.as_uint());
    case Kind::kDuration:
      return Sign(a.as_int(), b.as_int());
    case Kind::kString:
    case Kind::kBytes:
      return Sign(a.as_text().compare(b.as_text()), 0);
    case Kind::kTimestamp:
      return Sign(a.as<Instant>(), b.as<Instant>());
    default:
      return std::nullopt;
  }
}

bool IsNumber(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble;
}

bool IsKeyKind(Kind kind) {
  return kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kString;
}

std::size_t HashKey(const Value& key) {
  switch (key.kind()) {
    case Kind::kString: {
      const std::string_view text = key.as_text();
      return absl::HashOf(absl::string_view(text.data(), text.size()));
    }
    case Kind::kDouble: {
      const double d = key.as_double();
      if (d >= -9223372036854775808.0 && d < 9223372036854775808.0 && d == std::floor(d)) {
        return absl::HashOf(static_cast<std::uint64_t>(static_cast<std::int64_t>(d)));
      }
      if (d >= 0 && d < 18446744073709551616.0) return absl::HashOf(static_cast<std::uint64_t>(d));
      return 0;
    }
    default:
      return absl::HashOf(key.as_uint());
  }
}

}  // namespace dray::cel
