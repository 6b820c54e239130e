// SPDX-License-Identifier: Apache-2.0
//
// JSON patch (RFC 6902) and JSON merge patch (RFC 7386).
#pragma once

#include <cstddef>

#include "base/status.h"
#include "rest/tree.h"

namespace dray::rest {

// As in Kubernetes: more is refused before anything is done.
inline constexpr std::size_t kMaxJsonPatchOperations = 10'000;
// Copying can double a document with each operation; a patch may add this much, and no more.
inline constexpr std::size_t kMaxPatchedNodes = 1'000'000;
// Of text that is copied, as in Kubernetes.
inline constexpr std::size_t kMaxCopiedBytes = 3u << 20;

// Of keys and items that are looked at and moved: an object may be wide, and the operations many.
inline constexpr std::size_t kMaxPatchWork = 100'000'000;

// Does the operations of `patch` on `document`, all or none. BadRequest for a patch that is not
// one, Unprocessable for an operation that cannot be done: it names the operation and its path.
Status ApplyJsonPatch(const DocumentNode& patch, DocumentNode& document);

// null removes, maps are merged, everything else is replaced.
void ApplyMergePatch(const DocumentNode& patch, DocumentNode& document);

}  // namespace dray::rest
