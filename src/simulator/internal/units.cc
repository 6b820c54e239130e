// SPDX-License-Identifier: Apache-2.0
#include "simulator/internal/units.h"

#include <chrono>

#include "fmt/format.h"
#include "simulator/meter.h"

namespace dray::simulator::internal {

std::string ShortTime(Duration time) {
  if (time == Duration(0)) return "0";
  if (time >= std::chrono::minutes(1)) {
    const std::int64_t seconds = std::chrono::round<std::chrono::seconds>(time).count();
    std::string text;
    if (seconds >= 3600) text += fmt::format("{}h", seconds / 3600);
    if (seconds / 60 % 60 > 0) text += fmt::format("{}m", seconds / 60 % 60);
    if (seconds % 60 > 0) text += fmt::format("{}s", seconds % 60);
    return text;
  }
  auto value = static_cast<double>(time.count());
  for (const char* unit : {"ns", "µs", "ms"}) {
    if (value < 999.5) return fmt::format("{:.3g}{}", value, unit);
    value /= 1000;
  }
  return fmt::format("{:.3g}s", value);
}

std::string Percent(double share) { return fmt::format("{:.1f}%", share * 100); }

std::string Devices(std::int64_t parts) {
  if (parts % kWholeDevice == 0) return std::to_string(parts / kWholeDevice);
  return fmt::format("{:.1f}", static_cast<double>(parts) / static_cast<double>(kWholeDevice));
}

}  // namespace dray::simulator::internal
