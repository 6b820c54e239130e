// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/scenario.h"

namespace dray::simulator::internal {

// Three digits: 12.3µs, 4.56ms, 7.89s, 12m30s.
std::string ShortTime(Duration time);
// 12.3%
std::string Percent(double share);
// Parts of devices: "12", "12.5".
std::string Devices(std::int64_t parts);

}  // namespace dray::simulator::internal
