// SPDX-License-Identifier: Apache-2.0
#include "rpc/health_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/support/channel_arguments.h>
#include <proto/grpc_health_v1.pb.h>

#include <future>
#include <utility>

#include "rpc/internal/channels.h"
#include "rpc/plugin_client.h"

namespace dray::rpc {
namespace {

namespace health = ::grpc::health::v1;

std::string_view NameOf(health::HealthCheckResponse::ServingStatus status) {
  switch (status) {
    case health::HealthCheckResponse::SERVING:
      return "SERVING";
    case health::HealthCheckResponse::NOT_SERVING:
      return "NOT_SERVING";
    case health::HealthCheckResponse::SERVICE_UNKNOWN:
      return "SERVICE_UNKNOWN";
    default:
      return "UNKNOWN";
  }
}

Status Verdict(const Status& called, const health::HealthCheckResponse& said) {
  switch (called.code()) {
    case StatusCode::kOk:
      if (said.status() == health::HealthCheckResponse::SERVING) return {};
      return base::Unavailable(
          fmt::format("service unhealthy (responded with \"{}\")", NameOf(said.status())));
    case StatusCode::kUnimplemented:
      return base::Unavailable(
          "this server does not implement the grpc health protocol (grpc.health.v1.Health)");
    case StatusCode::kDeadlineExceeded:
      return base::Unavailable("timeout: health rpc did not complete in time");
    default:
      return base::Annotate(called, "health rpc failed");
  }
}

}  // namespace

Status CheckHealth(int connected, const std::string& service, std::chrono::nanoseconds timeout,
                   const std::atomic<bool>* stopping) {
  internal::SilenceLibraries();
  // gRPC never waits in a socket.
  (void)::fcntl(connected, F_SETFL, ::fcntl(connected, F_GETFL) | O_NONBLOCK);
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(64 * 1024);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetUserAgentPrefix("kube-probe/1.38");
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomInsecureChannelFromFd("localhost", connected, args);
  internal::Calls calls;
  std::promise<Status> answer;
  health::HealthCheckRequest request;
  request.set_service(service);
  internal::CallUnary<health::HealthCheckResponse>(
      calls, channel, "/grpc.health.v1.Health/Check", std::move(request), timeout,
      [&answer](const Status& status, const health::HealthCheckResponse& said) {
        answer.set_value(Verdict(status, said));
      });
  auto future = answer.get_future();
  constexpr std::chrono::milliseconds kLook{200};
  while (future.wait_for(kLook) != std::future_status::ready) {
    if (stopping != nullptr && *stopping) calls.Cancel();
  }
  const Status verdict = future.get();
  calls.End();
  return verdict;
}

}  // namespace dray::rpc
