// SPDX-License-Identifier: Apache-2.0
//
// How messages name an object: Pod "ns/name", Node "name".
#pragma once

#include <string>
#include <string_view>

#include "api/kinds.h"

namespace dray::api {

std::string ShownName(const KindInfo& kind, std::string_view namespace_, std::string_view name);
std::string ShownName(const Object& object);

}  // namespace dray::api
