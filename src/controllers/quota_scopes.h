// SPDX-License-Identifier: Apache-2.0
//
// Which pods a quota with scopes counts.
#pragma once

#include "api/pod.h"
#include "api/resource_quota.h"

namespace dray::controllers {

bool HasScopes(const api::ResourceQuotaSpec& quota);
// Whether all scopes of the quota fit the pod. A scope that is not known fits none.
bool InScope(const api::ResourceQuotaSpec& quota, const api::Pod& pod);

}  // namespace dray::controllers
