// SPDX-License-Identifier: Apache-2.0
//
// Tables to nodes and pods, and the order in which pods come.
#include "simulator/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "simulator/random_stream.h"

namespace dray::simulator {
namespace {

// A line of a table at its commas. Fields in quotes may hold commas, and quotes twice; around others spaces
// count for nothing.
std::vector<std::string> FieldsOf(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  bool was_quoted = false;
  const auto end_field = [&] {
    if (!was_quoted) absl::StripAsciiWhitespace(&fields.back());
    was_quoted = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      if (!quoted) absl::StripAsciiWhitespace(&fields.back());
      quoted = !quoted;
      was_quoted = true;
    } else if (c == ',' && !quoted) {
      end_field();
      fields.emplace_back();
    } else if (quoted || !was_quoted || !absl::ascii_isspace(static_cast<unsigned char>(c))) {
      fields.back() += c;
    }
  }
  end_field();
  return fields;
}

// "12.0" is a whole number: so programs write columns in which numbers are missing.
std::string_view WithoutZeros(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || point == 0) return text;
  const bool zeros = text.find_first_not_of('0', point + 1) == std::string_view::npos;
  return zeros ? text.substr(0, point) : text;
}

// One table, line by line. Faults are kept, the first of them.
class Table {
 public:
  Table(const std::string& file, std::string_view csv) : file_(file), rest_(csv) {
    if (constexpr std::string_view kMark = "\xEF\xBB\xBF"; rest_.starts_with(kMark)) {
      rest_.remove_prefix(kMark.size());
    }
    if (NextLine()) names_ = fields_;
    if (names_.empty()) {
      line_ = 1;
      Fault("must have a line with the names of its columns");
    }
  }

  // The column of that name; nothing for an empty name. One that is named and not there is a fault,
  // unless nobody looks at it.
  std::optional<std::size_t> Column(const std::string& name, bool matters = true) {
    if (name.empty()) return std::nullopt;
    const auto found = std::ranges::find(names_, name);
    if (std::ranges::count(names_, name) > 1) {
      Fault(fmt::format("must have one column \"{}\", and has several", name));
    }
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    if (matters) Fault(fmt::format("must have a column \"{}\"", name));
    return std::nullopt;
  }
  bool Next() {
    while (fault_.ok() && NextLine()) {
      if (fields_.size() == 1 && fields_[0].empty()) continue;
      if (fields_.size() == names_.size()) return true;
      Fault(fmt::format("has {} fields, and the first line {}", fields_.size(), names_.size()));
    }
    return false;
  }
  std::string Text(std::optional<std::size_t> column) const {
    return column ? fields_[*column] : std::string();
  }
  template <typename Number>
  Number Read(std::optional<std::size_t> column, Number most) {
    Number number{};
    if (!column || fields_[*column].empty()) return number;
    const std::string_view text =
        std::is_integral_v<Number> ? WithoutZeros(fields_[*column]) : fields_[*column];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    // Asked so that what is not a number ("nan") is not in the range either.
    const bool in_range = number >= 0 && number <= most;
    if (error != std::errc() || end != text.data() + text.size() || !in_range) {
      Fault(fmt::format("column {}: \"{}\" must be a{} number from 0 to {}", names_[*column],
                        fields_[*column], std::is_integral_v<Number> ? " whole" : "", most));
    }
    return number;
  }
  void Fault(std::string_view text) {
    if (fault_.ok()) fault_ = base::InvalidArgument(fmt::format("{}:{}: {}", file_, line_, text));
  }
  const Status& fault() const { return fault_; }

 private:
  bool NextLine() {
    if (rest_.empty()) return false;
    std::size_t end = rest_.find('\n');
    ++line_;
    // A field in quotes may have several lines.
    std::size_t more = 0;
    while (std::ranges::count(rest_.substr(0, end), '"') % 2 != 0) {
      if (end == std::string_view::npos) {
        Fault("a quote is not closed");
        return false;
      }
      end = rest_.find('\n', end + 1);
      ++more;
    }
    fields_ = FieldsOf(rest_.substr(0, end));
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    line_ += std::exchange(more_, more);
    return true;
  }

  const std::string& file_;
  std::string_view rest_;
  std::size_t line_ = 0;
  std::size_t more_ = 0;  // lines of the last one, beyond the first
  std::vector<std::string> names_;
  std::vector<std::string> fields_;
  Status fault_;
};

// Pods that are drawn from a list.
constexpr std::int64_t kMostDrawn = 1'000'000;
constexpr std::int64_t kMostCpu = 1'000'000'000;
constexpr std::int64_t kMostMemory = 1'000'000'000;

}  // namespace

StatusOr<std::vector<TraceNode>> ReadTraceNodes(const Trace& trace, std::string_view csv) {
  Table table(trace.node_file, csv);
  const TraceColumns& columns = trace.node_columns;
  const auto name = table.Column(columns.name);
  const auto cpu = table.Column(columns.cpu);
  const auto memory = table.Column(columns.memory);
  const auto devices = table.Column(columns.devices);
  const auto model = table.Column(columns.model);
  std::vector<TraceNode> nodes;
  while (table.Next()) {
    nodes.push_back({.name = name ? table.Text(name) : fmt::format("node-{}", nodes.size()),
                     .milli_cpu = table.Read<std::int64_t>(cpu, kMostCpu),
                     .memory_mib = table.Read<std::int64_t>(memory, kMostMemory),
                     .devices = table.Read<std::int32_t>(devices, 128),
                     .model = table.Text(model)});
  }
  if (!table.fault().ok()) return table.fault();
  return nodes;
}

