// SPDX-License-Identifier: Apache-2.0
//
// What was probably meant by a field that does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/field_table.h"

namespace dray::api::internal {

// `parents` are the structs around the field, outermost first; the last one was asked for `name`
// and has no such field. Knows slips that people make with these APIs, fields that live one level
// deeper or higher, and typing errors. Empty when nothing is close.
std::string HintForUnknownField(std::span<const StructInfo* const> parents, std::string_view name);

}  // namespace dray::api::internal
