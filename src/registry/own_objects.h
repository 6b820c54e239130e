// SPDX-License-Identifier: Apache-2.0
//
// What a role's rules cannot say because it depends on the object: a node writes what is its own, a
// driver what is of its name. Checked in every attempt of every write, whatever the verb.
//
// Spec: Kubernetes's NodeRestriction admission and KEP-4817, with their texts.
#pragma once

#include "api/authorization.h"
#include "api/kinds.h"
#include "base/status.h"

namespace dray::registry {

// `old` is null for a create, `next` for a deletion. Users that are neither nodes nor drivers pass.
Status CheckOwn(const api::UserInfo& user, const api::Object* next, const api::Object* old);

}  // namespace dray::registry
