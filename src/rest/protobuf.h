// SPDX-License-Identifier: Apache-2.0
//
// Bodies in Kubernetes's protobuf: what kubectl and other typed clients send when they write. They
// are read into a tree as JSON would be; answers are JSON, which the same clients accept.
//
// Spec: k8s.io/apimachinery's runtime.Unknown around the object; field numbers in
// internal/proto_numbers.cc.
#pragma once

#include <string>
#include <string_view>

#include "api/field_table.h"
#include "base/status.h"
#include "rest/tree.h"

namespace dray::rest {

inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";

// The object inside, with apiVersion and kind as the envelope says. `type` is what it is read as;
// `group` and `version` choose between structs that differ. InvalidArgument says what is wrong;
// fields that dray keeps as raw JSON cannot come this way and are named.
StatusOr<DocumentNode> ReadProtobuf(std::string_view body, const api::TypeInfo& type,
                                    std::string_view group, std::string_view version);

}  // namespace dray::rest
