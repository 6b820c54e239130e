// SPDX-License-Identifier: Apache-2.0
#include "registry/request_log.h"

#include <string>

#include "fmt/format.h"
#include "registry/internal/exchange.h"

namespace dray::registry {
namespace {

std::string UriOf(const apiserver::Request& request) {
  return request.query.empty() ? request.path : fmt::format("{}?{}", request.path, request.query);
}

// "received 1ms, decoded 0.1ms, stored 700ms, answered 2ms": what each step took.
std::string StepsOf(const internal::Exchange& exchange, std::chrono::nanoseconds now) {
  std::string text =
      fmt::format("received {}", base::GoDurationToString(exchange.request.receiving));
  std::chrono::nanoseconds before = exchange.began;
  for (const auto& step : exchange.steps.all()) {
    text += fmt::format(", {} {}", step.name, base::GoDurationToString(step.at - before));
    before = step.at;
  }
  return text + fmt::format(", answered {}", base::GoDurationToString(now - before));
}

}  // namespace

void RequestLog::OnAnswer(const internal::Exchange& exchange, int code, bool stream) const {
  const std::chrono::nanoseconds now = Now();
  const apiserver::Request& request = exchange.request;
  const std::chrono::nanoseconds took = now - exchange.began + request.receiving;
  const std::string_view verb =
      exchange.verb.empty() ? std::string_view(request.method) : std::string_view(exchange.verb);
  if (options_.log.Enabled(kVerbosity)) {
    options_.log.Info(kVerbosity, "HTTP",
                      {{"verb", verb},
                       {"URI", UriOf(request)},
                       {"latency", took},
                       {"user", request.user.name},
                       {"userAgent", request.headers.Find("User-Agent")},
                       {"audit-ID", request.audit_id},
                       {"srcIP", request.remote},
                       {"resp", code}});
  }
  const bool endless = stream && exchange.verb == "watch";
  if (endless || options_.slow.count() <= 0 || took < options_.slow) return;
  options_.log.Trace("Slow request", {{"verb", verb},
                                      {"URI", UriOf(request)},
                                      {"took", took},
                                      {"steps", StepsOf(exchange, now)},
                                      {"user", request.user.name},
                                      {"audit-ID", request.audit_id},
                                      {"srcIP", request.remote},
                                      {"resp", code}});
}

}  // namespace dray::registry
