// SPDX-License-Identifier: Apache-2.0
#include "rpc/plugin_server.h"

#include <proto/dra_v1.grpc.pb.h>
#include <proto/dra_v1beta1.grpc.pb.h>
#include <proto/health_v1.grpc.pb.h>
#include <proto/health_v1alpha1.grpc.pb.h>
#include <proto/registration.grpc.pb.h>

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "rpc/internal/convert.h"
#include "rpc/internal/grpc_status.h"
#include "rpc/internal/listen.h"
#include "rpc/internal/workers.h"

namespace dray::rpc {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra;
namespace reg = ::pluginregistration;

// Runs `answer` beside gRPC's threads; what it returns ends the call.
template <class Answer>
grpc::ServerUnaryReactor* Answering(internal::Workers& workers,
                                    grpc::CallbackServerContext* context, Answer answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  workers.Do(
      [reactor, answer = std::move(answer)] { reactor->Finish(internal::ToGrpc(answer())); });
  return reactor;
}

class Registration final : public reg::Registration::CallbackService {
 public:
  Registration(PluginHandler& handler, internal::Workers& workers)
      : handler_(handler), workers_(workers) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const reg::InfoRequest*,
                                    reg::PluginInfo* response) override {
    return Answering(workers_, context, [this, response]() -> Status {
      DRAY_ASSIGN_OR_RETURN(const PluginInfo info, handler_.Info());
      response->set_type(info.type);
      response->set_name(info.name);
      response->set_endpoint(info.endpoint);
      for (const std::string& version : info.supported_versions) {
        response->add_supported_versions(version);
      }
      return {};
    });
  }

  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const reg::RegistrationStatus* request,
                                                     reg::RegistrationStatusResponse*) override {
    return Answering(workers_, context, [this, request] {
      return handler_.Registered(request->plugin_registered(), request->error());
    });
  }

 private:
  PluginHandler& handler_;
  internal::Workers& workers_;
};

template <class Service, class PrepareRequest, class PrepareResponse, class UnprepareRequest,
          class UnprepareResponse>
class Dra final : public Service {
 public:
  Dra(PluginHandler& handler, internal::Workers& workers) : handler_(handler), workers_(workers) {}

  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const PrepareRequest* request,
                                                 PrepareResponse* response) override {
    return Answering(workers_, context, [this, request, response]() -> Status {
      DRAY_ASSIGN_OR_RETURN(const PrepareAnswer answer,
                            handler_.Prepare(internal::ClaimsOf(*request)));
      internal::ToResponse(answer, *response);
      return {};
    });
  }

  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                   const UnprepareRequest* request,
                                                   UnprepareResponse* response) override {
    return Answering(workers_, context, [this, request, response]() -> Status {
      DRAY_ASSIGN_OR_RETURN(const UnprepareAnswer answer,
                            handler_.Unprepare(internal::ClaimsOf(*request)));
      internal::ToResponse(answer, *response);
      return {};
    });
  }

 private:
  PluginHandler& handler_;
  internal::Workers& workers_;
};

// One agent that listens. gRPC takes one message at a time; what is reported meanwhile becomes the
// next one, the latest of each device, so that an agent that does not read costs no more memory than
// there are devices. Lives until gRPC and the handler have let go. Thread-safe.
template <class Response>
class HealthWriter final : public grpc::ServerWriteReactor<Response> {
 public:
  // What the handler holds; the stream ends with the last of them.
  class Reports final : public HealthReports {
   public:
    explicit Reports(std::shared_ptr<HealthWriter> writer) : writer_(std::move(writer)) {}
    ~Reports() override { writer_->End(grpc::Status::OK); }
    bool Send(std::vector<DeviceHealth> devices) override {
      return writer_->Send(std::move(devices));
    }

   private:
    const std::shared_ptr<HealthWriter> writer_;
  };

  // gRPC has it from now on, until OnDone.
  static std::shared_ptr<HealthWriter> Make() {
    auto writer = std::make_shared<HealthWriter>();
    writer->grpcs_ = writer;
    return writer;
  }

  bool Send(std::vector<DeviceHealth> devices) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    if (ending_ || cancelled_) return false;
    for (DeviceHealth& device : devices) {
      std::pair key(device.pool, device.device);
      waiting_.insert_or_assign(std::move(key), std::move(device));
    }
    waits_ = true;
    WriteOn();
    return true;
  }

  // After what was reported so far. The first end counts.
  void End(grpc::Status status) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    if (ending_) return;
    ending_ = true;
    status_ = std::move(status);
    if (cancelled_) {
      waiting_.clear();
      waits_ = false;
    }
    WriteOn();
  }

 private:
  void WriteOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (waits_) {
      message_.Clear();
      std::vector<DeviceHealth> devices;
      devices.reserve(waiting_.size());
      for (auto& [name, device] : waiting_) devices.push_back(std::move(device));
      waiting_.clear();
      waits_ = false;
      internal::ToResponse(devices, message_);
      writing_ = true;
      this->StartWrite(&message_);
    } else if (ending_) {
      finished_ = true;
      this->Finish(status_);
    }
  }

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) Abandon();
    WriteOn();
  }

  void OnCancel() override ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    Abandon();
    WriteOn();
  }

  // The agent has gone. The stream ends now, whoever still has something to say.
  void Abandon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    cancelled_ = true;
    ending_ = true;
    status_ = grpc::Status::CANCELLED;
    waiting_.clear();
    waits_ = false;
  }

  void OnDone() override {
    // The last thing that gRPC does with it.
    const std::shared_ptr<HealthWriter> self = std::move(grpcs_);
  }

  base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, DeviceHealth> waiting_ ABSL_GUARDED_BY(mutex_);
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;  // a report without devices is one, too
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  Response message_ ABSL_GUARDED_BY(mutex_);  // gRPC's while one is written
  std::shared_ptr<HealthWriter> grpcs_;       // set before gRPC sees it
};

