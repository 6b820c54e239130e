// SPDX-License-Identifier: Apache-2.0
//
// Charts as SVG, to stand in an HTML page. Colours are the page's: classes "s0" to "s7" for series,
// "axis", "grid" and "label" for the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dray::simulator::internal {

// Series beyond that have no colour of their own.
inline constexpr std::size_t kMostSeries = 8;

// Text as it may stand in HTML, attributes included.
std::string Escaped(std::string_view text);

struct Series {
  std::string name;
  std::vector<double> values;  // one per x
};

struct LineChart {
  std::string title;
  std::string unit;       // of y, in words
  std::vector<double> x;  // ascending
  std::vector<Series> series;
  double max_y = 0;  // 0: as the values want
  std::function<std::string(double)> show_x;
  std::function<std::string(double)> show_y;
};

struct Bar {
  std::string name;
  double value = 0;
  std::string shown;
};
struct BarChart {
  std::string title;
  std::string unit;
  std::vector<Bar> bars;
};

std::string ToSvg(const LineChart& chart);
// Upright, in the order given.
std::string Upright(const BarChart& chart);
// One row per bar, its name in front.
std::string Lying(const BarChart& chart);

// Round numbers from 0 that reach `max`: at most `most` steps.
std::vector<double> Ticks(double max, int most);

}  // namespace dray::simulator::internal
