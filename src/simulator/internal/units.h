// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/scenario.h"

namespace dray::simulator::internal {

// Three digits, or what is not zero of hours, minutes and seconds: 12.3µs, 4.56ms, 12m30s, 2h.
std::string ShortTime(Duration time);
// 12.3%
std::string Percent(double share);
// Parts of devices: "12", "12.5".
std::string Devices(std::int64_t parts);

}  // namespace dray::simulator::internal
