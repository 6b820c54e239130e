// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/unifier.h"

#include <algorithm>
#include <array>

#include "absl/container/inlined_vector.h"

namespace dray::cel::internal {
namespace {

bool IsWildcard(Type type) { return type.IsDyn() || type.is(TypeKind::kError); }

}  // namespace

bool TakesNull(Type type) {
  if (type.IsWrapper()) return true;
  switch (type.kind()) {
    case TypeKind::kNull:
    case TypeKind::kOpaque:
    case TypeKind::kObject:
    case TypeKind::kDuration:
    case TypeKind::kTimestamp:
      return true;
    default:
      return false;
  }
}

namespace {

// Whether `a` is `b` or the same with dyn in some places.
bool IsEqualOrMoreGeneral(Type a, Type b) {
  if (a.IsDyn() || a.is(TypeKind::kTypeParam)) return true;
  if (b.IsDyn() || b.is(TypeKind::kTypeParam) || a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return a.name() == b.name() &&
             std::ranges::equal(a.params(), b.params(), IsEqualOrMoreGeneral);
    case TypeKind::kType:
      return true;
    default:
      return a == b;
  }
}

}  // namespace

Type MostGeneral(Type a, Type b) { return IsEqualOrMoreGeneral(a, b) ? a : b; }

Type Unifier::NewTypeParam() { return pool_.TypeParam(Reserve(1)); }

std::uint32_t Unifier::Reserve(std::uint32_t count) {
  const auto base = static_cast<std::uint32_t>(bindings_.size());
  bindings_.resize(base + count);
  return base;
}

Type Unifier::Instantiate(Type declared, std::uint32_t base) {
  if (!declared.HasTypeParams()) return declared;
  if (declared.is(TypeKind::kTypeParam)) return pool_.TypeParam(base + declared.index());
  absl::InlinedVector<Type, 2> params;
  for (const Type param : declared.params()) params.push_back(Instantiate(param, base));
  return pool_.WithParams(declared, params);
}

bool Unifier::Assign(Type from, Type to) { return AssignAll({&from, 1}, {&to, 1}); }

bool Unifier::AssignAll(std::span<const Type> from, std::span<const Type> to) {
  const std::size_t mark = trail_.size();
  if (FitsAll(from, to)) return true;
  RollBack(mark);
  return false;
}

bool Unifier::FitsAll(std::span<const Type> from, std::span<const Type> to) {
  return std::ranges::equal(from, to, [this](Type a, Type b) { return Fits(a, b); });
}

bool Unifier::Fits(Type from, Type to) {
  if (!Work()) return false;
  if (to.is(TypeKind::kTypeParam)) {
    const Substitution forward = Substitute(from, to);
    if (forward.valid) return true;
    if (forward.was_bound) return false;
  }
  if (from.is(TypeKind::kTypeParam)) return Substitute(to, from).valid;

  if (IsWildcard(from) || IsWildcard(to)) return true;
  if (from.is(TypeKind::kNull)) return TakesNull(to);
  if (to.is(TypeKind::kNull)) return TakesNull(from);
  switch (from.kind()) {
    case TypeKind::kType:
      return to.is(TypeKind::kType);
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      return from.kind() == to.kind() && from.name() == to.name() &&
             FitsAll(from.params(), to.params());
    default:
      return from == to;
  }
}

Unifier::Substitution Unifier::Substitute(Type type, Type param) {
  if (type == param) return {.valid = true, .was_bound = true};
  if (bindings_[param.index()].bound) {
    const Type bound = bindings_[param.index()].type;
    if (type == bound) return {.valid = true, .was_bound = true};
    if (!Fits(type, bound)) return {.valid = false, .was_bound = true};
    const Type general = MostGeneral(type, bound);
    if (!OccursIn(param, general)) Bind(param, general);
    return {.valid = true, .was_bound = true};
  }
  if (OccursIn(param, type)) return {};
  Bind(param, type);
  return {.valid = true, .was_bound = false};
}

bool Unifier::OccursIn(Type param, Type type) {
  if (!Work()) return true;
  if (param == type) return true;
  if (type.is(TypeKind::kTypeParam)) {
    const Binding& binding = bindings_[type.index()];
    return binding.bound && OccursIn(param, binding.type);
  }
  return type.HasTypeParams() &&
         std::ranges::any_of(type.params(), [&](Type part) { return OccursIn(param, part); });
}

void Unifier::Bind(Type param, Type type) {
  Binding& binding = bindings_[param.index()];
  trail_.push_back({param.index(), binding});
  binding = {type, true};
}

void Unifier::RollBack(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    bindings_[trail_.back().index] = trail_.back().before;
  }
}

Type Unifier::Resolve(Type type) { return Resolve(type, false); }
Type Unifier::ResolveOrDyn(Type type) { return Resolve(type, true); }

Type Unifier::Resolve(Type type, bool open_to_dyn) {
  if (!type.HasTypeParams()) return type;
  if (!Work()) return Type::Error();
  if (type.is(TypeKind::kTypeParam)) {
    const Binding& binding = bindings_[type.index()];
    if (binding.bound) return Resolve(binding.type, open_to_dyn);
    return open_to_dyn ? Type::Dyn() : type;
  }
  absl::InlinedVector<Type, 2> params;
  for (const Type param : type.params()) params.push_back(Resolve(param, open_to_dyn));
  return pool_.WithParams(type, params);
}

}  // namespace dray::cel::internal
