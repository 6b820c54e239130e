// SPDX-License-Identifier: Apache-2.0
//
// Who manages which fields of an object (metadata.managedFields): kept up to date by every write,
// and what server-side apply decides by.
//
// Spec: KEP-555. Entries are per manager, operation and subresource; updates of one manager in
// another API version have an entry of their own.
#pragma once

#include <cstddef>
#include <string>

#include "api/kinds.h"
#include "base/status.h"
#include "base/time.h"
#include "rest/field_set.h"
#include "rest/tree.h"

namespace dray::rest {

// Beyond so many updaters the oldest share one entry.
inline constexpr std::size_t kMaxUpdateManagers = 10;

// Who writes, and through which door.
struct FieldOwner {
  std::string manager;      // empty: "unknown"
  std::string api_version;  // of the request
  std::string subresource;  // "status"; empty: the object itself
  base::Time now;
  FieldSet written_empty = {};  // EmptyListsOf the body of a create
  // Of a kind that somebody has defined: what its fields are (room crd), and whether its status has a
  // door of its own.
  const api::TypeInfo* fields = nullptr;
  bool status_part = false;
};

// Whether an object brings the one entry, with nothing in it, that clears them all.
bool AsksForReset(const api::Object& object);

// After a create (`before` is EmptyObject) or an update: what changed belongs to the owner, and to
// nobody else. `after` may bring entries itself, which are then the ones that are adjusted. An
// object whose entries were cleared stays without until somebody applies it.
void TrackUpdate(const api::Object& before, const FieldOwner& owner, api::Object& after);

struct ApplyOptions {
  FieldOwner owner;
  bool force = false;  // take fields over from others
};

// Server-side apply of a configuration in the version `version`: sets what it says, removes what
// the manager had set before and nobody wants any longer. The object comes back in that version,
// without defaults, its managed fields done. `live` is null when there is none yet. What the door
// that was used cannot change is left out: the status, or everything else.
//
// BadRequest for a configuration that is not an object of that version; Unprocessable for lists
// whose items cannot be told apart; Conflict, with all conflicts as causes, for fields that others
// manage with another value.
StatusOr<api::Object> Apply(const api::Object* live, DocumentNode config,
                            const api::KindInfo& version, const ApplyOptions& options);

}  // namespace dray::rest
