// SPDX-License-Identifier: Apache-2.0
//
// Value: what an expression computes with. 16 bytes, trivially copyable, owns nothing: texts,
// lists, maps and library values lie in the program's constants, in what the evaluation was given
// (a device's columns), or in its Arena, and live at least as long as the evaluation.
//
// An error is a value: 1/0 > 0 && false is false, so an error has to travel until something absorbs
// it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dray::base {
class Quantity;
class SemVer;
}  // namespace dray::base

namespace dray::cel {

enum class Kind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,  // UTF-8, not terminated
  kBytes,
  kList,
  kMap,
  kType,       // a type as a value: its name
  kDuration,   // nanoseconds in as_int()
  kTimestamp,  // Instant
  kOptional,
  kQuantity,
  kSemver,
  kIp,
  kCidr,
  kUrl,
  kFormat,  // a named format
  kError,
  kHost,  // an object of the embedding application (`device`)
};

class Arena;
class Value;
class List;
class Map;
class Host;
struct Instant;   // seconds and nanoseconds since 1970, within CEL's range
struct Optional;  // a Value or none
struct Ip;
struct Cidr;
struct Url;
struct Format;
struct Error;

class Value {
 public:
  Value() = default;  // null
  static Value Null() { return {}; }
  static Value Bool(bool b) { return Value(Kind::kBool, 0, static_cast<std::uint64_t>(b)); }
  static Value Int(std::int64_t i) { return Value(Kind::kInt, 0, static_cast<std::uint64_t>(i)); }
  static Value Uint(std::uint64_t u) { return Value(Kind::kUint, 0, u); }
  static Value Double(double d) {
    return Value(Kind::kDouble, 0, __builtin_bit_cast(std::uint64_t, d));
  }
  static Value Duration(std::int64_t nanos) {
    return Value(Kind::kDuration, 0, static_cast<std::uint64_t>(nanos));
  }
  // The characters stay where they are.
  static Value String(std::string_view text) { return Text(Kind::kString, text); }
  static Value Bytes(std::string_view bytes) { return Text(Kind::kBytes, bytes); }
  static Value Type(std::string_view name) { return Text(Kind::kType, name); }
  // `tag` is what the kind makes of it; see tag().
  static Value Pointer(Kind kind, const void* object, std::uint32_t tag = 0) {
    return Value(kind, tag, reinterpret_cast<std::uintptr_t>(object));
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_true() const { return kind_ == Kind::kBool && payload_ != 0; }
  bool is_false() const { return kind_ == Kind::kBool && payload_ == 0; }

  // Each only of its kind.
  bool as_bool() const { return payload_ != 0; }
  std::int64_t as_int() const { return static_cast<std::int64_t>(payload_); }
  std::uint64_t as_uint() const { return payload_; }
  double as_double() const { return __builtin_bit_cast(double, payload_); }
  std::string_view as_text() const { return {reinterpret_cast<const char*>(payload_), size_}; }
  // Of a quantity: 1 when it is a sum or difference (values.h, Equal).
  std::uint32_t tag() const { return size_; }
  template <typename T>
  const T& as() const {
    return *reinterpret_cast<const T*>(payload_);
  }

 private:
  Value(Kind kind, std::uint32_t size, std::uint64_t payload)
      : kind_(kind), size_(size), payload_(payload) {}
  static Value Text(Kind kind, std::string_view text) {
    return Value(kind, static_cast<std::uint32_t>(text.size()),
                 reinterpret_cast<std::uintptr_t>(text.data()));
  }

  Kind kind_ = Kind::kNull;
  std::uint32_t size_ = 0;  // of texts
  std::uint64_t payload_ = 0;
};
static_assert(sizeof(Value) == 16);

// A list. Most are an array of values; the interface lets a device's columns be one without being
// copied.
class List {
 public:
  virtual std::size_t size() const = 0;
  virtual Value At(std::size_t i) const = 0;

 protected:
  ~List() = default;  // in an arena or owned by its type; never deleted through this
};

// A map with unique keys under CEL's equality; keys are bool, int, uint or string. Iteration order
// is fixed for one map.
class Map {
 public:
  virtual std::size_t size() const = 0;
  virtual bool Find(const Value& key, Value* value) const = 0;
  // What an index or a selection sees for a key that Find does not have: nothing in an ordinary
  // map; the device's outer maps give an empty map.
  virtual bool FindOrDefault(const Value& key, Value* value) const { return Find(key, value); }
  virtual Value KeyAt(std::size_t i) const = 0;
  virtual Value ValueAt(std::size_t i) const = 0;

 protected:
  ~Map() = default;
};

// An object with fields that the application defines.
class Host {
 public:
  virtual std::string_view type_name() const = 0;
  // False: no such field.
  virtual bool Select(std::string_view field, Value* value) const = 0;
  // A function that is declared with it as the receiver, which `args` begin with. UnmatchedCall()
  // of values.h: none of its own.
  virtual Value Call(std::string_view function, Arena& arena, std::span<const Value> args) const;

 protected:
  ~Host() = default;
};

}  // namespace dray::cel
