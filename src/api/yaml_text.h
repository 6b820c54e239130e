// SPDX-License-Identifier: Apache-2.0
//
// Trees as YAML text: what `-o yaml` prints. The way back is ParseYaml (document.h).
#pragma once

#include <string>

#include "api/document.h"

namespace dray::api {

// Block style with lists not indented, as kubectl writes it; members in their order. ParseYaml
// reads the same tree from it. Positions and styles are not looked at.
std::string ToYaml(const DocumentNode& node);

}  // namespace dray::api
