// SPDX-License-Identifier: Apache-2.0
//
// What a schema does to values before anybody looks whether they are valid: fields that it does not
// name are taken out, values that are missing get their defaults.
//
// Trees are whole objects (with apiVersion, kind and metadata, which schemas do not rule over) or
// the values of a field. Keys are unique in them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "crd/schema.h"

namespace dray::crd {

// Whether the tree is a whole object: what every object has stays, whatever the schema names.
enum class Whole : bool { kNo, kYes };

// Takes out members that the schema does not name. Idempotent. `pruned` gets their paths, in order,
// at most `kMaxPrunedPaths`: a.b[0].c
inline constexpr std::size_t kMaxPrunedPaths = 100;
void Prune(const Schema& schema, Whole whole, DocumentNode& tree,
           std::vector<std::string>* pruned = nullptr);

// Fills in defaults: of members that are missing, and of nulls where there may be none. Nulls that
// may not be and have no default are taken out first. Idempotent.
//
// At most kMaxDefaults bytes: an object with more is larger than any that is stored, and is refused
// for that, but not before there is room for it.
inline constexpr std::size_t kMaxDefaults = 16u << 20;
void SetDefaults(const Schema& schema, DocumentNode& tree);

}  // namespace dray::crd
