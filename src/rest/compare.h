// SPDX-License-Identifier: Apache-2.0
//
// Which fields differ between two versions of an object, in terms of field managers.
//
// Works on the structs, not on JSON: every write of every object passes here.
#pragma once

#include "api/field_table.h"
#include "api/kinds.h"
#include "rest/field_set.h"

namespace dray::rest {

struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;

  bool same() const { return added.empty() && modified.empty() && removed.empty(); }
};

// A part that comes or goes as a whole counts itself and all fields in it. Fields that `omitempty`
// leaves out are not there.
Comparison Compare(const api::TypeInfo& type, const void* before, const void* after);

// The same of two objects of one kind. The paths are the hub's; other versions of a kind have the
// same ones down to where values have one owner.
inline Comparison Compare(const api::Object& before, const api::Object& after) {
  return Compare(*after.kind().hub, before.data(), after.data());
}

// An object of the kind with nothing set: what a new one is compared with.
api::Object EmptyObject(const api::KindInfo& kind);

}  // namespace dray::rest
