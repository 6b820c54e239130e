// SPDX-License-Identifier: Apache-2.0
//
// How long something is, as kubectl prints ages.
#pragma once

#include <cstdint>
#include <string>

namespace dray::base {

// "45s", "9m30s", "2h", "3d4h": the larger, the coarser. "<invalid>" below minus one second.
std::string HumanDuration(std::int64_t seconds);

}  // namespace dray::base
