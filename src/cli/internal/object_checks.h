// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with one object, as a server would find it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/errors.h"
#include "cli/manifests.h"
#include "cli/validate.h"

namespace dray::cli::internal {

// Whoever asked knows the positions.
struct Fault {
  api::Diagnostic diagnostic;
  std::string value;  // the refused value; a rule about a map's keys has the key here
};

std::vector<Fault> CheckObject(const api::Object& object, const ValidateOptions& options);

// Fields that are set while their feature gate is off: the server would drop them. Those that it
// would reject instead are validation's (ValidateOptions::kubernetes_only: there are none).
std::vector<api::Diagnostic> CheckGatedFields(const api::Object& object,
                                              const ValidateOptions& options);

// A refused value as it was written: without the quotes of a message.
std::string Unquoted(std::string_view shown);

// What was probably meant by a value that validation refused; empty when nothing comes to mind.
std::string HintFor(const api::FieldError& error, const api::Object& object);

}  // namespace dray::cli::internal
