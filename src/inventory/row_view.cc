// SPDX-License-Identifier: Apache-2.0
#include "inventory/internal/row_view.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace dray::inventory::internal {
namespace {

using Field = cel::DeviceRead::Field;

ValueId NumberOf(const AttributeEntry& entry) { return entry.value; }
CapacityId NumberOf(const CapacityEntry& entry) { return entry.capacity; }

// A device has few entries, so that a walk beats a search.
template <typename Entry>
std::uint32_t FindNumber(std::span<const Entry> entries, NameId name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return static_cast<std::uint32_t>(NumberOf(entry));
  }
  return 0;
}

// A name without domain is in the driver's.
template <typename Entry>
std::uint32_t FindNumber(std::span<const Entry> entries, bool of_driver, NameId bare,
                         NameId qualified) {
  std::uint32_t number = of_driver ? FindNumber(entries, bare) : 0;
  if (number == 0) number = FindNumber(entries, qualified);
  return number;
}

// Numbers for things that have none of their own; 0 stays free.
std::uint32_t NumberOf(NameId name) { return name.id() + 1; }
std::uint32_t NumberOf(bool flag) { return flag ? 2 : 1; }

}  // namespace

BoundReads::BoundReads(const cel::Program& program, std::shared_ptr<Dictionary> dictionary)
    : names_(std::move(dictionary)) {
  for (const cel::DeviceRead& read : program.device_reads()) {
    Read& bound = reads_.emplace_back();
    bound.field = read.field;
    if (read.field != Field::kAttribute && read.field != Field::kCapacity) continue;
    bound.domain = names_.Intern(read.domain.view());
    bound.id = names_.Intern(read.id.view());
    bound.qualified = names_.Intern(read.qualified.view());
  }
}

void BoundReads::Project(const SliceTable& slice, const DeviceRow& row,
                         std::span<std::uint32_t> numbers) const {
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    const Read& read = reads_[i];
    const bool of_driver = read.domain == slice.driver();
    switch (read.field) {
      case Field::kAttribute:
        numbers[i] = FindNumber(slice.attributes(row), of_driver, read.id, read.qualified);
        break;
      case Field::kCapacity:
        numbers[i] = FindNumber(slice.capacities(row), of_driver, read.id, read.qualified);
        break;
      case Field::kDriver:
        numbers[i] = NumberOf(slice.driver());
        break;
      case Field::kName:
        numbers[i] = NumberOf(row.name);
        break;
      case Field::kAllowMultipleAllocations:
        numbers[i] = NumberOf(static_cast<bool>(row.allow_multiple_allocations));
        break;
    }
  }
}

RowView::RowView(const BoundReads& reads, std::span<const std::uint32_t> numbers,
                 const Dictionary& dictionary, const SliceTable& slice, const DeviceRow& row,
                 bool by_key)
    : reads_(reads), numbers_(numbers), dictionary_(dictionary), slice_(slice), row_(row) {
  if (!by_key) return;
  order_.resize(row.attributes);
  std::iota(order_.begin(), order_.end(), 0);
  const auto entries = slice.attributes(row);
  std::ranges::sort(order_, {}, [&](std::uint32_t i) { return dictionary.View(entries[i].name); });
}

cel::Value RowView::Read(std::uint32_t read, cel::Arena&) const {
  switch (reads_.field(read)) {
    case Field::kAttribute:
      if (numbers_[read] == 0) return {};
      return dictionary_.At(ValueId{numbers_[read]}).value;
    case Field::kCapacity:
      if (numbers_[read] == 0) return {};
      return dictionary_.At(CapacityId{numbers_[read]}).value;
    case Field::kDriver:
      return cel::Value::String(driver());
    case Field::kName:
      return cel::Value::String(name());
    case Field::kAllowMultipleAllocations:
      return cel::Value::Bool(row_.allow_multiple_allocations);
  }
  return {};
}

std::size_t RowView::Count(Part part) const {
  return part == Part::kAttributes ? row_.attributes : row_.capacities;
}

const AttributeEntry& RowView::AttributeAt(std::size_t i) const {
  return slice_.attributes(row_)[order_.empty() ? i : order_[i]];
}

std::string_view RowView::KeyAt(Part part, std::size_t i) const {
  return dictionary_.View(part == Part::kAttributes ? AttributeAt(i).name
                                                    : slice_.capacities(row_)[i].name);
}

cel::DeviceView::Name RowView::NameAt(Part part, std::size_t i) const {
  const std::string_view key = KeyAt(part, i);
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {driver(), key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

cel::Value RowView::ValueAt(Part part, std::size_t i, cel::Arena&) const {
  return part == Part::kAttributes ? dictionary_.At(AttributeAt(i).value).value
                                   : dictionary_.At(slice_.capacities(row_)[i].capacity).value;
}

cel::Value RowView::Find(Part part, const Name& name, cel::Arena& arena) const {
  // Of a bare and a qualified key that mean the same the bare one counts, as in Read.
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < Count(part); ++i) {
    if (NameAt(part, i) != name) continue;
    found = i;
    if (KeyAt(part, i).find('/') == std::string_view::npos) break;
  }
  return found.has_value() ? ValueAt(part, *found, arena) : cel::Value();
}

}  // namespace dray::inventory::internal
