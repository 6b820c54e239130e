// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace dray::rest::internal {

struct ProtoNumbers {
  std::string_view name;    // of the struct
  std::string_view fields;  // "name=1 spec=2"
};

std::span<const ProtoNumbers> AllProtoNumbers();

}  // namespace dray::rest::internal
