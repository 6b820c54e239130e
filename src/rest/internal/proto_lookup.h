// SPDX-License-Identifier: Apache-2.0
//
// The rows of proto_numbers.h, ready to be looked up in both directions.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "api/field_table.h"
#include "base/string_map.h"

namespace dray::rest::internal {

// What the body of a request or an answer begins with.
inline constexpr std::string_view kProtobufMagic("k8s\0", 4);

// The number of a field, or those of a message around it and of the field in there; that message
// has no place of its own in JSON. Inner is 0 when there is none.
using ProtoNumber = std::pair<std::uint32_t, std::uint32_t>;

struct ProtoFields {
  std::map<ProtoNumber, std::string_view> names;
  base::StringMap<ProtoNumber> numbers;
};

// Those of a struct that differs by version or group, else those that all share. Null: Kubernetes
// has no such message, or dray does not know it.
const ProtoFields* FindProtoFields(const api::StructInfo& info, std::string_view group,
                                   std::string_view version);

}  // namespace dray::rest::internal