StatusOr<std::vector<TracePod>> ReadTracePods(const Trace& trace, std::string_view csv) {
  Table table(trace.pod_file, csv);
  const TraceColumns& columns = trace.pod_columns;
  const auto name = table.Column(columns.name);
  auto cpu = table.Column(columns.cpu);
  auto memory = table.Column(columns.memory);
  // What nobody says nodes have does not limit anybody.
  if (trace.node_columns.cpu.empty()) cpu.reset();
  if (trace.node_columns.memory.empty()) memory.reset();
  const auto devices = table.Column(columns.devices);
  const auto share = table.Column(columns.share);
  const auto model = table.Column(columns.model);
  const bool timed = trace.order == Trace::Order::kTimes;
  const auto arrival = table.Column(columns.arrival, timed);
  const auto departure = table.Column(columns.departure, timed);
  std::vector<TracePod> pods;
  while (table.Next()) {
    TracePod pod{.name = table.Text(name),
                 .milli_cpu = table.Read<std::int64_t>(cpu, kMostCpu),
                 .memory_mib = table.Read<std::int64_t>(memory, kMostMemory),
                 .devices = table.Read<std::int32_t>(devices, 32)};
    // Several devices are whole ones, nothing of a device is none, and one of which nothing is said is whole.
    pod.share = table.Text(share).empty() ? 1000 : table.Read<std::int32_t>(share, 1000);
    if (pod.devices > 1) pod.share = 1000;
    if (pod.share == 0) pod.devices = 0;
    if (pod.devices == 0) pod.share = 0;
    const std::string models = table.Text(model);
    for (std::size_t at = 0; at < models.size();) {
      const std::size_t end = std::min(models.find('|', at), models.size());
      std::string one = models.substr(at, end - at);
      absl::StripAsciiWhitespace(&one);
      if (!one.empty()) pod.models.push_back(std::move(one));
      at = end + 1;
    }
    pod.arrival = table.Read<double>(arrival, 1e12);
    if (!table.Text(departure).empty()) pod.departure = table.Read<double>(departure, 1e12);
    if (timed && pod.departure && *pod.departure < pod.arrival) {
      table.Fault(fmt::format("column {}: must not be before {}", columns.departure,
                              columns.arrival.empty() ? "0" : columns.arrival));
    }
    pods.push_back(std::move(pod));
  }
  if (!table.fault().ok()) return table.fault();
  return pods;
}

Status CheckFill(const Trace& trace, const std::vector<TraceNode>& nodes,
                 const std::vector<TracePod>& pods) {
  if (trace.order == Trace::Order::kTimes || pods.empty()) return {};
  double capacity = 0;
  for (const TraceNode& node : nodes) capacity += 1000.0 * node.devices;
  double asked = 0;
  for (const TracePod& pod : pods) asked += static_cast<double>(pod.milli());
  if (asked == 0) {
    if (!trace.offered) return {};
    return base::InvalidArgument(
        fmt::format("{}: none of its {} pods asks for a device, so that no number of them asks for "
                    "the share of the devices that trace.offered says",
                    trace.pod_file, pods.size()));
  }
  const double mean = std::max(asked / static_cast<double>(pods.size()), 1e-3);
  const double drawn = trace.offered ? kTraceLifetimes * *trace.offered * capacity / mean
                                     : (trace.fill * capacity - asked) / mean;
  if (drawn <= kMostDrawn) return {};
  return base::InvalidArgument(fmt::format(
      "{}: its {} pods ask for {:.3g} devices together, so that it would take more than {} of "
      "them to ask for {:.3g}; trace.{} must be smaller",
      trace.pod_file, pods.size(), asked / 1000, kMostDrawn,
      trace.offered.value_or(trace.fill) * capacity / 1000, trace.offered ? "offered" : "fill"));
}

std::vector<TracePod> Arrivals(const Trace& trace, const std::vector<TraceNode>& nodes,
                               std::vector<TracePod> pods, std::uint64_t seed) {
  if (trace.order == Trace::Order::kTimes) {
    std::ranges::stable_sort(pods, {}, &TracePod::arrival);
    return pods;
  }
  for (TracePod& pod : pods) pod.departure.reset();
  if (pods.empty()) return pods;
  std::int64_t capacity = 0;
  for (const TraceNode& node : nodes) capacity += std::int64_t{node.devices} * 1000;
  std::int64_t asked = 0;
  for (const TracePod& pod : pods) asked += pod.milli();
  RandomStream chance(seed, "trace");
  const std::size_t listed = pods.size();
  const double most = trace.fill * static_cast<double>(capacity);
  while (asked > 0) {
    const TracePod& drawn = pods[chance.Below(listed)];
    if (static_cast<double>(asked + drawn.milli()) > most) break;
    asked += drawn.milli();
    pods.push_back(TracePod(drawn));
  }
  if (trace.order == Trace::Order::kShuffled) {
    for (std::size_t i = pods.size(); i > 1; --i) std::swap(pods[i - 1], pods[chance.Below(i)]);
  }
  if (!trace.offered) return pods;
  // Pods come as a Poisson process and stay for exponential times, the mean of which is 1: so many
  // at a time that this much is asked for together.
  const double mean = static_cast<double>(asked) / static_cast<double>(pods.size());
  const double rate = *trace.offered * static_cast<double>(capacity) / std::max(mean, 1.0);
  std::vector<TracePod> stream;
  const auto drawn = [&] { return -std::log1p(-chance.Uniform()); };
  for (double now = 0; now < kTraceLifetimes;) {
    now += drawn() / rate;
    TracePod& pod = stream.emplace_back(pods[chance.Below(listed)]);
    pod.arrival = now;
    pod.departure = now + drawn();
  }
  return stream;
}

}  // namespace dray::simulator
