// SPDX-License-Identifier: Apache-2.0
//
// The options of a request: read from its query and its body by the tables of
// rest/request_options.h, and checked, before anything else is done. Every verb gets its options
// here and nowhere else.
//
//   get                     GetOptions                query
//   list, watch             ListOptions               query
//   create, update, patch   WriteOptions              query
//   delete                  DeleteOptions             query and body
//   deletecollection        ListOptions               query
//                           DeleteOptions             query and body
//
// A value that cannot be read is a BadRequest, one that makes no sense an Invalid.
#pragma once

#include <vector>

#include "base/status.h"
#include "registry/internal/exchange.h"
#include "registry/negotiation.h"
#include "registry/registry.h"
#include "rest/decode.h"
#include "rest/request_options.h"

namespace dray::registry::internal {

// Go's rule for flags in a query: whatever is neither "0" nor "false" says yes.
bool IsYes(std::string_view text);

StatusOr<rest::GetOptions> GetOptionsOf(const Query& query);
// With the defaults of a watch. `watch` is what the request is, whatever its query says.
StatusOr<rest::ListOptions> ListOptionsOf(const Query& query, bool watch);

// A create, an update or a patch: who writes, and how.
struct Writing {
  WriteContext context;
  rest::FieldValidation validation = rest::FieldValidation::kWarn;
  bool force = false;
};
StatusOr<Writing> WritingOf(const Exchange& exchange, rest::WriteVerb verb);

// A deletion: of one object, of a collection, or by an eviction.
struct Deletion {
  WriteContext context;
  DeleteOptions options;
  bool orphan_said_no = false;  // orphanDependents=false: a deletion that waits answers 202
};
// From the query and the request's body.
StatusOr<Deletion> DeletionOf(const Exchange& exchange);
// From the query and the options inside of an Eviction; null: it has none.
StatusOr<Deletion> DeletionBy(const Exchange& exchange, const rest::DocumentNode* inner);

}  // namespace dray::registry::internal
