// SPDX-License-Identifier: Apache-2.0
//
// The two PriorityClasses that every cluster has. Those of users end below them (kHighestUserPriority).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dray::api {

// What the class by that name is worth; nothing if it is none of the system's.
constexpr std::optional<std::int32_t> SystemPriority(std::string_view name) {
  if (name == "system-cluster-critical") return 2'000'000'000;
  if (name == "system-node-critical") return 2'000'001'000;
  return std::nullopt;
}

}  // namespace dray::api
