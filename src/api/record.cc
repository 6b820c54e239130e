// SPDX-License-Identifier: Apache-2.0
#include "api/record.h"

#include <algorithm>

namespace dray::api {

Record::Record(const Record& other) : unknown(other.unknown) {
  slots_.reserve(other.slots_.size());
  for (const auto& slot : other.slots_) slots_.push_back(slot ? slot->Copy() : nullptr);
}

Record& Record::operator=(const Record& other) {
  if (this != &other) *this = Record(other);
  return *this;
}

Record::~Record() = default;

void Record::CopySlot(std::size_t slot, const Record& from) {
  if (from.Find(slot) == nullptr) return Clear(slot);
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  slots_[slot] = from.slots_[slot]->Copy();
}

bool operator==(const Record& a, const Record& b) {
  const std::size_t n = std::max(a.slots_.size(), b.slots_.size());
  for (std::size_t i = 0; i < n; ++i) {
    const void* x = a.Find(i);
    const void* y = b.Find(i);
    if (x == nullptr && y == nullptr) continue;
    const bool same = x != nullptr && y != nullptr ? a.slots_[i]->Equals(y)
                      : x != nullptr               ? a.slots_[i]->IsZero()
                                                   : b.slots_[i]->IsZero();
    if (!same) return false;
  }
  return a.unknown == b.unknown;
}

namespace internal {

const void* FindInRecord(const void* record, const SlotInfo& slot) {
  const void* content = static_cast<const Record*>(record)->Find(slot.index);
  return content != nullptr ? content : slot.zero;
}

}  // namespace internal

const StructInfo& InfoOf(const Record*) {
  static const StructInfo info = Struct<Record>("Record", {});
  return info;
}

}  // namespace dray::api
