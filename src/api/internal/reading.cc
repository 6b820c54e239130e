// SPDX-License-Identifier: Apache-2.0
#include "api/internal/reading.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace dray::api::internal {

StatusOr<base::Time> ReadTime(std::string_view text) {
  constexpr std::int64_t kYear0 = -62'167'219'200;
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  DRAY_ASSIGN_OR_RETURN(const base::Time time, base::Time::ParseRfc3339(text));
  if (time.seconds() < kYear0 || time.seconds() >= kYear10000) {
    return base::InvalidArgument("a time in UTC has a year from 0000 to 9999");
  }
  return time;
}

base::Time TruncateToMicros(base::Time time) {
  return base::Time::FromUnix(time.seconds(), time.nanos() / 1000 * 1000);
}

void SealUnknown(UnknownFields& fields) {
  if (!fields.has_value() || fields->size() < 2) return;
  std::vector<UnknownField>& list = *fields;
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) -> const std::string& { return list[i].name; });
  bool repeated = false;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && list[order[last + 1]].name == list[order[first]].name) ++last;
    if (last > first) {
      repeated = true;
      list[order[first]].json = std::move(list[order[last]].json);
      // No JSON value has an empty text.
      for (std::size_t i = first + 1; i <= last; ++i) list[order[i]].json.clear();
    }
    first = last + 1;
  }
  if (repeated) std::erase_if(list, [](const UnknownField& field) { return field.json.empty(); });
}

}  // namespace dray::api::internal
