// SPDX-License-Identifier: Apache-2.0
//
// Parts of the page about a claim.
#pragma once

#include "api/resource_claim.h"
#include "fleet/fleet_json.h"
#include "fleet/internal/claim_values.h"
#include "fleet/json.h"

namespace dray::fleet::internal {

// "steps": created, allocated, reserved, prepared, released.
void WriteSteps(JsonOut& out, const api::ResourceClaim& claim, const ClaimNews& news);
// "constraints": whether they hold of what it has got, and with which values.
void WriteConstraints(JsonOut& out, const api::ResourceClaim& claim, ClaimValues& values);

}  // namespace dray::fleet::internal
