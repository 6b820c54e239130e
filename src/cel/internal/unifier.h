// SPDX-License-Identifier: Apache-2.0
//
// Which types fit where, and what type parameters stand for. As cel-go's checker decides it: dyn
// fits everywhere, a parameter takes the first type it meets and becomes more general when it meets
// a more general one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cel/type.h"

namespace dray::cel::internal {

// One thread.
class Unifier {
 public:
  // Types are made in `pool`, which must outlive the unifier.
  explicit Unifier(TypePool& pool) : pool_(pool) {}

  // A parameter that stands for nothing yet.
  Type NewTypeParam();
  // A declared type with its parameters 0, 1 ... replaced by those from `base` on.
  Type Instantiate(Type declared, std::uint32_t base);
  // The number that the next new parameter gets; reserves `count`.
  std::uint32_t Reserve(std::uint32_t count);

  // Whether a value of type `from` may go where `to` is wanted. If so, what parameters stand for is
  // remembered; if not, nothing changes.
  bool Assign(Type from, Type to);
  bool AssignAll(std::span<const Type> from, std::span<const Type> to);

  // Whether types grew so large that it gave up: answers since then are wrong. Without this bound
  // a short expression could take exponential time.
  bool gave_up() const { return work_ > kMaxWork; }

  // The type with all that is known put in. Parameters that stand for nothing stay.
  Type Resolve(Type type);
  // The same, and they become dyn.
  Type ResolveOrDyn(Type type);

 private:
  // Steps; an expression of 10 KiB takes some ten thousand.
  static constexpr std::uint32_t kMaxWork = 1'000'000;

  struct Binding {
    Type type;
    bool bound = false;
  };
  struct Undo {
    std::uint32_t index;
    Binding before;
  };

  bool Fits(Type from, Type to);
  bool FitsAll(std::span<const Type> from, std::span<const Type> to);
  // Whether `param` may stand for `type`, and whether it stood for something before.
  struct Substitution {
    bool valid = false;
    bool was_bound = false;
  };
  Substitution Substitute(Type type, Type param);
  bool OccursIn(Type param, Type type);
  bool Work() { return ++work_ <= kMaxWork; }
  void Bind(Type param, Type type);
  void RollBack(std::size_t mark);
  Type Resolve(Type type, bool open_to_dyn);

  TypePool& pool_;
  std::vector<Binding> bindings_;  // by parameter
  std::vector<Undo> trail_;
  std::uint32_t work_ = 0;
};

// Whether null may go where the type is wanted.
bool TakesNull(Type type);

// The more general of two types that fit each other.
Type MostGeneral(Type a, Type b);

}  // namespace dray::cel::internal
