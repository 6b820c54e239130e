// SPDX-License-Identifier: Apache-2.0
//
// Making values: containers that grow, constructors, errors.
#include "cel/values.h"

#include <algorithm>

namespace dray::cel {
namespace {

constexpr Error kNoSuchOverloadError{"no such overload"};
const ArrayList kEmptyList{{}};
const GrowingMap kEmptyMap;
const Optional kNone;

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
  Work work;  // keys are no lists; whoever looks for a long text has spent it
  if (!IsKeyKind(key.kind()) && !key.is(Kind::kDouble)) return std::nullopt;
  if (slots_ == nullptr) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (IsEqual(work, keys_[i], key)) return i;
    }
    return std::nullopt;
  }
  for (std::size_t at = HashKey(key) & (slot_count_ - 1); slots_[at] != 0;
       at = (at + 1) & (slot_count_ - 1)) {
    if (IsEqual(work, keys_[slots_[at] - 1], key)) return slots_[at] - 1;
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

Value Host::Call(std::string_view, Arena&, std::span<const Value>) const { return UnmatchedCall(); }

bool IsUnmatchedCall(const Value& value) { return value.is_error() && value.as_uint() == 0; }

std::string_view ErrorMessage(const Value& value) {
  return IsUnmatchedCall(value) ? kNoSuchOverloadError.message : value.as<Error>().message;
}

}  // namespace dray::cel
