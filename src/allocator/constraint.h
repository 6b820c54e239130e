// SPDX-License-Identifier: Apache-2.0
//
// ConstraintType: what a constraint of a claim demands of the devices that it covers. A type has no
// state of its own: State keeps what each constraint has accepted and takes the last device back,
// so a type is three questions about values and the words for it.
//
// To add a type: a source file with a class like those of match_constraint.cc and
// distinct_constraint.cc, and its row in constraint.cc. Deciding, explaining, bounds and the memory
// of failed states ask the type; none of them knows one by name.
//
// Spec: docs/spec/allocator.md 7.3; KEP-5491 and KEP-5075.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "inventory/dictionary.h"

namespace dray::allocator {

using inventory::ElementId;
using inventory::ValueId;

// What a constraint has accepted, beside the values themselves. Saved and restored by value.
struct ConstraintState {
  std::uint32_t devices = 0;
  // For types with a running set of elements: the elements of this value, which is the whole set;
  // or, when it is none, a range of State's elements.
  ValueId whole = ValueId::kNone;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// The devices that a constraint has accepted so far, as its type sees them.
struct Accepted {
  const inventory::Dictionary& dictionary;
  bool lists = false;  // values are compared as sets (DRAListTypeAttributes)
  const ConstraintState& state;
  std::span<const ValueId> values;  // of the devices, in the order in which they came
  const std::vector<ElementId>& elements;

  // The running set of elements.
  std::span<const ElementId> common() const {
    if (state.whole != ValueId::kNone) return dictionary.At(state.whole).elements;
    return std::span(elements).subspan(state.first, state.count);
  }
};

// What all sets of devices that a type accepts have in common. Bounds reason with this alone, so a
// type that promises nothing is never cut short by them, and never wrongly.
enum class Promise : std::uint8_t {
  kNothing,
  kCommonElement,     // some element is in the value of every device
  kDisjointElements,  // no element is in the values of two devices
};

// Immutable, without state; thread-safe.
class ConstraintType {
 public:
  // The field of a DeviceConstraint that asks for it: its name, for users too.
  virtual std::string_view field() const = 0;
  // The attribute that it is about; nothing: `constraint` is not of this type.
  virtual const std::optional<std::string>& AttributeOf(
      const api::DeviceConstraint& constraint) const = 0;

  // Whether a device with `value`, which is not none, fits beside what is accepted. If so, `next`
  // (a copy of the state) becomes what the constraint is with it; elements may be added at the end
  // of `arena`, which is the vector that `accepted` reads. Monotonic: what does not fit now does
  // not fit beside more devices either.
  virtual bool Accepts(const Accepted& accepted, ValueId value, ConstraintState& next,
                       std::vector<ElementId>& arena) const = 0;

  virtual Promise promise() const = 0;
  // For recognising states, with at least one device accepted: adds the elements on which the
  // future depends, in any order. Two states with the same such elements must accept the same
  // devices from now on. With kCommonElement these are the elements that can still be the common
  // one.
  virtual void AddDecisive(const Accepted& accepted, std::vector<ElementId>& elements) const = 0;

 protected:
  ~ConstraintType() = default;
};

extern const ConstraintType& kMatchAttribute;
extern const ConstraintType& kDistinctAttribute;

// Every type there is. One constraint may be of several, and then all of them hold.
std::span<const ConstraintType* const> ConstraintTypes();

}  // namespace dray::allocator
