// SPDX-License-Identifier: Apache-2.0
//
// For tests and benchmarks: devices as a table that has every distinct name and value once, the
// values ready for evaluation, and views on its rows. The smallest thing that uses all of what
// DeviceView allows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/resource_slice.h"
#include "cel/arena.h"
#include "cel/device_values.h"
#include "cel/device_view.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel {

// Filled by one thread, then read by any number.
class ColumnarDevices {
 public:
  struct Cell {
    std::uint32_t name = 0;
    std::uint32_t value = 0;
  };
  struct Row {
    std::string driver;
    std::uint32_t driver_value = 0;
    const api::Device* device = nullptr;
    std::uint32_t shared_value = 0;  // allowMultipleAllocations
    std::vector<Cell> cells;         // by name
    std::vector<Cell> parts[2];      // the same as the device has them, by DeviceView::Part
  };

  // The number of its row.
  std::size_t Add(std::string_view driver, const api::Device& device) {
    Row& row = rows_.emplace_back();
    row.driver = driver;
    row.device = &devices_.emplace_back(device);
    row.driver_value = ValueNumber(Value::String(row.driver));
    const ApiDeviceView view({}, row.driver, *row.device);
    row.shared_value = ValueNumber(Value::Bool(view.allow_multiple_allocations()));
    for (const auto part : {DeviceView::Part::kAttributes, DeviceView::Part::kCapacity}) {
      for (std::size_t i = 0; i < view.Count(part); ++i) {
        const Cell cell{NameNumber(part, view.NameAt(part, i)),
                        ValueNumber(view.ValueAt(part, i, arena_))};
        row.cells.push_back(cell);
        row.parts[static_cast<std::size_t>(part)].push_back(cell);
      }
    }
    std::ranges::sort(row.cells, {}, &Cell::name);
    return rows_.size() - 1;
  }

  const Row& row(std::size_t i) const { return rows_[i]; }
  const Value& value(std::uint32_t number) const { return values_[number]; }
  DeviceView::Name name(std::uint32_t number) const {
    const Name& name = *names_by_number_[number];
    return {std::get<1>(name), std::get<2>(name)};
  }
  // 0 when no device has it.
  std::uint32_t FindName(DeviceView::Part part, const DeviceView::Name& name) const {
    const auto it = names_.find(Name{part, name.domain, name.id});
    return it == names_.end() ? 0 : it->second;
  }

 private:
  using Name = std::tuple<DeviceView::Part, std::string, std::string>;

  std::uint32_t NameNumber(DeviceView::Part part, const DeviceView::Name& name) {
    const auto [it, added] = names_.emplace(Name{part, name.domain, name.id}, names_.size() + 1);
    if (added) names_by_number_.push_back(&it->first);
    return it->second;
  }
  std::uint32_t ValueNumber(const Value& value) {
    const std::string key = std::string(GoTypeName(value)) + ToDebugString(value);
    const auto [it, added] = numbers_.emplace(key, numbers_.size() + 1);
    if (added) values_.push_back(value);
    return it->second;
  }

  Arena arena_;
  std::deque<api::Device> devices_;
  std::deque<Row> rows_;
  std::map<Name, std::uint32_t> names_;
  std::vector<const Name*> names_by_number_{nullptr};
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<Value> values_{Value()};
};

// What a program reads, in the table's numbers: made once, used for every row.
class ColumnarBinding {
 public:
  ColumnarBinding(const Program& program, const ColumnarDevices& devices) {
    for (const DeviceRead& read : program.device_reads()) {
      const auto part = read.field == DeviceRead::Field::kCapacity ? DeviceView::Part::kCapacity
                                                                   : DeviceView::Part::kAttributes;
      reads_.push_back({read.field, devices.FindName(part, {read.domain, read.id})});
    }
  }

  struct Read {
    DeviceRead::Field field;
    std::uint32_t name;
  };
  std::span<const Read> reads() const { return reads_; }

 private:
  std::vector<Read> reads_;
};

class ColumnarView final : public DeviceView {
 public:
  ColumnarView(const ColumnarDevices& devices, const ColumnarBinding& binding, std::size_t row)
      : devices_(devices), reads_(binding.reads()), row_(devices.row(row)) {}

  Value Read(std::uint32_t read, Arena&) const override {
    if (reads_[read].field == DeviceRead::Field::kName) return Value::String(name());
    return devices_.value(Number(reads_[read]));
  }
  bool Project(std::span<std::uint32_t> numbers) const override {
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      if (reads_[i].field == DeviceRead::Field::kName) return false;
      numbers[i] = Number(reads_[i]);
    }
    return true;
  }

  std::string_view driver() const override { return row_.driver; }
  std::string_view name() const override { return row_.device->name; }
  bool allow_multiple_allocations() const override {
    return devices_.value(row_.shared_value).as_bool();
  }
  std::size_t Count(Part part) const override { return Cells(part).size(); }
  Name NameAt(Part part, std::size_t i) const override {
    return devices_.name(Cells(part)[i].name);
  }
  Value ValueAt(Part part, std::size_t i, Arena&) const override {
    return devices_.value(Cells(part)[i].value);
  }
  Value Find(Part part, const Name& name, Arena&) const override {
    return devices_.value(ValueOf(devices_.FindName(part, name)));
  }

 private:
  const std::vector<ColumnarDevices::Cell>& Cells(Part part) const {
    return row_.parts[static_cast<std::size_t>(part)];
  }
  std::uint32_t ValueOf(std::uint32_t name) const {
    for (const ColumnarDevices::Cell& cell : row_.cells) {
      if (cell.name == name) return cell.value;
    }
    return 0;
  }
  std::uint32_t Number(const ColumnarBinding::Read& read) const {
    switch (read.field) {
      case DeviceRead::Field::kDriver:
        return row_.driver_value;
      case DeviceRead::Field::kAllowMultipleAllocations:
        return row_.shared_value;
      default:
        return ValueOf(read.name);
    }
  }

  const ColumnarDevices& devices_;
  const std::span<const ColumnarBinding::Read> reads_;
  const ColumnarDevices::Row& row_;
};

}  // namespace dray::cel
