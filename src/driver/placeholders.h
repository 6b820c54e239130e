// SPDX-License-Identifier: Apache-2.0
//
// Placeholders in the edits of a device file: what a container gets may tell which claim it is for.
// Pure.
//
//   ${claim.uid} ${claim.name} ${claim.namespace} ${request} ${device} ${pool} ${share}
//   ${capacity.memory}   what the claim was given of a capacity, in the API's form: 2Gi
//   $$                   a dollar sign
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "cdi/spec.h"
#include "driver/claim_view.h"

namespace dray::driver {

// InvalidArgument: one means nothing, and which there are.
Status CheckPlaceholders(const cdi::ContainerEdits& edits);

// In every text of the edits. What the claim does not have (no share, no such capacity) is empty.
cdi::ContainerEdits Fill(const cdi::ContainerEdits& edits, const ClaimView& claim,
                         const AllocatedDevice& device);

// What containers get of a device whose entry says nothing: Kubernetes's tests look for these.
// claim_<claim>_<request>=true, and user_<key>, admin_<key> for each parameter of the claim and the
// class. InvalidArgument: parameters that are no object of strings.
StatusOr<cdi::ContainerEdits> DefaultEdits(const ClaimView& claim, const AllocatedDevice& device);

}  // namespace dray::driver
