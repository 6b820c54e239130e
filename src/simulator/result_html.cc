// SPDX-License-Identifier: Apache-2.0
//
// A result as a page: one file, nothing from elsewhere, light or dark as the reader's system is.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "simulator/internal/svg_chart.h"
#include "simulator/internal/units.h"
#include "simulator/result.h"
#include "simulator/trace.h"

namespace dray::simulator {
namespace {

using internal::Bar;
using internal::BarChart;
using internal::Escaped;
using internal::LineChart;
using internal::Percent;
using internal::ShortTime;

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1a1f28; --soft: #5b6472; --rule: #e3e6eb; --tile: #f5f7fa;
  --c0: #2563eb; --c1: #d97706; --c2: #059669; --c3: #dc2626;
  --c4: #7c3aed; --c5: #0891b2; --c6: #be185d; --c7: #4d7c0f; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #12151b; --ink: #e8ebf0; --soft: #98a2b3; --rule: #2b313c; --tile: #1b2029;
  --c0: #6ea8fe; --c1: #fbbf24; --c2: #34d399; --c3: #f87171;
  --c4: #a78bfa; --c5: #22d3ee; --c6: #f472b6; --c7: #a3e635; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; line-height: 1.25; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .75rem; }
.about { color: var(--soft); margin: .25rem 0 1.5rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; }
.tile { background: var(--tile); border-radius: .5rem; padding: .75rem 1rem; }
.tile b { display: block; font-size: 1.5rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr));
  gap: 1.5rem 2rem; }
figure { margin: 0; min-width: 0; }
figcaption span { color: var(--soft); }
svg { width: 100%; height: auto; display: block; margin-top: .5rem; }
.label { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.axis { stroke: var(--soft); fill: none; } .grid { stroke: var(--rule); fill: none; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.bar { fill: var(--c0); }
.hint { fill: transparent; } .hint:hover { fill: var(--soft); fill-opacity: .15; }
.s0 { stroke: var(--c0); --c: var(--c0); } .s1 { stroke: var(--c1); --c: var(--c1); }
.s2 { stroke: var(--c2); --c: var(--c2); } .s3 { stroke: var(--c3); --c: var(--c3); }
.s4 { stroke: var(--c4); --c: var(--c4); } .s5 { stroke: var(--c5); --c: var(--c5); }
.s6 { stroke: var(--c6); --c: var(--c6); } .s7 { stroke: var(--c7); --c: var(--c7); }
.legend { margin: .25rem 0 0; color: var(--soft); font-size: .85rem; }
.legend span { margin-right: 1rem; white-space: nowrap; }
.legend i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem;
  background: var(--c); margin-right: .4rem; vertical-align: -.1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--rule);
  vertical-align: top; }
th { color: var(--soft); font-weight: 500; } .n { text-align: right; }
</style>
)";

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }
std::string ShowSeconds(double seconds) {
  return ShortTime(Duration(static_cast<std::int64_t>(seconds * 1e9)));
}
std::string ShowNumber(double value) { return fmt::format("{:.6g}", value); }

std::string Tile(std::string_view value, std::string_view name) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", Escaped(value),
                     Escaped(name));
}

std::string Tiles(const Result& result) {
  const PodCounts& pods = result.pods;
  std::string html = "<div class=\"tiles\">\n";
  const auto count = [&](std::int64_t value, std::string_view name, bool always = false) {
    if (always || value > 0) html += Tile(std::to_string(value), name);
  };
  count(pods.created, "pods created", true);
  count(pods.placed, "placed", true);
  count(pods.refused, "refused at the end", true);
  count(pods.pending, "not yet tried");
  count(pods.departed, "departed");
  count(pods.lost, "lost with their node");
  count(pods.preempted, "preempted");
  count(pods.warm_up, "of the warm-up");
  if (result.waiting.count > 0) html += Tile(ShortTime(result.waiting.p99), "waiting time, p99");
  if (result.decisions.count > 0) {
    html += Tile(ShortTime(result.decisions.p50), "decision, p50");
    html += Tile(ShortTime(result.decisions.p99), "decision, p99");
    html += Tile(fmt::format("{:.0f}", result.Throughput()), "attempts per processor second");
  }
  return html + "</div>\n";
}

