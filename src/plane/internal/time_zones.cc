// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/time_zones.h"

#include <chrono>

#include "absl/time/time.h"
#include "base/status.h"
#include "base/time_zone_names.h"

namespace dray::plane::internal {

controllers::TimeZones MachineTimeZones() {
  return [](std::string_view name) -> std::optional<api::UtcOffset> {
    absl::TimeZone zone = absl::LocalTimeZone();
    const bool named = !name.empty();
    if (named && !base::IsTimeZoneName(name)) return std::nullopt;
    if (named && !absl::LoadTimeZone(base::ToAbsl(name), &zone)) return std::nullopt;
    return [zone](base::Time time) {
      return std::chrono::seconds(zone.At(absl::FromUnixSeconds(time.seconds())).offset);
    };
  };
}

}  // namespace dray::plane::internal
