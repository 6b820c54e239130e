// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dray::cel {

// What a selector says of a device.
enum class Verdict : std::uint8_t { kNo, kYes, kError };

}  // namespace dray::cel
