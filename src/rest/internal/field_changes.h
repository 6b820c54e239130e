// SPDX-License-Identifier: Apache-2.0
//
// Which fields a write changes: as compare.h says it, in trees that live as long as the write.
#pragma once

#include "api/kinds.h"
#include "rest/internal/field_tree.h"

namespace dray::rest::internal {

struct FieldChanges {
  const FieldTree* added = nullptr;
  const FieldTree* modified = nullptr;
  const FieldTree* removed = nullptr;

  bool none() const { return added == nullptr && modified == nullptr && removed == nullptr; }
};

// Of two objects of one kind, their managed fields aside: those are what follows from a change. The
// trees look at the objects, which outlive them.
FieldChanges Changes(Arena& arena, const api::Object& before, const api::Object& after);

}  // namespace dray::rest::internal
