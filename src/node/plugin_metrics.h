// SPDX-License-Identifier: Apache-2.0
//
// What is counted of plugins and of questions about pods' devices, by Kubernetes's names.
//
// Spec: docs/spec/node.md section 13.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"
#include "metrics/registry.h"
#include "node/plugin_registrar.h"
#include "rpc/pod_resources.h"

namespace dray::node {

// Of both histograms of operations: 15 bounds from 0.1 s to 40 s.
std::vector<double> OperationBounds();

// OK, DeadlineExceeded: as Go spells gRPC's codes.
std::string_view GrpcCodeName(StatusCode code);

// Thread-safe.
class PluginMetrics {
 public:
  // The registry asks for sockets as long as it lives: it must not outlive this.
  explicit PluginMetrics(metrics::Registry& registry);

  // A call of a driver. `method` is the whole path: /pkg.Service/Method.
  void Called(std::string_view driver, std::string_view method, const Status& status,
              std::chrono::nanoseconds took);
  void SetSockets(const PluginCounts& counts) ABSL_LOCKS_EXCLUDED(mutex_);
  void PodResourcesAnswered(rpc::PodResourcesMethod method, bool ok);

 private:
  metrics::Family<metrics::Histogram>& calls_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Counter>& lists_;
  metrics::Family<metrics::Counter>& gets_;
  metrics::Family<metrics::Counter>& allocatables_;
  metrics::Family<metrics::Counter>& failed_lists_;
  metrics::Family<metrics::Counter>& failed_gets_;
  metrics::Family<metrics::Counter>& failed_allocatables_;
  base::Mutex mutex_;
  PluginCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::node
