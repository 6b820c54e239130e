// SPDX-License-Identifier: Apache-2.0
//
// What a text of feature gates does beyond its words: gates that go off because one that they
// depend on does, which whoever rolls a feature back by one gate is told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"

namespace dray::api {

// A sentence for each gate that `base` has on, `text` does not name, and FeatureGates::Parse(text,
// base) switched off because it needs another. Nothing for a text that cannot be parsed.
std::vector<std::string> GateNotes(std::string_view text, const FeatureGates& base);

}  // namespace dray::api
