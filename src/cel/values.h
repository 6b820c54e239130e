// SPDX-License-Identifier: Apache-2.0
//
// What values are made of, and what holds for all of them: equality, order, names, printing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "cel/arena.h"
#include "cel/value.h"

namespace dray::cel {

using base::CodePoints;

// Years 1 to 9999; nanos in [0, 10^9).
struct Instant {
  static constexpr std::int64_t kMinSeconds = -62135596800;
  static constexpr std::int64_t kMaxSeconds = 253402300799;

  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  std::int32_t offset = 0;  // of the zone it was written in, seconds; only for printing
  friend bool operator==(const Instant& a, const Instant& b) {
    return a.seconds == b.seconds && a.nanos == b.nanos;
  }
  friend bool operator<(const Instant& a, const Instant& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.nanos < b.nanos;
  }
};

struct Optional {
  bool present = false;
  Value value;
};

struct Ip {
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 address has four, in front
  bool v4 = false;
  std::size_t size() const { return v4 ? 4 : 16; }
  friend bool operator==(const Ip&, const Ip&) = default;
};

struct Cidr {
  Ip address;
  int length = 0;
  friend bool operator==(const Cidr&, const Cidr&) = default;
};

// A URL's parts, each as Go's net/url gives it.
struct Url {
  std::string_view printed;
  std::string_view scheme;
  std::string_view host;
  std::string_view escaped_path;
  std::string_view raw_query;
};

// A named format: format.dns1123Label().
struct Format {
  std::string_view name;   // as in format.named(name)
  std::string_view title;  // as Kubernetes prints it
  int regex_size = 0;      // what validate() costs by
  std::vector<std::string> (*validate)(std::string_view) = nullptr;
};

struct Error {
  std::string_view message;
};

// A list over an array that lies elsewhere.
class ArrayList final : public List {
 public:
  explicit ArrayList(std::span<const Value> values) : values_(values) {}
  std::size_t size() const override { return values_.size(); }
  Value At(std::size_t i) const override { return values_[i]; }

 private:
  std::span<const Value> values_;
};

// A list that a loop appends to. Its array grows by doubling, in the arena.
class GrowingList final : public List {
 public:
  std::size_t size() const override { return size_; }
  Value At(std::size_t i) const override { return values_[i]; }
  void Append(Arena& arena, const Value& value);

 private:
  Value* values_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// A map in the order in which keys came. Small ones are searched, larger ones hashed.
class GrowingMap final : public Map {
 public:
  std::size_t size() const override { return size_; }
  bool Find(const Value& key, Value* value) const override;
  Value KeyAt(std::size_t i) const override { return keys_[i]; }
  Value ValueAt(std::size_t i) const override { return values_[i]; }
  // False when the key is there already; the map is then unchanged.
  bool Insert(Arena& arena, const Value& key, const Value& value);
  // For literals: a key that comes again replaces its value, unless it has another kind (1 and
  // 1u): then false.
  bool PutSameKind(Arena& arena, const Value& key, const Value& value);
  void Erase(const Value& key);

 private:
  std::optional<std::size_t> IndexOf(const Value& key) const;
  void Rehash(Arena& arena);

  Value* keys_ = nullptr;
  Value* values_ = nullptr;
  std::uint32_t* slots_ = nullptr;  // index + 1, or 0
  std::size_t slot_count_ = 0;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

Value EmptyList();
Value EmptyMap();
Value NoneValue();

Value MakeList(Arena& arena, std::span<const Value> values);
// `values` lies in the arena already.
Value WrapList(Arena& arena, std::span<const Value> values);
Value MakeString(Arena& arena, std::string_view text);
Value MakeBytes(Arena& arena, std::string_view text);
Value MakeError(Arena& arena, std::string_view message);
Value MakeOptional(Arena& arena, const Value& value);
Value MakeInstant(Arena& arena, Instant instant);

// An error that needs no memory. `message` must be static.
Value StaticError(const Error& error);
// "no such overload".
Value NoSuchOverload();
// What a function returns when none of its overloads takes the arguments: the evaluator, who knows
// the name, makes the message "no such overload: f(int, string)".
Value UnmatchedCall();
bool IsUnmatchedCall(const Value& value);

std::string_view ErrorMessage(const Value& value);

// a == b. Values of different kinds are unequal, but numbers compare across kinds. A Kubernetes
// value on the left of something else is an error, "no such overload"; and so is a sum of
// quantities on the right (docs/spec/cel.md chapters 2 and 6).
// Lists and maps spend what they look at; an error when there is no work left.
Value Equal(Work& work, const Value& a, const Value& b);
inline bool IsEqual(Work& work, const Value& a, const Value& b) {
  return Equal(work, a, b).is_true();
}

// -1, 0, 1; nothing if there is no order between the two: NaN has none.
std::optional<int> Compare(const Value& a, const Value& b);

// Of a map key: equal keys have equal hashes, numbers of any kind.
std::size_t HashKey(const Value& key);
bool IsKeyKind(Kind kind);
// int, uint and double.
bool IsNumber(Kind kind);

// The language's name of a value's type: "int", "google.protobuf.Timestamp", "kubernetes.Semver".
std::string_view TypeName(const Value& value);

// The name that the value's type has inside Kubernetes, as its messages have it: "types.Int".
std::string_view GoTypeName(const Value& value);

// Go's %v, as error messages have keys.
std::string Printed(const Value& value);
// Like JSON, for people: {"a": [1, 2u, b"x"]}.
std::string ToDebugString(const Value& value);

// Text forms, as string() gives them.
std::string DoubleToString(double d);
// Without an exponent, however many zeros that takes. `d` is finite.
std::string DoubleToDecimal(double d);
std::string DurationToString(std::int64_t nanos);
std::string InstantToString(const Instant& instant);
std::string IpToString(const Ip& ip);
std::string CidrToString(const Cidr& cidr);
std::optional<std::int64_t> ParseDuration(std::string_view text);
std::optional<Instant> ParseInstant(std::string_view text);
// strconv.Quote
std::string QuoteGo(std::string_view text);

}  // namespace dray::cel
