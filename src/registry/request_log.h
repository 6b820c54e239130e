// SPDX-License-Identifier: Apache-2.0
//
// RequestLog: requests in the log. One that was slow, with the steps on its way; all of them, for
// whoever asks for that much (-v 3, as Kubernetes logs its requests).
#pragma once

#include <chrono>

#include "base/clock.h"
#include "logs/log.h"

namespace dray::registry {

namespace internal {
struct Exchange;
}  // namespace internal

struct RequestLogOptions {
  logs::Logger log;
  // What takes longer is logged; 0: nothing is. Watches last as long as they like.
  std::chrono::nanoseconds slow{0};
};

// Thread-safe.
class RequestLog {
 public:
  static constexpr int kVerbosity = 3;  // of every request

  // The clock outlives it.
  RequestLog(const RequestLogOptions& options, const base::Clock& clock)
      : options_(options), clock_(clock) {}

  // Whether anything may come of it.
  bool LooksOn() const {
    return options_.log.Enabled(kVerbosity) ||
           (options_.slow.count() > 0 && options_.log.Enabled(0));
  }
  std::chrono::nanoseconds Now() const { return clock_.Monotonic(); }
  // The answer is about to be sent.
  void OnAnswer(const internal::Exchange& exchange, int code, bool stream) const;

 private:
  const RequestLogOptions options_;
  const base::Clock& clock_;
};

}  // namespace dray::registry
