// SPDX-License-Identifier: Apache-2.0
//
// Record: a struct of the API whose fields are named by a description (described_kinds.h), not by
// C++ members. For kinds that are stored and validated while nothing here works with them: a dozen
// of them cost no code and no compile time. Everything that walks objects by field tables
// (codecs, equality, patches, apply, protobuf, OpenAPI) treats them as it treats structs.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "api/field_table.h"
#include "api/values.h"

namespace dray::api {

// A value: copies are deep, equality looks inside. A field that nobody has set equals one that has
// its zero value, as a member of a struct would. Which C++ type a field has is for its table to
// know (SlotInfo): whoever reaches into a record does so through one. Thread-compatible.
class Record {
 public:
  Record() = default;
  Record(const Record& other);
  Record(Record&&) noexcept = default;
  Record& operator=(const Record& other);
  Record& operator=(Record&&) noexcept = default;
  ~Record();

  // Null: nobody has set it.
  const void* Find(std::size_t slot) const {
    return slot < slots_.size() && slots_[slot] ? slots_[slot]->content() : nullptr;
  }
  // Made when needed. Each slot is always asked for with the same type.
  template <typename T>
  T& At(std::size_t slot) {
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    if (!slots_[slot]) slots_[slot] = std::make_unique<Held<T>>();
    return *static_cast<T*>(const_cast<void*>(slots_[slot]->content()));
  }
  // As it is in another record of the same table; unset if it is unset there.
  void CopySlot(std::size_t slot, const Record& from);
  void Clear(std::size_t slot) {
    if (slot < slots_.size()) slots_[slot].reset();
  }

  UnknownFields unknown;
  friend bool operator==(const Record& a, const Record& b);

 private:
  struct Holder {
    virtual ~Holder() = default;
    virtual const void* content() const = 0;
    virtual std::unique_ptr<Holder> Copy() const = 0;
    virtual bool Equals(const void* content) const = 0;
    virtual bool IsZero() const = 0;
  };
  template <typename T>
  struct Held final : Holder {
    Held() = default;
    explicit Held(const T& v) : value(v) {}
    const void* content() const override { return &value; }
    std::unique_ptr<Holder> Copy() const override { return std::make_unique<Held<T>>(value); }
    bool Equals(const void* content) const override {
      return value == *static_cast<const T*>(content);
    }
    bool IsZero() const override { return value == T{}; }
    T value{};
  };

  std::vector<std::unique_ptr<Holder>> slots_;
};

// A record alone has no fields; the TypeInfo of a description says which it has.
const StructInfo& InfoOf(const Record*);

}  // namespace dray::api
