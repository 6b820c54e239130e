// SPDX-License-Identifier: Apache-2.0
#include "cel/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/hash/hash.h"
#include "absl/time/time.h"
#include "base/quantity.h"
#include "base/semver.h"
#include "base/status.h"
#include "base/time.h"
#include "cel/source.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr Error kNoSuchOverloadError{"no such overload"};
const ArrayList kEmptyList{{}};
const GrowingMap kEmptyMap;
const Optional kNone;

bool IsNumber(Kind kind) {
  return kind == Kind::kInt || kind == Kind::kUint || kind == Kind::kDouble;
}

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

Value EqualLists(const List& a, const List& b) {
  if (a.size() != b.size()) return Value::Bool(false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    // As in Kubernetes, elements that cannot be compared do not make lists different.
    if (Equal(a.At(i), b.At(i)).is_false()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value EqualMaps(const Map& a, const Map& b) {
  if (a.size() != b.size()) return Value::Bool(false);
  for (std::size_t i = 0; i < a.size(); ++i) {
    Value other;
    if (!b.Find(a.KeyAt(i), &other)) return Value::Bool(false);
    if (Equal(a.ValueAt(i), other).is_false()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

}  // namespace

void GrowingList::Append(Arena& arena, const Value& value) {
  if (size_ == capacity_) {
    const std::size_t capacity = std::max<std::size_t>(8, capacity_ * 2);
    Value* values = arena.NewArray<Value>(capacity).data();
    std::copy_n(values_, size_, values);
    values_ = values;
    capacity_ = capacity;
  }
  values_[size_++] = value;
}

std::optional<std::size_t> GrowingMap::IndexOf(const Value& key) const {
  if (!IsKeyKind(key.kind()) && !key.is(Kind::kDouble)) return std::nullopt;
  if (slots_ == nullptr) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (IsEqual(keys_[i], key)) return i;
    }
    return std::nullopt;
  }
  for (std::size_t at = HashKey(key) & (slot_count_ - 1); slots_[at] != 0;
       at = (at + 1) & (slot_count_ - 1)) {
    if (IsEqual(keys_[slots_[at] - 1], key)) return slots_[at] - 1;
  }
  return std::nullopt;
}

bool GrowingMap::Find(const Value& key, Value* value) const {
  const auto i = IndexOf(key);
  if (!i) return false;
  *value = values_[*i];
  return true;
}

void GrowingMap::Rehash(Arena& arena) {
  slot_count_ = 32;
  while (slot_count_ < capacity_ * 2) slot_count_ *= 2;
  slots_ = arena.NewArray<std::uint32_t>(slot_count_).data();
  for (std::size_t i = 0; i < size_; ++i) {
    std::size_t at = HashKey(keys_[i]) & (slot_count_ - 1);
    while (slots_[at] != 0) at = (at + 1) & (slot_count_ - 1);
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

bool GrowingMap::Insert(Arena& arena, const Value& key, const Value& value) {
  if (IndexOf(key)) return false;
  if (size_ == capacity_) {
    capacity_ = std::max<std::size_t>(8, capacity_ * 2);
    Value* keys = arena.NewArray<Value>(capacity_).data();
    Value* values = arena.NewArray<Value>(capacity_).data();
    std::copy_n(keys_, size_, keys);
    std::copy_n(values_, size_, values);
    keys_ = keys;
    values_ = values;
    if (capacity_ > 8) Rehash(arena);
  }
  keys_[size_] = key;
  values_[size_] = value;
  ++size_;
  if (slots_ != nullptr) {
    std::size_t at = HashKey(key) & (slot_count_ - 1);
    while (slots_[at] != 0) at = (at + 1) & (slot_count_ - 1);
    slots_[at] = static_cast<std::uint32_t>(size_);
  }
  return true;
}

bool GrowingMap::PutSameKind(Arena& arena, const Value& key, const Value& value) {
  const auto i = IndexOf(key);
  if (!i) return Insert(arena, key, value);
  if (keys_[*i].kind() != key.kind()) return false;
  values_[*i] = value;
  return true;
}

void GrowingMap::Erase(const Value& key) {
  const auto i = IndexOf(key);
  if (!i) return;
  std::copy(keys_ + *i + 1, keys_ + size_, keys_ + *i);
  std::copy(values_ + *i + 1, values_ + size_, values_ + *i);
  --size_;
  if (slots_ == nullptr) return;
  std::fill_n(slots_, slot_count_, 0);
  for (std::size_t k = 0; k < size_; ++k) {
    std::size_t at = HashKey(keys_[k]) & (slot_count_ - 1);
    while (slots_[at] != 0) at = (at + 1) & (slot_count_ - 1);
    slots_[at] = static_cast<std::uint32_t>(k + 1);
  }
}

Value EmptyList() { return Value::Pointer(Kind::kList, static_cast<const List*>(&kEmptyList)); }
Value EmptyMap() { return Value::Pointer(Kind::kMap, static_cast<const Map*>(&kEmptyMap)); }
Value NoneValue() { return Value::Pointer(Kind::kOptional, &kNone); }

Value WrapList(Arena& arena, std::span<const Value> values) {
  return Value::Pointer(Kind::kList, static_cast<const List*>(arena.New<ArrayList>(values)));
}
Value MakeList(Arena& arena, std::span<const Value> values) {
  std::span<Value> copy = arena.NewArray<Value>(values.size());
  std::ranges::copy(values, copy.begin());
  return WrapList(arena, copy);
}
Value MakeString(Arena& arena, std::string_view text) { return Value::String(arena.Copy(text)); }
Value MakeBytes(Arena& arena, std::string_view text) { return Value::Bytes(arena.Copy(text)); }
Value MakeError(Arena& arena, std::string_view message) {
  return Value::Pointer(Kind::kError, arena.New<Error>(Error{arena.Copy(message)}));
}
Value MakeOptional(Arena& arena, const Value& value) {
  return Value::Pointer(Kind::kOptional, arena.New<Optional>(Optional{true, value}));
}
Value MakeInstant(Arena& arena, Instant instant) {
  return Value::Pointer(Kind::kTimestamp, arena.New<Instant>(instant));
}

Value StaticError(const Error& error) { return Value::Pointer(Kind::kError, &error); }
Value NoSuchOverload() { return StaticError(kNoSuchOverloadError); }
Value UnmatchedCall() { return Value::Pointer(Kind::kError, nullptr); }
bool IsUnmatchedCall(const Value& value) { return value.is_error() && value.as_uint() == 0; }

std::string_view ErrorMessage(const Value& value) {
  return IsUnmatchedCall(value) ? kNoSuchOverloadError.message : value.as<Error>().message;
}

Value Equal(const Value& a, const Value& b) {
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
      return Value::Bool(a.as_text() == b.as_text());
    case Kind::kList:
      return EqualLists(a.as<List>(), b.as<List>());
    case Kind::kMap:
      return EqualMaps(a.as<Map>(), b.as<Map>());
    case Kind::kTimestamp:
      return Value::Bool(a.as<Instant>() == b.as<Instant>());
    case Kind::kOptional: {
      const Optional& x = a.as<Optional>();
      const Optional& y = b.as<Optional>();
      if (!x.present || !y.present) return Value::Bool(x.present == y.present);
      return Equal(x.value, y.value);
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
  if (IsNumber(a.kind()) && IsNumber(b.kind())) return CompareNumbers(a, b);
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

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kType:
      return "type";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kSemver:
      return "kubernetes.Semver";
    case Kind::kIp:
      return "net.IP";
    case Kind::kCidr:
      return "net.CIDR";
    case Kind::kUrl:
      return "kubernetes.URL";
    case Kind::kFormat:
      return "kubernetes.NamedFormat";
    case Kind::kError:
      return "error";
    case Kind::kHost:
      return value.as<Host>().type_name();
  }
  return "";
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "types.Null";
    case Kind::kBool:
      return "types.Bool";
    case Kind::kInt:
      return "types.Int";
    case Kind::kUint:
      return "types.Uint";
    case Kind::kDouble:
      return "types.Double";
    case Kind::kString:
      return "types.String";
    case Kind::kBytes:
      return "types.Bytes";
    case Kind::kDuration:
      return "types.Duration";
    case Kind::kTimestamp:
      return "types.Timestamp";
    case Kind::kOptional:
      return "*types.Optional";
    case Kind::kType:
      return "*types.Type";
    case Kind::kQuantity:
      return "cel.Quantity";
    case Kind::kSemver:
      return "cel.Semver";
    case Kind::kIp:
      return "cel.IP";
    case Kind::kCidr:
      return "cel.CIDR";
    case Kind::kUrl:
      return "cel.URL";
    case Kind::kFormat:
      return "cel.Format";
    default:
      return TypeName(value);
  }
}

std::size_t CodePoints(std::string_view text) {
  // Every byte that does not continue a character. Eight at a time: the high bit of each byte of
  // `continuing` is set for 10xxxxxx; the product adds them up. (The built-in for counting bits is
  // a call on processors that may not have the instruction.)
  const auto continuing = [](const char* at, std::size_t skip) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    word >>= 8 * skip;
    const std::uint64_t bits = word & ~(word << 1) & 0x8080808080808080U;
    return static_cast<std::size_t>(((bits >> 7) * 0x0101010101010101U) >> 56);
  };
  std::size_t n = text.size();
  const char* at = text.data();
  std::size_t left = text.size();
  if (std::endian::native == std::endian::little && left >= 8) {
    for (; left >= 8; left -= 8, at += 8) n -= continuing(at, 0);
    // The rest once more with bytes before it, which are shifted out.
    return left == 0 ? n : n - continuing(at + left - 8, 8 - left);
  }
  for (; left > 0; --left, ++at) {
    if ((static_cast<unsigned char>(*at) & 0xc0) == 0x80) --n;
  }
  return n;
}

std::string DoubleToString(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  if (d == 0) return std::signbit(d) ? "-0" : "0";
  // Go's shortest form: digits as few as tell the number apart, exponent outside [-4, 6).
  std::string shortest = fmt::format("{}", d);
  const bool negative = shortest[0] == '-';
  if (negative) shortest.erase(0, 1);
  int exponent = 0;
  if (const auto e = shortest.find('e'); e != std::string::npos) {
    exponent = std::atoi(shortest.c_str() + e + 1);
    shortest.resize(e);
  }
  std::string mantissa;
  int point = -1;
  for (const char c : shortest) {
    if (c == '.') {
      point = static_cast<int>(mantissa.size());
    } else {
      mantissa += c;
    }
  }
  if (point < 0) point = static_cast<int>(mantissa.size());
  point += exponent;
  std::size_t zeros = 0;
  while (zeros + 1 < mantissa.size() && mantissa[zeros] == '0') ++zeros;
  mantissa.erase(0, zeros);
  point -= static_cast<int>(zeros);
  while (mantissa.size() > 1 && mantissa.back() == '0') mantissa.pop_back();
  const int decimal_exponent = point - 1;
  const int count = static_cast<int>(mantissa.size());
  std::string out = negative ? "-" : "";
  if (decimal_exponent < -4 || decimal_exponent >= 6) {
    out += mantissa[0];
    if (count > 1) out += "." + mantissa.substr(1);
    out += fmt::format("e{}{:02}", decimal_exponent < 0 ? '-' : '+', std::abs(decimal_exponent));
    return out;
  }
  if (point <= 0) return out + "0." + std::string(static_cast<std::size_t>(-point), '0') + mantissa;
  if (count <= point)
    return out + mantissa + std::string(static_cast<std::size_t>(point - count), '0');
  return out + mantissa.substr(0, static_cast<std::size_t>(point)) + "." +
         mantissa.substr(static_cast<std::size_t>(point));
}

std::string DurationToString(std::int64_t nanos) {
  const bool negative = nanos < 0;
  const std::uint64_t magnitude =
      negative ? ~static_cast<std::uint64_t>(nanos) + 1 : static_cast<std::uint64_t>(nanos);
  std::string out = fmt::format("{}{}", negative ? "-" : "", magnitude / 1'000'000'000);
  if (const std::uint64_t rest = magnitude % 1'000'000'000; rest != 0) {
    std::string fraction = fmt::format("{:09}", rest);
    while (fraction.back() == '0') fraction.pop_back();
    out += "." + fraction;
  }
  return out + "s";
}

std::string InstantToString(const Instant& instant) {
  const absl::CivilSecond civil = absl::ToCivilSecond(
      absl::FromUnixSeconds(instant.seconds + instant.offset), absl::UTCTimeZone());
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", civil.year(), civil.month(),
                                civil.day(), civil.hour(), civil.minute(), civil.second());
  if (instant.nanos != 0) {
    std::string fraction = fmt::format("{:09}", instant.nanos);
    while (fraction.back() == '0') fraction.pop_back();
    out += "." + fraction;
  }
  if (instant.offset == 0) return out + "Z";
  const int minutes = std::abs(instant.offset) / 60;
  return out +
         fmt::format("{}{:02}:{:02}", instant.offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  const auto duration = base::ParseGoDuration(text);
  if (!duration.ok()) return std::nullopt;
  return duration->count();
}

std::optional<Instant> ParseInstant(std::string_view text) {
  const auto time = base::Time::ParseRfc3339(text);
  if (!time.ok()) return std::nullopt;
  Instant instant{time->seconds(), time->nanos()};
  if (instant.seconds < Instant::kMinSeconds || instant.seconds > Instant::kMaxSeconds) {
    return std::nullopt;
  }
  // The text is right, so one that does not end in Z ends in +hh:mm or -hh:mm.
  if (!text.ends_with('Z')) {
    const std::string_view zone = text.substr(text.size() - 6);
    const auto digits = [&](std::size_t at) {
      return (zone[at] - '0') * 10 + (zone[at + 1] - '0');
    };
    instant.offset = (digits(1) * 60 + digits(4)) * 60 * (zone[0] == '-' ? -1 : 1);
  }
  return instant;
}

std::string IpToString(const Ip& ip) {
  if (ip.v4) {
    return fmt::format("{}.{}.{}.{}", ip.bytes[0], ip.bytes[1], ip.bytes[2], ip.bytes[3]);
  }
  std::array<std::uint16_t, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) {
    groups[i] = static_cast<std::uint16_t>(ip.bytes[2 * i] << 8 | ip.bytes[2 * i + 1]);
  }
  std::size_t best = 8, best_length = 1;
  for (std::size_t i = 0; i < 8;) {
    std::size_t j = i;
    while (j < 8 && groups[j] == 0) ++j;
    if (j - i > best_length) {
      best = i;
      best_length = j - i;
    }
    i = std::max(j, i + 1);
  }
  std::string out;
  for (std::size_t i = 0; i < 8;) {
    if (i == best) {
      out += "::";
      i += best_length;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += fmt::format("{:x}", groups[i]);
    ++i;
  }
  return out;
}

std::string CidrToString(const Cidr& cidr) {
  return fmt::format("{}/{}", IpToString(cidr.address), cidr.length);
}

std::string QuoteGo(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t n = Utf8Length(text);
    if (n == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      text.remove_prefix(1);
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\v':
        out += "\\v";
        break;
      default:
        if (n == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += text.substr(0, n);
        }
    }
    text.remove_prefix(n);
  }
  return out + "\"";
}

std::string Printed(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kType:
      return std::string(value.as_text());
    case Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case Kind::kInt:
      return fmt::format("{}", value.as_int());
    case Kind::kUint:
      return fmt::format("{}", value.as_uint());
    case Kind::kDouble:
      return DoubleToString(value.as_double());
    case Kind::kNull:
      return "null";
    default:
      return ToDebugString(value);
  }
}

std::string ToDebugString(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case Kind::kInt:
      return fmt::format("{}", value.as_int());
    case Kind::kUint:
      return fmt::format("{}u", value.as_uint());
    case Kind::kDouble:
      return DoubleToString(value.as_double());
    case Kind::kString:
      return QuoteGo(value.as_text());
    case Kind::kBytes:
      return "b" + QuoteGo(value.as_text());
    case Kind::kList: {
      std::string out = "[";
      for (std::size_t i = 0; i < value.as<List>().size(); ++i) {
        if (i != 0) out += ", ";
        out += ToDebugString(value.as<List>().At(i));
      }
      return out + "]";
    }
    case Kind::kMap: {
      std::string out = "{";
      for (std::size_t i = 0; i < value.as<Map>().size(); ++i) {
        if (i != 0) out += ", ";
        out += ToDebugString(value.as<Map>().KeyAt(i)) + ": " +
               ToDebugString(value.as<Map>().ValueAt(i));
      }
      return out + "}";
    }
    case Kind::kType:
      return std::string(value.as_text());
    case Kind::kDuration:
      return fmt::format("duration(\"{}\")", DurationToString(value.as_int()));
    case Kind::kTimestamp:
      return fmt::format("timestamp(\"{}\")", InstantToString(value.as<Instant>()));
    case Kind::kOptional:
      if (!value.as<Optional>().present) return "optional.none()";
      return fmt::format("optional.of({})", ToDebugString(value.as<Optional>().value));
    case Kind::kQuantity:
      return fmt::format("quantity(\"{}\")", value.as<base::Quantity>().ToString());
    case Kind::kSemver:
      return fmt::format("semver(\"{}\")", value.as<base::SemVer>().ToString());
    case Kind::kIp:
      return fmt::format("ip(\"{}\")", IpToString(value.as<Ip>()));
    case Kind::kCidr:
      return fmt::format("cidr(\"{}\")", CidrToString(value.as<Cidr>()));
    case Kind::kUrl:
      return fmt::format("url({})", QuoteGo(value.as<Url>().printed));
    case Kind::kFormat:
      return fmt::format("format.{}()", value.as<Format>().name);
    case Kind::kError:
      return fmt::format("error({})", QuoteGo(ErrorMessage(value)));
    case Kind::kHost:
      return std::string(TypeName(value));
  }
  return "";
}

}  // namespace dray::cel
