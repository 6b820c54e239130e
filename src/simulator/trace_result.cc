// SPDX-License-Identifier: Apache-2.0
//
// What a trace's run has found, for people and for machines.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "api/field_table.h"
#include "api/json.h"
#include "fmt/format.h"
#include "simulator/internal/units.h"
#include "simulator/trace.h"

namespace dray::simulator {

using api::Field;
using api::Struct;
using api::StructInfo;

namespace {

constexpr api::FieldOptions kAlways{.presence = api::Presence::kAlways};

struct JsonModel {
  std::string model;
  double fragmentation = 0;
};
struct JsonTraceRow {
  double arrived = 0;
  double allocated = 0;
  std::optional<double> bound;
  double fragmentation = 0;
  std::vector<JsonModel> models;
};
struct JsonTrace {
  std::string policy;
  std::int64_t seed = 0;
  std::int64_t nodes = 0;
  std::int64_t devices = 0;
  std::int64_t pods = 0;
  std::int64_t refused = 0;
  std::int64_t departed = 0;
  std::optional<double> at_100;
  std::optional<double> at_end;
  std::optional<double> bound_at_100;
  std::optional<double> bound_at_end;
  std::optional<double> mean_allocated;
  std::optional<double> scheduler_seconds;
  std::optional<double> decisions_per_second;
  std::vector<JsonTraceRow> rows;
};

const StructInfo& InfoOf(const JsonModel*) {
  using T = JsonModel;
  static const StructInfo info =
      Struct<T>("Model", {
                             Field<&T::model>("model", kAlways),
                             Field<&T::fragmentation>("fragmentation", kAlways),
                         });
  return info;
}
const StructInfo& InfoOf(const JsonTraceRow*) {
  using T = JsonTraceRow;
  static const StructInfo info =
      Struct<T>("TraceRow", {
                                Field<&T::arrived>("arrived", kAlways),
                                Field<&T::allocated>("allocated", kAlways),
                                Field<&T::bound>("bound"),
                                Field<&T::fragmentation>("fragmentation", kAlways),
                                Field<&T::models>("models"),
                            });
  return info;
}
const StructInfo& InfoOf(const JsonTrace*) {
  using T = JsonTrace;
  static const StructInfo info =
      Struct<T>("TraceResult", {
                                   Field<&T::policy>("policy", kAlways),
                                   Field<&T::seed>("seed", kAlways),
                                   Field<&T::nodes>("nodes", kAlways),
                                   Field<&T::devices>("devices", kAlways),
                                   Field<&T::pods>("pods", kAlways),
                                   Field<&T::refused>("refused", kAlways),
                                   Field<&T::departed>("departed", kAlways),
                                   Field<&T::at_100>("allocatedAt100"),
                                   Field<&T::at_end>("allocatedAtEnd"),
                                   Field<&T::bound_at_100>("boundAt100"),
                                   Field<&T::bound_at_end>("boundAtEnd"),
                                   Field<&T::mean_allocated>("meanAllocated"),
                                   Field<&T::scheduler_seconds>("schedulerSeconds"),
                                   Field<&T::decisions_per_second>("decisionsPerSecond"),
                                   Field<&T::rows>("rows", kAlways),
                               });
  return info;
}

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// Shares in six digits: enough, and the same everywhere.
double Rounded(double share) { return std::round(share * 1e6) / 1e6; }

std::optional<double> PerSecond(const TraceResult& result) {
  if (!result.scheduler_time || *result.scheduler_time <= Duration(0)) return std::nullopt;
  return std::round(static_cast<double>(result.pods) / Seconds(*result.scheduler_time));
}

}  // namespace

std::string ToJson(const TraceResult& result) {
  JsonTrace made{.policy = result.policy,
                 .seed = static_cast<std::int64_t>(result.seed),
                 .nodes = result.nodes,
                 .devices = result.devices,
                 .pods = result.pods,
                 .refused = result.refused,
                 .departed = result.departed};
  if (const TraceRow* row = result.At(1); row != nullptr && !result.mean_allocated) {
    made.at_100 = Rounded(row->allocated);
    made.at_end = Rounded(result.rows.back().allocated);
    if (row->bound) made.bound_at_100 = Rounded(*row->bound);
    if (result.rows.back().bound) made.bound_at_end = Rounded(*result.rows.back().bound);
  }
  if (result.mean_allocated) made.mean_allocated = Rounded(*result.mean_allocated);
  if (result.scheduler_time) made.scheduler_seconds = Seconds(*result.scheduler_time);
  made.decisions_per_second = PerSecond(result);
  for (const TraceRow& row : result.rows) {
    JsonTraceRow& to = made.rows.emplace_back();
    to = {.arrived = Rounded(row.arrived),
          .allocated = Rounded(row.allocated),
          .bound = row.bound ? std::optional(Rounded(*row.bound)) : std::nullopt,
          .fragmentation = Rounded(row.fragmentation)};
    for (std::size_t i = 0; i < row.by_model.size(); ++i) {
      to.models.push_back({result.models[i], Rounded(row.by_model[i])});
    }
  }
  return api::IndentJson(api::EncodeJson(made), 2) + "\n";
}

std::string ToText(const TraceResult& result) {
  const auto percent = [](double share) { return fmt::format("{:.2f} %", 100 * share); };
  std::string text = fmt::format(
      "{} nodes, {} devices, seed {}, policy {}\n{} pods came, {} were refused", result.nodes,
      result.devices, result.seed, result.policy, result.pods, result.refused);
  if (result.departed > 0) text += fmt::format(", {} left", result.departed);
  text += "\n\n";
  // Two lines of ten steps each would not show where it bends: every fifth percent, and the end.
  const bool bounded = !result.rows.empty() && result.rows.back().bound;
  text += fmt::format("ARRIVED    ALLOCATED   {}FRAGMENTED   \n", bounded ? "AT MOST    " : "");
  double next = 0;
  for (const TraceRow& row : result.rows) {
    const bool last = &row == &result.rows.back();
    if (!last && (&row + 1)->arrived <= next) continue;
    if (!last && row.arrived + 0.01 < next) continue;
    next = std::floor((row.arrived + 0.011) * 20) / 20 + 0.05;
    constexpr double kWidth = 50;
    const auto bar =
        static_cast<std::size_t>(std::clamp(std::round(row.allocated * kWidth), 0.0, kWidth));
    text += fmt::format("{:>8}   {:>8}   {}{:>8}     {}\n", percent(row.arrived),
                        percent(row.allocated),
                        bounded ? fmt::format("{:>8}   ", percent(*row.bound)) : "",
                        percent(row.fragmentation), std::string(bar, '#'));
  }
  if (result.mean_allocated) {
    text += fmt::format("\nallocated over the second half of the time: {}\n",
                        percent(*result.mean_allocated));
  } else if (const TraceRow* row = result.At(1)) {
    text += fmt::format("\nallocated when 100 % had been asked for: {}, at the end: {}\n",
                        percent(row->allocated), percent(result.rows.back().allocated));
    if (bounded) {
      text += fmt::format("no policy can allocate more than: {}, at the end: {}\n",
                          percent(*row->bound), percent(*result.rows.back().bound));
    }
  }
  if (const auto rate = PerSecond(result)) {
    text += fmt::format("scheduling took {:.2f} s of the processor, {:.0f} pods a second\n",
                        Seconds(*result.scheduler_time), *rate);
  }
  return text;
}

}  // namespace dray::simulator
