// SPDX-License-Identifier: Apache-2.0
//
// For whom a kubelet may have tokens of the accounts of its pods: for whom their volumes want some.
// Whoever takes over a node must not get tokens for services that its pods have nothing to do with.
//
// Spec: Kubernetes's NodeRestriction with ServiceAccountNodeAudienceRestriction.
#pragma once

#include "api/kinds.h"
#include "api/pod.h"
#include "base/status.h"
#include "registry/account_tokens.h"
#include "registry/objects.h"

namespace dray::registry::internal {

// The pod is on the node of the wish.
Status CheckAudiences(const Objects& objects, const TokenWish& wish, const api::Object& account,
                      const api::Pod& pod);

}  // namespace dray::registry::internal
