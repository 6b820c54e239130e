// SPDX-License-Identifier: Apache-2.0
//
// What slices, claims and taint rules share: taints, tolerations, binding conditions, operations
// that nodes skip.
#pragma once

#include <string>
#include <vector>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api::internal {

void ValidateTaint(Report& report, const Path& at, const DeviceTaint& taint);
void CheckTaintEffect(Report& report, const Path& at, const std::string& effect);
// Key and value alone: for a taint whose effect was stored by a version that knew it.
void CheckTaintKeyAndValue(Report& report, const Path& at, const DeviceTaint& taint);

void ValidateTolerations(Report& report, const Path& at,
                         const std::vector<DeviceToleration>& tolerations);

// `at` is the device or the allocation result that has the two lists.
void ValidateBindingConditions(Report& report, const Path& at,
                               const std::vector<std::string>& conditions,
                               const std::vector<std::string>& failures);

// `old`, where there is one, is not checked again word by word.
void ValidateSkipNodeOperations(Report& report, const Path& at,
                                const std::vector<std::string>& operations,
                                const std::vector<std::string>* old = nullptr);

}  // namespace dray::api::internal
