// SPDX-License-Identifier: Apache-2.0
//
// Objects of kinds that somebody has defined, as trees and back.
#pragma once

#include "api/kinds.h"
#include "base/status.h"
#include "rest/tree.h"

namespace dray::rest {

// With apiVersion and kind in the given version, and metadata.
DocumentNode TreeOfObject(const api::Object& object, const api::KindInfo& version);

// The object that a tree is; apiVersion and kind are not looked at. BadRequest when its metadata
// cannot be read. `unknown` gets the fields of metadata that nobody knows, which are left out.
StatusOr<api::Object> CustomFromTree(const DocumentNode& tree, const api::KindInfo& version,
                                     std::vector<std::string>* unknown = nullptr);

// Everything but the metadata becomes what the tree says.
void SetContent(api::Object& object, const DocumentNode& tree);

}  // namespace dray::rest
