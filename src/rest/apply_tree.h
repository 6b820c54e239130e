// SPDX-License-Identifier: Apache-2.0
//
// The tree side of server-side apply: what a configuration asks for, joining it with an object, and
// taking fields away again.
#pragma once

#include "api/field_table.h"
#include "base/status.h"
#include "rest/field_set.h"
#include "rest/tree.h"

namespace dray::rest {

// The fields that a configuration sets. InvalidArgument for a list with an item twice or without
// any of its keys.
StatusOr<FieldSet> FieldsOf(const DocumentNode& config, const api::TypeInfo& type);

// The lists that a body writes though they have no items. The struct cannot tell them from unset
// ones where both are written as null, yet whoever wrote them manages them.
FieldSet EmptyListsOf(const DocumentNode& body, const api::TypeInfo& type);

// Takes out members that the tables do not know.
void DropUnknown(const api::TypeInfo& type, DocumentNode& config);

// Sets in `object` all that `config` says. Items of keyed lists are joined by key.
void MergeConfig(const DocumentNode& config, const api::TypeInfo& type, DocumentNode& object);

// Removes the fields of the set from `object`, those that are parents with all that they have.
void RemoveFields(const FieldSet& fields, const api::TypeInfo& type, DocumentNode& object);

// The set with every struct field that leads to one of its members: a struct is removed when
// nothing is left that anyone wants in it.
FieldSet WithParents(const FieldSet& fields, const api::TypeInfo& type);

}  // namespace dray::rest
