// SPDX-License-Identifier: Apache-2.0
//
// The messages of fields that dray keeps as JSON: probes, security contexts, sources of volumes. In
// protobuf they are messages like any other, which can only be read by who knows their numbers.
//
// Spec: generated.proto of Kubernetes's core/v1 and batch/v1.
#pragma once

#include <string_view>

#include "api/field_table.h"
#include "api/kinds.h"

namespace dray::rest::internal {

// The message of a raw field of a struct; null when nobody has described it. A field in it that is
// not optional is left out of JSON when it is zero, as Go's omitempty has it.
const api::StructInfo* FindRawMessage(std::string_view message, std::string_view field);

// All of them, as fields of one.
const api::KindInfo& RawMessages();

}  // namespace dray::rest::internal