LineChart Over(const Result& result, std::string_view title, std::string_view unit) {
  LineChart chart;
  chart.title = title;
  chart.unit = unit;
  for (const Sample& sample : result.samples) chart.x.push_back(Seconds(sample.at));
  chart.show_x = ShowSeconds;
  chart.show_y = ShowNumber;
  return chart;
}

std::string OfClasses(const Result& result, std::string_view title, std::string_view unit,
                      double (ClassUse::*share)() const) {
  LineChart chart = Over(result, title, unit);
  for (std::size_t c = 0; c < result.classes.size(); ++c) {
    internal::Series series{.name = result.classes[c].name, .values = {}};
    for (const Sample& sample : result.samples) {
      series.values.push_back((sample.classes[c].*share)());
    }
    chart.series.push_back(std::move(series));
  }
  chart.max_y = 1;
  chart.show_y = [](double value) { return fmt::format("{:.3g}%", value * 100); };
  return ToSvg(chart);
}

std::string OfPods(const Result& result, std::string_view title, std::int64_t Sample::*count) {
  LineChart chart = Over(result, title, "pods over simulated time");
  internal::Series series{.name = "pods", .values = {}};
  for (const Sample& sample : result.samples) {
    series.values.push_back(static_cast<double>(sample.*count));
  }
  chart.series.push_back(std::move(series));
  return ToSvg(chart);
}

std::string Charts(const Result& result) {
  std::string html = "<div class=\"charts\">\n";
  if (!result.classes.empty()) {
    html += OfClasses(result, "Utilisation", "share of each class's devices, over simulated time",
                      &ClassUse::Utilisation);
    html += OfClasses(result, "Fragmentation",
                      "share of free capacity that a typical request cannot use",
                      &ClassUse::Fragmentation);
  }
  html += OfPods(result, "Waiting", &Sample::waiting);
  html += OfPods(result, "Running", &Sample::running);
  if (!result.decision_histogram.empty()) {
    BarChart chart{.title = "Decision latency",
                   .unit = "scheduling time per attempt, upper bound of each bar",
                   .bars = {}};
    for (const HistogramBar& bar : result.decision_histogram) {
      chart.bars.push_back({ShortTime(bar.up_to), static_cast<double>(bar.count),
                            fmt::format("{} attempts", bar.count)});
    }
    html += Upright(chart);
  }
  if (!result.groups.empty()) {
    BarChart chart{.title = "Placements", .unit = "pods by node group", .bars = {}};
    for (const GroupResult& group : result.groups) {
      chart.bars.push_back({group.name.empty() ? "(dump)" : group.name,
                            static_cast<double>(group.placed),
                            fmt::format("{} on {} nodes", group.placed, group.nodes)});
    }
    html += Lying(chart);
  }
  return html + "</div>\n";
}

std::string Cells(std::string_view cell, std::initializer_list<std::pair<std::string, bool>> row) {
  std::string html = "<tr>";
  for (const auto& [text, number] : row) {
    html += fmt::format("<{0}{1}>{2}</{0}>", cell, number ? " class=\"n\"" : "", Escaped(text));
  }
  return html + "</tr>\n";
}

std::string ClassTable(const Result& result) {
  if (result.classes.empty()) return "";
  std::string html = "<h2>Classes</h2>\n<div class=\"scroll\"><table>\n";
  html += Cells("th", {{"Class", false},
                       {"Devices", true},
                       {"Typical request", true},
                       {"Used at the end", true},
                       {"Blocked", true},
                       {"Utilisation, mean", true},
                       {"Peak", true},
                       {"Fragmentation, mean", true},
                       {"Unusable for pending pods", true}});
  for (const ClassResult& row : result.classes) {
    html += Cells(
        "td",
        {{row.name, false},
         {std::to_string(row.end.devices), true},
         {std::to_string(row.typical_count), true},
         {internal::Devices(row.end.used), true},
         {std::to_string(row.end.blocked), true},
         {Percent(row.mean_utilisation), true},
         {Percent(row.peak_utilisation), true},
         {Percent(row.mean_fragmentation), true},
         {row.waiting_count == 0
              ? "-"
              : fmt::format("{} for {}", Percent(row.waiting_fragmentation), row.waiting_count),
          true}});
  }
  return html + "</table></div>\n";
}

