// SPDX-License-Identifier: Apache-2.0
//
// A device as an evaluation asks for it. An expression's paths like device.attributes["d"].x are
// numbered when its program is built (Program::device_reads), so a view can be bound to a program
// once and then answer each number without looking at names.
//
// Spec: docs/spec/cel.md chapter 2.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text.h"
#include "cel/arena.h"
#include "cel/value.h"

namespace dray::cel {

// One thing that an expression reads of `device`.
struct DeviceRead {
  enum class Field : std::uint8_t {
    kAttribute,
    kCapacity,
    kDriver,
    kName,
    kAllowMultipleAllocations,
  };
  Field field = Field::kDriver;
  // Of attributes and capacities; neither has a slash, which separates the two in a device's name.
  base::Text domain;
  base::Text id;
  // "domain/id": what the device calls it, unless the domain is its driver's.
  base::Text qualified;
  friend bool operator==(const DeviceRead&, const DeviceRead&) = default;
};

// Reads are those of one program, by their number there; asking with another program's numbers is a
// mistake of the caller. What a view returns lives as long as the view's device and the arena.
// Implementations: ApiDeviceView over a decoded object; a table of devices has its own, whose
// values were made when the table was. Thread-safe while const, if the arenas differ.
class DeviceView {
 public:
  enum class Part : std::uint8_t { kAttributes, kCapacity };
  struct Name {
    std::string_view domain;
    std::string_view id;
    friend auto operator<=>(const Name&, const Name&) = default;
  };

  // Null when the device has no such thing: no attribute is null. An error when what it has is no
  // value, like a version that does not parse.
  virtual Value Read(std::uint32_t read, Arena& arena) const = 0;

  // Numbers for what Read would give, one for each of the program's reads: devices of equal numbers
  // have equal values, 0 is for what is not there. False: this view has no such numbers.
  virtual bool Project(std::span<std::uint32_t> numbers) const;

  // For expressions that use `device` in another way than by reads, and for messages.
  virtual std::string_view driver() const = 0;
  virtual std::string_view name() const = 0;
  virtual bool allow_multiple_allocations() const = 0;
  // The names in an order of the view's; 0 <= i < Count.
  virtual std::size_t Count(Part part) const = 0;
  virtual Name NameAt(Part part, std::size_t i) const = 0;
  virtual Value ValueAt(Part part, std::size_t i, Arena& arena) const = 0;
  // Null when there is none.
  virtual Value Find(Part part, const Name& name, Arena& arena) const = 0;

 protected:
  ~DeviceView() = default;  // never deleted through this
};

// The variable `device` as an object with maps, for one evaluation. Lies in the arena.
Value MakeDeviceObject(const DeviceView& view, Arena& arena);

}  // namespace dray::cel
