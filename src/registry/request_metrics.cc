// SPDX-License-Identifier: Apache-2.0
#include "registry/request_metrics.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "apiserver/forwarding_stream.h"
#include "fmt/format.h"

namespace dray::registry {
namespace {

constexpr std::string_view kComponent = "apiserver";

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string_view GroupOf(const RequestLabels& labels) {
  return labels.kind == nullptr ? std::string_view() : std::string_view(labels.kind->group);
}
std::string_view VersionOf(const RequestLabels& labels) {
  return labels.kind == nullptr ? std::string_view() : std::string_view(labels.kind->version);
}
std::string_view ResourceOf(const RequestLabels& labels) {
  return labels.kind == nullptr ? std::string_view() : std::string_view(labels.kind->plural);
}

// kube-apiserver's, and two that are smaller: most requests are done before its first.
std::vector<double> DurationBounds() {
  return {0.0005, 0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5,
          2,      3,     4,     5,     6,    8,   10,  15,  20,  30,  45, 60};
}

}  // namespace

// A stream that counts as under way while it lives, and whose pieces are events.
class RequestMetrics::ObservedStream final : public apiserver::ForwardingStream {
 public:
  ObservedStream(std::unique_ptr<apiserver::StreamSource> inner, metrics::Gauge& running,
                 metrics::Counter& events)
      : ForwardingStream(std::move(inner)), running_(running), events_(events) {
    running_.Add(1);
  }
  ~ObservedStream() override { running_.Add(-1); }

  State Pull(std::vector<apiserver::Bytes>& out) override {
    const std::size_t before = out.size();
    const State state = ForwardingStream::Pull(out);
    // A line is in pieces; the last one ends it.
    const auto ends = [](const apiserver::Bytes& piece) { return piece->ends_with('\n'); };
    const auto events =
        std::count_if(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), ends);
    if (events > 0) events_.Add(static_cast<std::uint64_t>(events));
    return state;
  }

 private:
  metrics::Gauge& running_;
  metrics::Counter& events_;
};

class RequestMetrics::ObservedResponder final : public apiserver::Responder {
 public:
  ObservedResponder(RequestMetrics& metrics, std::shared_ptr<apiserver::Responder> inner,
                    const RequestLabels& labels)
      : metrics_(metrics),
        inner_(std::move(inner)),
        labels_(labels),
        began_(metrics.clock_.Monotonic()) {
    in_flight().Add(1);
  }
  // One that is dropped becomes a 500 further down.
  ~ObservedResponder() override {
    if (!sent_.load()) Count(500, false);
  }

  void Send(apiserver::Response response) override {
    if (!sent_.exchange(true)) {
      Count(response.status, response.stream != nullptr);
      if (response.stream != nullptr) {
        response.stream = std::make_unique<ObservedStream>(
            std::move(response.stream),
            metrics_.long_running_.With({labels_.verb, GroupOf(labels_), VersionOf(labels_),
                                         ResourceOf(labels_), labels_.subresource, labels_.scope,
                                         kComponent}),
            metrics_.watch_events_.With(
                {GroupOf(labels_), VersionOf(labels_), ResourceOf(labels_)}));
      }
    }
    inner_->Send(std::move(response));
  }

 private:
  metrics::Gauge& in_flight() const {
    return labels_.mutating ? metrics_.mutating_ : metrics_.reading_;
  }

  void Count(int code, bool stream) {
    in_flight().Add(-1);
    const std::string_view dry_run = labels_.dry_run ? "All" : "";
    metrics_.requests_
        .With({labels_.verb, dry_run, GroupOf(labels_), VersionOf(labels_), ResourceOf(labels_),
               labels_.subresource, labels_.scope, kComponent, fmt::format_int(code).str()})
        .Add();
    // How long a watch lasts says nothing about the server.
    if (stream) return;
    metrics_.durations_
        .With({labels_.verb, dry_run, GroupOf(labels_), VersionOf(labels_), ResourceOf(labels_),
               labels_.subresource, labels_.scope, kComponent})
        .Observe(Seconds(metrics_.clock_.Monotonic() - began_));
  }

  RequestMetrics& metrics_;
  const std::shared_ptr<apiserver::Responder> inner_;
  const RequestLabels labels_;
  const std::chrono::nanoseconds began_;
  std::atomic<bool> sent_ = false;
};

RequestMetrics::RequestMetrics(metrics::Registry& registry, const base::Clock& clock)
    : clock_(clock),
      requests_(registry.Counters({"apiserver_request_total",
                                   "Requests, by response code.",
                                   {"verb", "dry_run", "group", "version", "resource",
                                    "subresource", "scope", "component", "code"}})),
      durations_(registry.Histograms({"apiserver_request_duration_seconds",
                                      "Latency of requests, without watches.",
                                      {"verb", "dry_run", "group", "version", "resource",
                                       "subresource", "scope", "component"}},
                                     DurationBounds())),
      long_running_(registry.Gauges(
          {"apiserver_longrunning_requests",
           "Open watches.",
           {"verb", "group", "version", "resource", "subresource", "scope", "component"}})),
      watch_events_(registry.Counters({"apiserver_watch_events_total",
                                       "Events sent to watchers.",
                                       {"group", "version", "resource"}})),
      in_flight_(registry.Gauges(
          {"apiserver_current_inflight_requests", "Requests being handled.", {"request_kind"}})),
      reading_(in_flight_.With({"readOnly"})),
      mutating_(in_flight_.With({"mutating"})) {}

std::shared_ptr<apiserver::Responder> RequestMetrics::Observe(
    std::shared_ptr<apiserver::Responder> responder, const RequestLabels& labels) {
  return std::make_shared<ObservedResponder>(*this, std::move(responder), labels);
}

}  // namespace dray::registry
