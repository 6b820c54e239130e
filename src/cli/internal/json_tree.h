// SPDX-License-Identifier: Apache-2.0
//
// JSON documents written down in code: what `-o json` prints.
#pragma once

#include "api/json_tree.h"

namespace dray::cli::internal {

// By name: other headers have words of their own.
using api::json::Bool;
using api::json::Entry;
using api::json::List;
using api::json::Map;
using api::json::Number;
using api::json::String;

}  // namespace dray::cli::internal
