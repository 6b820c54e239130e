// SPDX-License-Identifier: Apache-2.0
//
// The status of a definition: which of its names nobody else has, and whether its objects are served.
#pragma once

#include <span>
#include <string>

#include "base/time.h"
#include "crd/definition.h"

namespace dray::crd {

inline constexpr std::string_view kNamesAccepted = "NamesAccepted";
inline constexpr std::string_view kEstablished = "Established";
inline constexpr std::string_view kTerminating = "Terminating";

// Fills in status.conditions (NamesAccepted, Established; Terminating of one that is deleted),
// acceptedNames and storedVersions of a definition's JSON, as they follow from it and from the other
// definitions of its group. Changes nothing when nothing follows that is not there.
void SetDefinitionStatus(DocumentNode& object, std::span<const Definition> others, base::Time now);

}  // namespace dray::crd
