// SPDX-License-Identifier: Apache-2.0
//
// Strategic merge patch: a merge patch that knows the API. Items of lists that have a key are
// merged by it, and directives say what a value alone cannot:
//
//   $patch: replace | delete         in a map: the whole map; in an item of a list: see there
//   $retainKeys: [a, b]              the map keeps no other keys
//   $deleteFromPrimitiveList/x: [v]  removes values from the list x
//   $setElementOrder/x: [...]        the order of the list x after the merge
//
// Which lists have which key is in the field tables. Spec: Kubernetes's "Strategic Merge Patch"
// pages and k8s.io/apimachinery/pkg/util/strategicpatch for what they leave open.
#pragma once

#include "api/field_table.h"
#include "base/status.h"
#include "rest/tree.h"

namespace dray::rest {

// `type` is that of the document. BadRequest for a patch whose directives make no sense,
// Unprocessable for an item without its key. On an error the document is unspecified.
Status ApplyStrategicMerge(const DocumentNode& patch, const api::TypeInfo& type,
                           DocumentNode& document);

}  // namespace dray::rest
