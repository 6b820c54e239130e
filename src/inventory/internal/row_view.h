// SPDX-License-Identifier: Apache-2.0
//
// A device's row as an expression sees it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cel/device_view.h"
#include "cel/program.h"
#include "inventory/dictionary.h"
#include "inventory/slice_table.h"

namespace dray::inventory::internal {

// What a program reads, in a dictionary's numbers. Made once, used for every row. Thread-safe.
class BoundReads {
 public:
  // Names that no device has yet become known: one may come.
  BoundReads(const cel::Program& program, std::shared_ptr<Dictionary> dictionary);

  std::size_t size() const { return reads_.size(); }
  cel::DeviceRead::Field field(std::size_t read) const { return reads_[read].field; }
  // A number for each thing read, in the program's order; 0 is for what the row does not have.
  void Project(const SliceTable& slice, const DeviceRow& row,
               std::span<std::uint32_t> numbers) const;

 private:
  struct Read {
    cel::DeviceRead::Field field = cel::DeviceRead::Field::kDriver;
    NameId domain;
    NameId id;
    NameId qualified;
  };
  Pins names_;
  std::vector<Read> reads_;
};

// The numbers of one row. Most programs read few things. One thread.
class Projection {
 public:
  explicit Projection(std::size_t size) : size_(size) {
    if (size > inline_.size()) many_.resize(size);
  }
  std::span<std::uint32_t> numbers() {
    return many_.empty() ? std::span(inline_).first(size_) : std::span(many_);
  }

 private:
  std::size_t size_;
  std::array<std::uint32_t, 8> inline_;
  std::vector<std::uint32_t> many_;
};

// All arguments outlive the view. `numbers` are the row's projection. `by_key`: names are listed in
// their order, for programs that walk over maps; otherwise in any. Thread-safe.
class RowView final : public cel::DeviceView {
 public:
  RowView(const BoundReads& reads, std::span<const std::uint32_t> numbers,
          const Dictionary& dictionary, const SliceTable& slice, const DeviceRow& row, bool by_key);

  cel::Value Read(std::uint32_t read, cel::Arena& arena) const override;
  std::string_view driver() const override { return dictionary_.View(slice_.driver()); }
  std::string_view name() const override { return dictionary_.View(row_.name); }
  bool allow_multiple_allocations() const override { return row_.allow_multiple_allocations; }
  std::size_t Count(Part part) const override;
  Name NameAt(Part part, std::size_t i) const override;
  cel::Value ValueAt(Part part, std::size_t i, cel::Arena& arena) const override;
  cel::Value Find(Part part, const Name& name, cel::Arena& arena) const override;

 private:
  std::string_view KeyAt(Part part, std::size_t i) const;
  const AttributeEntry& AttributeAt(std::size_t i) const;

  const BoundReads& reads_;
  const std::span<const std::uint32_t> numbers_;
  const Dictionary& dictionary_;
  const SliceTable& slice_;
  const DeviceRow& row_;
  std::vector<std::uint32_t> order_;  // of attributes, by key; capacities are in that order
};

}  // namespace dray::inventory::internal
