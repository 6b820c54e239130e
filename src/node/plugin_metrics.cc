// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_metrics.h"

#include <cmath>
#include <utility>

namespace dray::node {
namespace {

metrics::Description PodResourcesCounter(std::string name, std::string help) {
  return {.name = "kubelet_pod_resources_endpoint_" + std::move(name),
          .help = std::move(help),
          .labels = {"server_api_version"}};
}

}  // namespace

std::vector<double> OperationBounds() {
  return metrics::ExponentialBounds(0.1, std::pow(40 / 0.1, 1.0 / 14), 15);
}

std::string_view GrpcCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "Canceled";
    case StatusCode::kUnknown:
      return "Unknown";
    case StatusCode::kInvalidArgument:
      return "InvalidArgument";
    case StatusCode::kDeadlineExceeded:
      return "DeadlineExceeded";
    case StatusCode::kNotFound:
      return "NotFound";
    case StatusCode::kAlreadyExists:
      return "AlreadyExists";
    case StatusCode::kPermissionDenied:
      return "PermissionDenied";
    case StatusCode::kResourceExhausted:
      return "ResourceExhausted";
    case StatusCode::kFailedPrecondition:
      return "FailedPrecondition";
    case StatusCode::kAborted:
      return "Aborted";
    case StatusCode::kOutOfRange:
      return "OutOfRange";
    case StatusCode::kUnimplemented:
      return "Unimplemented";
    case StatusCode::kInternal:
      return "Internal";
    case StatusCode::kUnavailable:
      return "Unavailable";
    case StatusCode::kDataLoss:
      return "DataLoss";
    case StatusCode::kUnauthenticated:
      return "Unauthenticated";
    default:
      return "Unknown";
  }
}

PluginMetrics::PluginMetrics(metrics::Registry& registry)
    : calls_(registry.Histograms({.name = "dra_grpc_operations_duration_seconds",
                                  .help = "Duration in seconds of gRPC calls to DRA drivers.",
                                  .labels = {"driver_name", "method_name", "grpc_status_code"}},
                                 OperationBounds())),
      requests_(registry.Counters(
          PodResourcesCounter("requests_total", "Requests to the PodResources API."))),
      lists_(registry.Counters(
          PodResourcesCounter("requests_list", "List requests to the PodResources API."))),
      gets_(registry.Counters(
          PodResourcesCounter("requests_get", "Get requests to the PodResources API."))),
      allocatables_(registry.Counters(
          PodResourcesCounter("requests_get_allocatable",
                              "GetAllocatableResources requests to the PodResources API."))),
      failed_lists_(registry.Counters(
          PodResourcesCounter("errors_list", "List requests that ended with an error."))),
      failed_gets_(registry.Counters(
          PodResourcesCounter("errors_get", "Get requests that ended with an error."))),
      failed_allocatables_(registry.Counters(
          PodResourcesCounter("errors_get_allocatable",
                              "GetAllocatableResources requests that ended with an error."))) {
  registry.Measure(
      {.name = "plugin_manager_total_plugins",
       .help = "Plugins by the path of their registration socket and what is known of them.",
       .labels = {"socket_path", "state"}},
      [this](metrics::Readings& readings) {
        const base::MutexLock lock(mutex_);
        for (const std::string& path : counts_.actual) {
          readings.Add({path, "actual_state_of_world"}, 1);
        }
        for (const std::string& path : counts_.desired) {
          readings.Add({path, "desired_state_of_world"}, 1);
        }
      });
}

void PluginMetrics::Called(std::string_view driver, std::string_view method, const Status& status,
                           std::chrono::nanoseconds took) {
  calls_.With({driver, method, GrpcCodeName(status.code())})
      .Observe(std::chrono::duration<double>(took).count());
}

void PluginMetrics::SetSockets(const PluginCounts& counts) {
  const base::MutexLock lock(mutex_);
  counts_ = counts;
}

void PluginMetrics::PodResourcesAnswered(rpc::PodResourcesMethod method, bool ok) {
  using enum rpc::PodResourcesMethod;
  requests_.With({"v1"}).Add();
  auto& all = method == kList ? lists_ : method == kGet ? gets_ : allocatables_;
  all.With({"v1"}).Add();
  if (ok) return;
  auto& failed = method == kList  ? failed_lists_
                 : method == kGet ? failed_gets_
                                  : failed_allocatables_;
  failed.With({"v1"}).Add();
}

}  // namespace dray::node
