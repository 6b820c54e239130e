// SPDX-License-Identifier: Apache-2.0
#include "rpc/liveness.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <utility>

#include "fmt/format.h"
#include "proto/grpc_health_v1.grpc.pb.h"
#include "rpc/internal/channels.h"
#include "rpc/internal/grpc_status.h"
#include "rpc/internal/workers.h"

namespace dray::rpc {
namespace {

namespace probe = ::grpc::health::v1;

class HealthService final : public probe::Health::CallbackService {
 public:
  HealthService(LivenessOptions options, internal::Workers& workers)
      : options_(std::move(options)), workers_(workers) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const probe::HealthCheckRequest* request,
                                  probe::HealthCheckResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (!options_.services.contains(request->service())) {
      reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service"));
      return reactor;
    }
    workers_.Do([this, reactor, response] {
      const bool well = !options_.check || options_.check().ok();
      response->set_status(well ? probe::HealthCheckResponse::SERVING
                                : probe::HealthCheckResponse::NOT_SERVING);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

 private:
  const LivenessOptions options_;
  internal::Workers& workers_;
};

class TcpLivenessServer final : public LivenessServer {
 public:
  explicit TcpLivenessServer(const LivenessOptions& options) : service_(options, workers_) {
    internal::SilenceLibraries();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(fmt::format("{}:{}", options.address, options.port),
                             grpc::InsecureServerCredentials(), &port_);
    // Nobody else may have the port: a probe must not reach whoever comes second.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(4096);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~TcpLivenessServer() override {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  std::uint16_t port() const override { return static_cast<std::uint16_t>(port_); }
  bool serves() const { return server_ != nullptr && port_ != 0; }

 private:
  internal::Workers workers_;
  HealthService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

StatusOr<std::unique_ptr<LivenessServer>> ServeLiveness(LivenessOptions options) {
  auto server = std::make_unique<TcpLivenessServer>(options);
  if (!server->serves()) {
    return base::FailedPrecondition(
        fmt::format("cannot listen on {}:{}; is the port taken?", options.address, options.port));
  }
  return std::unique_ptr<LivenessServer>(std::move(server));
}

StatusOr<bool> AskLiveness(const std::string& target, const std::string& service,
                           std::chrono::nanoseconds deadline) {
  internal::SilenceLibraries();
  const auto stub =
      probe::Health::NewStub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  internal::SetDeadline(context, deadline);
  probe::HealthCheckRequest request;
  request.set_service(service);
  probe::HealthCheckResponse response;
  const grpc::Status status = stub->Check(&context, request, &response);
  if (!status.ok()) return internal::FromGrpc(status);
  return response.status() == probe::HealthCheckResponse::SERVING;
}

}  // namespace dray::rpc
