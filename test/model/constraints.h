// SPDX-License-Identifier: Apache-2.0
//
// matchAttribute and distinctAttribute.
// Spec: docs/spec/allocator.md 7.2 and 7.3; KEP-5491 for lists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::model {

// Whether the constraint speaks of a (sub)request; `sub` is empty for a plain request.
bool Covers(const api::DeviceConstraint& constraint, std::string_view request,
            std::string_view sub);

// The device's own attribute of that name, or null.
const api::DeviceAttribute* FindAttribute(const api::Device& device, std::string_view driver,
                                          std::string_view name);

// Whether a further value may join those that are there already. With `lists` values are sets,
// without it only scalars can be compared.
bool Matches(const std::vector<api::DeviceAttribute>& earlier, const api::DeviceAttribute& value,
             bool lists);
bool IsDistinct(const std::vector<api::DeviceAttribute>& earlier, const api::DeviceAttribute& value,
                bool lists);

}  // namespace dray::model
