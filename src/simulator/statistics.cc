// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "simulator/result.h"

namespace dray::simulator {

Percentiles PercentilesOf(std::vector<Duration> samples) {
  Percentiles found;
  if (samples.empty()) return found;
  std::ranges::sort(samples);
  const auto at = [&](std::size_t hundredths) {
    const std::size_t rank = (samples.size() * hundredths + 99) / 100;
    return samples[std::max<std::size_t>(rank, 1) - 1];
  };
  found.count = static_cast<std::int64_t>(samples.size());
  found.p50 = at(50);
  found.p90 = at(90);
  found.p99 = at(99);
  found.max = samples.back();
  // A year of nanoseconds for each of ten million samples would not fit a sum of whole numbers.
  double sum = 0;
  for (const Duration sample : samples) sum += static_cast<double>(sample.count());
  found.mean = Duration(static_cast<std::int64_t>(sum / static_cast<double>(samples.size())));
  return found;
}

std::vector<HistogramBar> HistogramOf(const std::vector<Duration>& samples) {
  std::vector<HistogramBar> bars;
  if (samples.empty()) return bars;
  const Duration largest = std::ranges::max(samples);
  for (std::int64_t power = 1; bars.empty() || bars.back().up_to < largest; power *= 10) {
    for (const std::int64_t step : {1, 2, 5}) bars.push_back({Duration(step * power), 0});
  }
  for (const Duration sample : samples) {
    ++std::ranges::lower_bound(bars, sample, {}, &HistogramBar::up_to)->count;
  }
  while (bars.back().count == 0) bars.pop_back();
  const auto first = std::ranges::find_if(bars, [](const HistogramBar& b) { return b.count > 0; });
  bars.erase(bars.begin(), first);
  return bars;
}

double Result::Throughput() const {
  const double seconds = std::chrono::duration<double>(scheduler_time).count();
  return seconds > 0 ? static_cast<double>(attempts) / seconds : 0;
}

}  // namespace dray::simulator
