// SPDX-License-Identifier: Apache-2.0
//
// Registry: the metrics of a process by name, and their text for Prometheus.
//
//   metrics::Registry registry;
//   auto& requests =
//       registry.Counters({"requests_total", "Requests that were answered.", {"code"}});
//   requests.With({"200"}).Add();
//   registry.Measure({"open_files", "Files that are open.", {}},
//                    [](metrics::Readings& readings) { readings.Add({}, CountFiles()); });
//   registry.Text();
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/string_map.h"
#include "metrics/instruments.h"

namespace dray::metrics {

using LabelValues = std::initializer_list<std::string_view>;

struct Description {
  std::string name;  // letters, digits and '_'
  std::string help;  // one sentence
  std::vector<std::string> labels;
};

// A metric, with an instrument for each combination of label values that was asked for.
// Thread-safe.
template <typename Instrument>
class Family {
 public:
  using Make = std::function<std::unique_ptr<Instrument>()>;
  Family(std::size_t labels, Make make) : labels_(labels), make_(std::move(make)) {}

  // In the order of the labels' names. What it returns stays: where it matters, look it up once.
  Instrument& With(LabelValues values);
  // By label values, in their order.
  std::vector<std::pair<std::vector<std::string>, const Instrument*>> All() const;

 private:
  const std::size_t labels_;
  const Make make_;
  mutable base::SharedMutex mutex_;
  base::StringMap<std::unique_ptr<Instrument>> instruments_ ABSL_GUARDED_BY(mutex_);
};

// What a measurement has found. One thread.
class Readings {
 public:
  void Add(LabelValues labels, double value) {
    values_.push_back({{labels.begin(), labels.end()}, value});
  }

 private:
  friend class Registry;
  std::vector<std::pair<std::vector<std::string>, double>> values_;
};

// Names are registered once; a second time is a mistake in the program, as is a name that
// Prometheus would not read. Thread-safe.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Family<Counter>& Counters(Description description);
  Family<Gauge>& Gauges(Description description);
  Family<Histogram>& Histograms(Description description, std::vector<double> bounds);

  // A value that is found out when somebody asks: `measure` is called by Text, one at a time, on
  // its thread. Counting: it only grows.
  enum class Kind : unsigned char { kGauge, kCounter };
  using MeasureFn = std::function<void(Readings&)>;
  void Measure(Description description, MeasureFn measure, Kind kind = Kind::kGauge);

  // Prometheus's text format, version 0.0.4; in order of names, then of label values.
  std::string Text() const;
  std::vector<std::string> Names() const;

 private:
  struct Entry {
    Description description;
    std::string_view type;
    // One of these.
    std::unique_ptr<Family<Counter>> counters;
    std::unique_ptr<Family<Gauge>> gauges;
    std::unique_ptr<Family<Histogram>> histograms;
    MeasureFn measure;
  };

  Entry& Add(Description description, std::string_view type);
  static void Write(const Entry& entry, std::string& out);

  mutable base::Mutex mutex_;  // held while Text measures, too
  std::vector<std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);  // by name
};

inline constexpr std::string_view kTextContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace dray::metrics
