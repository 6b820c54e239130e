// SPDX-License-Identifier: Apache-2.0
#include "simulator/internal/svg_chart.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

namespace dray::simulator::internal {
namespace {

// The drawing's own units; the page scales it.
constexpr double kWidth = 640;
constexpr double kHeight = 240;
constexpr double kLeft = 56;
constexpr double kRight = 16;
constexpr double kTop = 12;
constexpr double kBottom = 32;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr std::size_t kMostHints = 128;

std::string Open(std::string_view title, double height) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "preserveAspectRatio=\"xMidYMid meet\">\n",
      kWidth, height, Escaped(title));
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format(
      "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, Escaped(text));
}

double YOf(double value, double max) { return kTop + kPlotHeight * (1 - value / max); }

std::string Grid(const std::vector<double>& ticks, double max,
                 const std::function<std::string(double)>& show) {
  std::string svg;
  for (const double tick : ticks) {
    const double y = YOf(tick, max);
    svg += fmt::format("<path class=\"{}\" d=\"M{} {:.1f}H{}\"/>\n", tick == 0 ? "axis" : "grid",
                       kLeft, y, kWidth - kRight);
    svg += Text(kLeft - 8, y + 4, "end", show(tick));
  }
  return svg;
}

std::string Figure(std::string_view title, std::string_view unit, std::string_view inside) {
  return fmt::format(
      "<figure><figcaption><strong>{}</strong> <span>{}</span></figcaption>\n{}</figure>\n",
      Escaped(title), Escaped(unit), inside);
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Control characters have no place in HTML.
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n') out += c;
    }
  }
  return out;
}

std::vector<double> Ticks(double max, int most) {
  if (!(max > 0)) max = 1;
  const double rough = max / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double nice : {5.0, 2.5, 2.0, 1.0}) {
    if (nice * power >= rough * (1 - 1e-9)) step = nice * power;
  }
  std::vector<double> ticks;
  for (int i = 0; i == 0 || ticks.back() < max * (1 - 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

std::string ToSvg(const LineChart& chart) {
  double largest = chart.max_y;
  if (largest == 0) {
    for (const Series& series : chart.series) {
      for (const double value : series.values) largest = std::max(largest, value);
    }
  }
  const std::vector<double> ticks = Ticks(largest, 4);
  const double max = ticks.back();
  const double last = chart.x.empty() || chart.x.back() <= 0 ? 1 : chart.x.back();
  const auto x_of = [&](double x) { return kLeft + kPlotWidth * x / last; };

  std::string svg = Open(chart.title, kHeight) + Grid(ticks, max, chart.show_y);
  for (int i = 0; i <= 4; ++i) {
    const double x = last * i / 4;
    svg += Text(x_of(x), kHeight - 10, i == 0 ? "start" : (i == 4 ? "end" : "middle"),
                chart.show_x(x));
  }
  const std::size_t shown = std::min(chart.series.size(), kMostSeries);
  for (std::size_t s = 0; s < shown; ++s) {
    std::string path;
    for (std::size_t i = 0; i < chart.x.size(); ++i) {
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x_of(chart.x[i]),
                          YOf(chart.series[s].values[i], max));
    }
    svg += fmt::format("<path class=\"line s{}\" d=\"{}\"/>\n", s, path);
  }
  // What the pointer is over.
  const std::size_t stride = chart.x.size() / kMostHints + 1;
  for (std::size_t i = 0; i < chart.x.size(); i += stride) {
    const double begin = x_of(chart.x[i]);
    const std::size_t next = i + stride;
    const double end = next < chart.x.size() ? x_of(chart.x[next]) : kWidth - kRight;
    std::string hint = chart.show_x(chart.x[i]);
    for (std::size_t s = 0; s < shown; ++s) {
      hint +=
          fmt::format("\n{}: {}", chart.series[s].name, chart.show_y(chart.series[s].values[i]));
    }
    svg += fmt::format(
        "<rect class=\"hint\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\">"
        "<title>{}</title></rect>\n",
        begin, kTop, std::max(end - begin, 1.0), kPlotHeight, Escaped(hint));
  }
  svg += "</svg>\n";
  if (chart.series.size() > 1) {
    svg += "<p class=\"legend\">";
    for (std::size_t s = 0; s < shown; ++s) {
      svg += fmt::format("<span><i class=\"s{}\"></i>{}</span> ", s, Escaped(chart.series[s].name));
    }
    if (chart.series.size() > shown) {
      svg += fmt::format("<span>and {} more, in the table</span>", chart.series.size() - shown);
    }
    svg += "</p>\n";
  }
  return Figure(chart.title, chart.unit, svg);
}

std::string Upright(const BarChart& chart) {
  double largest = 0;
  for (const Bar& bar : chart.bars) largest = std::max(largest, bar.value);
  const std::vector<double> ticks = Ticks(largest, 4);
  const double max = ticks.back();
  std::string svg = Open(chart.title, kHeight) +
                    Grid(ticks, max, [](double v) { return fmt::format("{:.6g}", v); });
  const double each = kPlotWidth / static_cast<double>(std::max<std::size_t>(chart.bars.size(), 1));
  const std::size_t named = chart.bars.size() / 10 + 1;
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double x = kLeft + each * static_cast<double>(i);
    const double y = YOf(bar.value, max);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\">"
        "<title>{}: {}</title></rect>\n",
        x + each * 0.1, y, each * 0.8, kTop + kPlotHeight - y, Escaped(bar.name),
        Escaped(bar.shown));
    if (i % named == 0) svg += Text(x + each / 2, kHeight - 10, "middle", bar.name);
  }
  return Figure(chart.title, chart.unit, svg + "</svg>\n");
}

std::string Lying(const BarChart& chart) {
  constexpr double kRow = 26;
  constexpr double kNames = 150;
  constexpr double kNumbers = 80;
  double largest = 0;
  for (const Bar& bar : chart.bars) largest = std::max(largest, bar.value);
  const double height = kRow * static_cast<double>(std::max<std::size_t>(chart.bars.size(), 1));
  std::string svg = Open(chart.title, height);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double y = kRow * static_cast<double>(i);
    const double width = largest > 0 ? (kWidth - kNames - kNumbers) * bar.value / largest : 0;
    svg += Text(kNames - 10, y + 17, "end", bar.name);
    svg += fmt::format(
        "<rect class=\"bar\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"16\" rx=\"2\"/>\n",
        kNames, y + 5, width);
    svg += Text(kNames + width + 8, y + 17, "start", bar.shown);
  }
  return Figure(chart.title, chart.unit, svg + "</svg>\n");
}

}  // namespace dray::simulator::internal
