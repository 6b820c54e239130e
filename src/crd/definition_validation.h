// SPDX-License-Identifier: Apache-2.0
//
// Whether a CustomResourceDefinition may be stored: names, group, versions, schemas, columns. In
// Kubernetes's words and places: what all versions say alike it reports as of the whole
// (spec.validation).
#pragma once

#include <functional>
#include <string_view>

#include "api/errors.h"
#include "crd/definition.h"

namespace dray::crd {

// `old`: what is stored, for an update. `is_built_in` says of a group that the server has kinds of
// its own in it, where nobody else can define some.
api::ErrorList CheckDefinition(const Definition& definition, const Definition* old,
                               const std::function<bool(std::string_view)>& is_built_in);

// Members of schemas that no schema has, as strict decoding names them; and takes them out of the
// object.
std::vector<std::string> DropUnknownSchemaFields(DocumentNode& object);

}  // namespace dray::crd