template <class Service, class Request, class Response>
class ResourceHealth final : public Service {
 public:
  ResourceHealth(PluginHandler& handler, internal::Workers& workers)
      : handler_(handler), workers_(workers) {}

  grpc::ServerWriteReactor<Response>* NodeWatchResources(grpc::CallbackServerContext*,
                                                         const Request*) override {
    auto writer = HealthWriter<Response>::Make();
    auto* reactor = writer.get();
    workers_.Do([this, writer = std::move(writer)] {
      using Reports = typename HealthWriter<Response>::Reports;
      auto reports = std::make_shared<Reports>(writer);
      const Status status = handler_.WatchHealth(reports);
      // Before the handler's copy goes, which would end it as if nothing were wrong.
      if (!status.ok()) writer->End(internal::ToGrpc(status));
    });
    return reactor;
  }

 private:
  PluginHandler& handler_;
  internal::Workers& workers_;
};

using DraV1 = Dra<dra::v1::DRAPlugin::CallbackService, dra::v1::NodePrepareResourcesRequest,
                  dra::v1::NodePrepareResourcesResponse, dra::v1::NodeUnprepareResourcesRequest,
                  dra::v1::NodeUnprepareResourcesResponse>;
using DraV1Beta1 =
    Dra<dra::v1beta1::DRAPlugin::CallbackService, dra::v1beta1::NodePrepareResourcesRequest,
        dra::v1beta1::NodePrepareResourcesResponse, dra::v1beta1::NodeUnprepareResourcesRequest,
        dra::v1beta1::NodeUnprepareResourcesResponse>;
using HealthV1 = ResourceHealth<::v1::DRAResourceHealth::CallbackService,
                                ::v1::NodeWatchResourcesRequest, ::v1::NodeWatchResourcesResponse>;
using HealthV1Alpha1 =
    ResourceHealth<::v1alpha1::DRAResourceHealth::CallbackService,
                   ::v1alpha1::NodeWatchResourcesRequest, ::v1alpha1::NodeWatchResourcesResponse>;

class SocketPluginServer final : public PluginServer {
 public:
  explicit SocketPluginServer(PluginHandler& handler)
      : registration_(handler, workers_),
        v1_(handler, workers_),
        v1beta1_(handler, workers_),
        health_v1_(handler, workers_),
        health_v1alpha1_(handler, workers_) {}

  Status Listen(const PluginSockets& sockets) {
    std::vector<grpc::Service*> services;
    if (sockets.v1) services.push_back(&v1_);
    if (sockets.v1beta1) services.push_back(&v1beta1_);
    if (sockets.health_v1) services.push_back(&health_v1_);
    if (sockets.health_v1alpha1) services.push_back(&health_v1alpha1_);
    if (!sockets.dra.empty() && sockets.dra == sockets.registration) {
      services.push_back(&registration_);
      DRAY_ASSIGN_OR_RETURN(dra_socket_, internal::Listening::Start(sockets.dra, services));
      return {};
    }
    // An agent calls as soon as it has found the registration: the rest is there by then.
    if (!sockets.dra.empty()) {
      DRAY_ASSIGN_OR_RETURN(dra_socket_, internal::Listening::Start(sockets.dra, services));
    }
    if (!sockets.registration.empty()) {
      DRAY_ASSIGN_OR_RETURN(registration_socket_,
                            internal::Listening::Start(sockets.registration, {&registration_}));
    }
    return {};
  }

 private:
  internal::Workers workers_;
  Registration registration_;
  DraV1 v1_;
  DraV1Beta1 v1beta1_;
  HealthV1 health_v1_;
  HealthV1Alpha1 health_v1alpha1_;
  // Destroyed first, the registration before the rest: each waits for the calls that it serves.
  std::unique_ptr<internal::Listening> dra_socket_;
  std::unique_ptr<internal::Listening> registration_socket_;
};

}  // namespace

StatusOr<std::unique_ptr<PluginServer>> ServePlugin(const PluginSockets& sockets,
                                                    PluginHandler& handler) {
  auto server = std::make_unique<SocketPluginServer>(handler);
  DRAY_RETURN_IF_ERROR(server->Listen(sockets));
  return server;
}

}  // namespace dray::rpc
