// SPDX-License-Identifier: Apache-2.0
//
// What kinds, structs and fields mean, in a sentence or two: the words of `kubectl explain`.
#pragma once

#include <string_view>

#include "api/field_table.h"

namespace dray::rest {

// Of a struct ("DeviceRequest") or a field of one ("DeviceRequest.name"). Empty when nobody has
// written one; a test sees to it that every field of every served kind has.
std::string_view DescriptionOf(std::string_view name);
// What the tables of `api` say themselves, else as above.
std::string_view DescriptionOf(const api::StructInfo& info);
std::string_view DescriptionOf(const api::StructInfo& info, const api::FieldInfo& field);

}  // namespace dray::rest
