// SPDX-License-Identifier: Apache-2.0
#include "metrics/registry.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "fmt/format.h"

namespace dray::metrics {
namespace {

// No label value has it: it is not UTF-8.
constexpr char kSeparator = '\xff';

std::string KeyOf(LabelValues values) {
  std::string key;
  for (const std::string_view value : values) {
    key += value;
    key += kSeparator;
  }
  return key;
}

std::vector<std::string> ValuesOf(std::string_view key) {
  std::vector<std::string> values;
  while (!key.empty()) {
    const std::size_t end = key.find(kSeparator);
    values.emplace_back(key.substr(0, end));
    key.remove_prefix(end + 1);
  }
  return values;
}

bool IsName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string Escaped(std::string_view text, bool quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) escaped += '\\';
    escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return escaped;
}

std::string Number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return std::isnan(value) ? "NaN" : fmt::format("{}", value);
}

// {a="b",c="d"}; with `bound`, the label of a histogram's bucket, last.
std::string Labels(const std::vector<std::string>& names, const std::vector<std::string>& values,
                   std::string_view bound = {}) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", names[i], Escaped(values[i], true));
  }
  if (!bound.empty()) text += fmt::format("{}le=\"{}\"", text.empty() ? "" : ",", bound);
  return text.empty() ? text : "{" + text + "}";
}

}  // namespace

template <typename Instrument>
Instrument& Family<Instrument>::With(LabelValues values) {
  DRAY_CHECK(values.size() == labels_, "a metric gets a value for each of its labels");
  const std::string key = KeyOf(values);
  {
    const base::ReaderLock lock(mutex_);
    if (const auto it = instruments_.find(key); it != instruments_.end()) return *it->second;
  }
  const base::WriterLock lock(mutex_);
  std::unique_ptr<Instrument>& slot = instruments_[key];
  if (slot == nullptr) slot = make_();
  return *slot;
}

template <typename Instrument>
std::vector<std::pair<std::vector<std::string>, const Instrument*>> Family<Instrument>::All()
    const {
  std::vector<std::pair<std::vector<std::string>, const Instrument*>> all;
  {
    const base::ReaderLock lock(mutex_);
    for (const auto& [key, instrument] : instruments_) {
      all.emplace_back(ValuesOf(key), instrument.get());
    }
  }
  std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
  return all;
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

Registry::Entry& Registry::Add(Description description, std::string_view type) {
  DRAY_CHECK(IsName(description.name) && std::ranges::all_of(description.labels, IsName),
             description.name);
  const base::MutexLock lock(mutex_);
  const auto at = std::ranges::lower_bound(
      entries_, description.name, {}, [](const auto& entry) { return entry->description.name; });
  DRAY_CHECK(at == entries_.end() || (*at)->description.name != description.name, description.name);
  auto entry = std::make_unique<Entry>();
  entry->description = std::move(description);
  entry->type = type;
  return **entries_.insert(at, std::move(entry));
}

Family<Counter>& Registry::Counters(Description description) {
  const std::size_t labels = description.labels.size();
  auto family =
      std::make_unique<Family<Counter>>(labels, [] { return std::make_unique<Counter>(); });
  Family<Counter>& made = *family;
  Add(std::move(description), "counter").counters = std::move(family);
  return made;
}

Family<Gauge>& Registry::Gauges(Description description) {
  const std::size_t labels = description.labels.size();
  auto family = std::make_unique<Family<Gauge>>(labels, [] { return std::make_unique<Gauge>(); });
  Family<Gauge>& made = *family;
  Add(std::move(description), "gauge").gauges = std::move(family);
  return made;
}

Family<Histogram>& Registry::Histograms(Description description, std::vector<double> bounds) {
  const std::size_t labels = description.labels.size();
  auto family = std::make_unique<Family<Histogram>>(
      labels, [bounds = std::move(bounds)] { return std::make_unique<Histogram>(bounds); });
  Family<Histogram>& made = *family;
  Add(std::move(description), "histogram").histograms = std::move(family);
  return made;
}

void Registry::Measure(Description description, MeasureFn measure, Kind kind) {
  Add(std::move(description), kind == Kind::kGauge ? "gauge" : "counter").measure =
      std::move(measure);
}

void Registry::Write(const Entry& entry, std::string& out) {
  const auto& [name, help, labels] = entry.description;
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, Escaped(help, false), name, entry.type);
  if (entry.counters != nullptr) {
    for (const auto& [values, counter] : entry.counters->All()) {
      out += fmt::format("{}{} {}\n", name, Labels(labels, values), counter->value());
    }
  } else if (entry.gauges != nullptr) {
    for (const auto& [values, gauge] : entry.gauges->All()) {
      out += fmt::format("{}{} {}\n", name, Labels(labels, values), Number(gauge->value()));
    }
  } else if (entry.histograms != nullptr) {
    for (const auto& [values, histogram] : entry.histograms->All()) {
      const Histogram::Reading reading = histogram->Read();
      for (std::size_t i = 0; i < reading.up_to.size(); ++i) {
        out +=
            fmt::format("{}_bucket{} {}\n", name,
                        Labels(labels, values, Number(histogram->bounds()[i])), reading.up_to[i]);
      }
      out += fmt::format("{}_bucket{} {}\n", name, Labels(labels, values, "+Inf"), reading.count);
      const std::string own = Labels(labels, values);
      out += fmt::format("{}_sum{} {}\n", name, own, Number(reading.sum));
      out += fmt::format("{}_count{} {}\n", name, own, reading.count);
    }
  } else if (entry.measure) {
    Readings readings;
    entry.measure(readings);
    std::ranges::sort(readings.values_);
    for (const auto& [values, value] : readings.values_) {
      DRAY_CHECK(values.size() == labels.size(), name);
      out += fmt::format("{}{} {}\n", name, Labels(labels, values), Number(value));
    }
  }
}

std::string Registry::Text() const {
  std::string out;
  const base::MutexLock lock(mutex_);
  for (const auto& entry : entries_) Write(*entry, out);
  return out;
}

std::vector<std::string> Registry::Names() const {
  std::vector<std::string> names;
  const base::MutexLock lock(mutex_);
  for (const auto& entry : entries_) names.push_back(entry->description.name);
  return names;
}

}  // namespace dray::metrics
