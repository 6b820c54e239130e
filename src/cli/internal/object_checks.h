// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with one object, as a server would find it.
#pragma once

#include <vector>

#include "api/document.h"
#include "api/errors.h"
#include "cli/manifests.h"
#include "cli/validate.h"

namespace dray::cli::internal {

// Paths and texts; whoever asked knows the positions.
std::vector<api::Diagnostic> CheckObject(const api::Object& object, const ValidateOptions& options);

// Fields that are set while their feature gate is off: the server would drop them.
std::vector<api::Diagnostic> CheckGatedFields(const api::Object& object,
                                              const api::FeatureGates& gates);

// What was probably meant by a value that validation refused; empty when nothing comes to mind.
std::string HintFor(const api::FieldError& error, const api::Object& object);

}  // namespace dray::cli::internal
