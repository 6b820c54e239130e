// SPDX-License-Identifier: Apache-2.0
//
// Properties: a time of the years 0 to 9999 survives printing, cut to the printed precision; a
// duration survives printing whole.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/time.h"

using dray::StatusOr;
using dray::base::GoDurationToString;
using dray::base::ParseGoDuration;
using dray::base::Time;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const StatusOr<Time> time = Time::ParseRfc3339(text); time.ok()) {
    // An offset can lead out of the years that four digits can say.
    static const Time kFirst = *Time::ParseRfc3339("0000-01-01T00:00:00Z");
    static const Time kLast = *Time::ParseRfc3339("9999-12-31T23:59:59.999999999Z");
    const std::string seconds = time->ToRfc3339(), micros = time->ToRfc3339Micro();
    if (*time >= kFirst && *time <= kLast) {
      const StatusOr<Time> again = Time::ParseRfc3339(seconds),
                           again_micro = Time::ParseRfc3339(micros);
      DRAY_CHECK(again.ok() && *again == time->TruncateToSeconds(), seconds);
      DRAY_CHECK(again_micro.ok() && again_micro->nanos() == time->nanos() / 1000 * 1000, micros);
      DRAY_CHECK(again_micro->ToRfc3339Micro() == micros);
    }
  }
  if (const auto duration = ParseGoDuration(text); duration.ok()) {
    const std::string printed = GoDurationToString(*duration);
    const auto again = ParseGoDuration(printed);
    DRAY_CHECK(again.ok() && *again == *duration, printed);
  }
  return 0;
}
