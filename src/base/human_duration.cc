// SPDX-License-Identifier: Apache-2.0
#include "base/human_duration.h"

#include "fmt/format.h"

namespace dray::base {

std::string HumanDuration(std::int64_t seconds) {
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  const auto pair = [](std::int64_t large, char unit, std::int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", large, unit)
                      : fmt::format("{}{}{}{}", large, unit, small, small_unit);
  };
  if (seconds < 2 * 60) return fmt::format("{}s", seconds);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 3 * 60) return fmt::format("{}m", minutes);
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  const std::int64_t days = hours / 24;
  if (days < 8) return pair(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return fmt::format("{}d", days);
  const std::int64_t years = days / 365;
  if (years < 8) return pair(years, 'y', days % 365, 'd');
  return fmt::format("{}y", years);
}

}  // namespace dray::base
