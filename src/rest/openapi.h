// SPDX-License-Identifier: Apache-2.0
//
// OpenAPI documents, made from the field tables: what `kubectl explain` shows and what clients look
// up before they patch.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest/served_kinds.h"
#include "rest/tree.h"

namespace dray::rest {

// /openapi/v3: which documents there are.
std::string OpenApiV3RootJson(const ServedKinds& kinds = ServedKinds::BuiltIn());
// /openapi/v3/api/v1, /openapi/v3/apis/{group}/{version}; nothing for a version that is not served.
std::optional<std::string> OpenApiV3Json(std::string_view group, std::string_view version,
                                         const ServedKinds& kinds = ServedKinds::BuiltIn());
// /openapi/v2: everything in one.
std::string OpenApiV2Json(const ServedKinds& kinds = ServedKinds::BuiltIn());
DocumentNode OpenApiV2Document(const ServedKinds& kinds = ServedKinds::BuiltIn());
// The same as a message of gnostic's openapi.v2, the only form in which kubectl takes it.
std::string OpenApiV2Protobuf(const ServedKinds& kinds = ServedKinds::BuiltIn());
// What such an answer is called. Clients ask for it with an @ before the last version, which is in no
// media type that Go's parser takes back: Kubernetes answers with a dot.
inline constexpr std::string_view kOpenApiV2ProtobufType =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
bool AsksForOpenApiV2Protobuf(std::string_view accept);

}  // namespace dray::rest