std::string WorkloadTable(const Result& result) {
  if (result.workloads.empty()) return "";
  std::string html = "<h2>Workloads</h2>\n<div class=\"scroll\"><table>\n";
  html += Cells("th", {{"Workload", false},
                       {"Asked", true},
                       {"Placed", true},
                       {"Still waiting", true},
                       {"Waiting, p50", true},
                       {"p99", true},
                       {"Longest", true}});
  for (const WorkloadResult& row : result.workloads) {
    html += Cells("td", {{row.name.empty() ? "(dump)" : row.name, false},
                         {std::to_string(row.created), true},
                         {std::to_string(row.placed), true},
                         {std::to_string(row.waiting), true},
                         {ShortTime(row.times.p50), true},
                         {ShortTime(row.times.p99), true},
                         {ShortTime(row.times.max), true}});
  }
  return html + "</table></div>\n";
}

std::string ReasonTable(const Result& result) {
  std::string html = "<h2>Why pods were refused</h2>\n";
  if (result.reasons.empty()) return html + "<p>None was.</p>\n";
  html += "<div class=\"scroll\"><table>\n";
  html += Cells("th", {{"Attempts", true}, {"Pods", true}, {"Plugin", false}, {"Reason", false}});
  for (const ReasonCount& row : result.reasons) {
    html += Cells("td", {{std::to_string(row.attempts), true},
                         {std::to_string(row.pods), true},
                         {row.plugin, false},
                         {row.text, false}});
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string ToHtml(const Result& result) {
  const std::string title = result.title.empty() ? "Simulation" : result.title;
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("<title>{} - dray</title>\n", Escaped(title));
  html += kStyle;
  html += fmt::format("</head>\n<body>\n<h1>{}</h1>\n", Escaped(title));
  html += fmt::format(
      "<p class=\"about\">{} nodes, {} devices; {} simulated, seed {}, {}; {} attempts, {} "
      "allocator "
      "steps, {} failed writes, {} device changes, {} node failures</p>\n",
      result.nodes, result.devices, ShortTime(result.simulated), result.seed,
      Escaped(result.policy), result.attempts, result.allocator_steps, result.failed_writes,
      result.device_changes, result.node_failures);
  html += Tiles(result);
  html += "<h2>Over time</h2>\n";
  html += Charts(result);
  html += WorkloadTable(result);
  html += ClassTable(result);
  html += ReasonTable(result);
  return html + "</body>\n</html>\n";
}

std::string ToHtml(const TraceResult& result, std::string_view given_title) {
  const std::string title(given_title.empty() ? "Trace" : given_title);
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += fmt::format("<title>{} - dray</title>\n", Escaped(title));
  html += kStyle;
  html += fmt::format("</head>\n<body>\n<h1>{}</h1>\n", Escaped(title));
  html += fmt::format(
      "<p class=\"about\">{} nodes, {} devices; seed {}, {}; {} pods came, {} were refused</p>\n",
      result.nodes, result.devices, result.seed, Escaped(result.policy), result.pods,
      result.refused);
  const auto share = [](double value) { return fmt::format("{:.1f} %", 100 * value); };
  LineChart allocated{.title = "Allocated",
                      .unit = "share of all devices, by what has been asked for",
                      .series = {{.name = "allocated"}},
                      .max_y = 1,
                      .show_x = share,
                      .show_y = share};
  LineChart fragmented{.title = "Fragmentation",
                       .unit = "share of free capacity that requests like those seen cannot use",
                       .series = {{.name = "all"}},
                       .max_y = 1,
                       .show_x = share,
                       .show_y = share};
  const std::size_t models = std::min(result.models.size(), internal::kMostSeries - 1);
  for (std::size_t m = 0; m < models; ++m) fragmented.series.push_back({.name = result.models[m]});
  const bool bounded = !result.rows.empty() && result.rows.back().bound;
  if (bounded) allocated.series.push_back({.name = "at most, by any policy"});
  for (const TraceRow& row : result.rows) {
    if (bounded) allocated.series[1].values.push_back(*row.bound);
    allocated.x.push_back(row.arrived);
    fragmented.x.push_back(row.arrived);
    allocated.series[0].values.push_back(row.allocated);
    fragmented.series[0].values.push_back(row.fragmentation);
    for (std::size_t m = 0; m < models; ++m) {
      fragmented.series[m + 1].values.push_back(row.by_model[m]);
    }
  }
  html += "<div class=\"charts\">\n" + ToSvg(allocated) + ToSvg(fragmented) + "</div>\n";
  return html + "</body>\n</html>\n";
}

}  // namespace dray::simulator
