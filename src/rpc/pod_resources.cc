// SPDX-License-Identifier: Apache-2.0
#include "rpc/pod_resources.h"

#include <fmt/format.h>
#include <proto/pod_resources_v1.grpc.pb.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/mutex.h"
#include "rpc/internal/channels.h"
#include "rpc/internal/grpc_status.h"
#include "rpc/internal/listen.h"
#include "rpc/internal/rate_limit.h"

namespace dray::rpc {
namespace {

void ToMessage(const PodResources& pod, ::v1::PodResources& out) {
  out.set_name(pod.name);
  out.set_namespace_(pod.namespace_);
  for (const ContainerResources& container : pod.containers) {
    auto* to = out.add_containers();
    to->set_name(container.name);
    for (const DynamicResource& claim : container.claims) {
      auto* dynamic = to->add_dynamic_resources();
      dynamic->set_claim_name(claim.claim_name);
      dynamic->set_claim_namespace(claim.claim_namespace);
      for (const ClaimResource& resource : claim.resources) {
        auto* device = dynamic->add_claim_resources();
        for (const std::string& name : resource.cdi_devices) {
          device->add_cdi_devices()->set_name(name);
        }
        device->set_driver_name(resource.driver);
        device->set_pool_name(resource.pool);
        device->set_device_name(resource.device);
        if (resource.share_id) device->set_share_id(*resource.share_id);
      }
    }
  }
}

PodResources FromMessage(const ::v1::PodResources& pod) {
  PodResources out{.name = pod.name(), .namespace_ = pod.namespace_()};
  for (const auto& container : pod.containers()) {
    ContainerResources& to = out.containers.emplace_back();
    to.name = container.name();
    for (const auto& claim : container.dynamic_resources()) {
      DynamicResource& dynamic = to.claims.emplace_back();
      dynamic.claim_name = claim.claim_name();
      dynamic.claim_namespace = claim.claim_namespace();
      for (const auto& resource : claim.claim_resources()) {
        ClaimResource& device = dynamic.resources.emplace_back();
        device.driver = resource.driver_name();
        device.pool = resource.pool_name();
        device.device = resource.device_name();
        for (const auto& name : resource.cdi_devices()) device.cdi_devices.push_back(name.name());
        if (resource.has_share_id()) device.share_id = resource.share_id();
      }
    }
  }
  return out;
}

// One request, which ends when the source has answered, or when whoever asked has gone: a server
// that shuts down then does not wait for the source. Shared by gRPC and the source. Thread-safe.
template <class Response>
class Answer final : public grpc::ServerUnaryReactor {
 public:
  explicit Answer(Response* response) : response_(response) {}
  static std::shared_ptr<Answer> Make(Response* response) {
    auto answer = std::make_shared<Answer>(response);
    answer->grpcs_ = answer;
    return answer;
  }

  // `fill` writes the response, if somebody still wants it. False: nobody does.
  template <class Fill>
  bool End(const Status& status, const Fill& fill) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    if (response_ == nullptr) return false;
    if (status.ok()) fill(*response_);
    response_ = nullptr;
    Finish(internal::ToGrpc(status));
    return true;
  }

 private:
  void OnCancel() override {
    End(base::MakeStatus(StatusCode::kCancelled, "cancelled"), [](Response&) {});
  }
  void OnDone() override { const std::shared_ptr<Answer> self = std::move(grpcs_); }

  base::Mutex mutex_;
  Response* response_ ABSL_GUARDED_BY(mutex_);  // null: it has ended
  std::shared_ptr<Answer> grpcs_;               // set before gRPC sees it
};

class Lister final : public ::v1::PodResourcesLister::CallbackService {
 public:
  Lister(const PodResourcesOptions& options, PodResourcesSource& source)
      : source_(source),
        answered_(
            std::make_shared<std::function<void(PodResourcesMethod, bool)>>(options.answered)),
        limit_(*options.clock, options.per_second, options.burst) {}

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext*, const ::v1::ListPodResourcesRequest*,
                                 ::v1::ListPodResourcesResponse* response) override {
    auto answer = Answer<::v1::ListPodResourcesResponse>::Make(response);
    if (!Admit(*answer)) return answer.get();
    source_.List([answer, answered = answered_](const StatusOr<std::vector<PodResources>>& pods) {
      answer->End(pods.status(), [&](::v1::ListPodResourcesResponse& out) {
        for (const PodResources& pod : *pods) ToMessage(pod, *out.add_pod_resources());
      });
      Tell(*answered, PodResourcesMethod::kList, pods.ok());
    });
    return answer.get();
  }

  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext*,
                                const ::v1::GetPodResourcesRequest* request,
                                ::v1::GetPodResourcesResponse* response) override {
    auto answer = Answer<::v1::GetPodResourcesResponse>::Make(response);
    if (!Admit(*answer)) return answer.get();
    const std::string name = request->pod_name();
    const std::string namespace_ = request->pod_namespace();
    source_.Get(namespace_, name,
                [answer, answered = answered_, name,
                 namespace_](const StatusOr<std::optional<PodResources>>& pod) {
                  Status status = pod.status();
                  if (pod.ok() && !pod->has_value()) {
                    // Without a code of its own, as Kubernetes has it.
                    status = base::MakeStatus(
                        StatusCode::kUnknown,
                        fmt::format("pod {} in namespace {} not found", name, namespace_));
                  }
                  answer->End(status, [&](::v1::GetPodResourcesResponse& out) {
                    ToMessage(**pod, *out.mutable_pod_resources());
                  });
                  Tell(*answered, PodResourcesMethod::kGet, status.ok());
                });
    return answer.get();
  }

  grpc::ServerUnaryReactor* GetAllocatableResources(
      grpc::CallbackServerContext*, const ::v1::AllocatableResourcesRequest*,
      ::v1::AllocatableResourcesResponse* response) override {
    auto answer = Answer<::v1::AllocatableResourcesResponse>::Make(response);
    if (!Admit(*answer)) return answer.get();
    answer->End(Status(), [](::v1::AllocatableResourcesResponse&) {});
    Tell(*answered_, PodResourcesMethod::kGetAllocatable, true);
    return answer.get();
  }

 private:
  template <class Response>
  bool Admit(Answer<Response>& answer) {
    if (limit_.Take()) return true;
    answer.End(base::MakeStatus(StatusCode::kResourceExhausted, "rejected by rate limit"),
               [](Response&) {});
    return false;
  }

  static void Tell(const std::function<void(PodResourcesMethod, bool)>& answered,
                   PodResourcesMethod method, bool ok) {
    if (answered) answered(method, ok);
  }

  PodResourcesSource& source_;
  // Shared with answers that come when this is gone.
  const std::shared_ptr<const std::function<void(PodResourcesMethod, bool)>> answered_;
  internal::RateLimit limit_;
};

class SocketPodResourcesServer final : public PodResourcesServer {
 public:
  SocketPodResourcesServer(const PodResourcesOptions& options, PodResourcesSource& source)
      : lister_(options, source) {}
  Status Listen(const std::string& socket) {
    DRAY_ASSIGN_OR_RETURN(socket_, internal::Listening::Start(socket, {&lister_}));
    return {};
  }

 private:
  Lister lister_;
  std::unique_ptr<internal::Listening> socket_;  // destroyed first
};

class SocketPodResourcesClient final : public PodResourcesClient {
 public:
  explicit SocketPodResourcesClient(internal::SocketAddress address)
      : address_(std::move(address)),
        stub_(::v1::PodResourcesLister::NewStub(internal::MakeChannel(address_))) {}

  StatusOr<std::vector<PodResources>> List() override {
    grpc::ClientContext context;
    internal::SetDeadline(context, kPatience);
    ::v1::ListPodResourcesResponse response;
    DRAY_RETURN_IF_ERROR(internal::FromGrpc(stub_->List(&context, {}, &response)));
    std::vector<PodResources> out;
    for (const auto& pod : response.pod_resources()) out.push_back(FromMessage(pod));
    return out;
  }

  StatusOr<PodResources> Get(const std::string& namespace_, const std::string& name) override {
    grpc::ClientContext context;
    internal::SetDeadline(context, kPatience);
    ::v1::GetPodResourcesRequest request;
    request.set_pod_name(name);
    request.set_pod_namespace(namespace_);
    ::v1::GetPodResourcesResponse response;
    DRAY_RETURN_IF_ERROR(internal::FromGrpc(stub_->Get(&context, request, &response)));
    return FromMessage(response.pod_resources());
  }

  Status GetAllocatable() override {
    grpc::ClientContext context;
    internal::SetDeadline(context, kPatience);
    ::v1::AllocatableResourcesResponse response;
    return internal::FromGrpc(stub_->GetAllocatableResources(&context, {}, &response));
  }

 private:
  static constexpr std::chrono::seconds kPatience{10};
  const internal::SocketAddress address_;
  const std::unique_ptr<::v1::PodResourcesLister::Stub> stub_;
};

}  // namespace

StatusOr<std::unique_ptr<PodResourcesServer>> ServePodResources(PodResourcesOptions options,
                                                                PodResourcesSource& source) {
  DRAY_CHECK(options.clock != nullptr);
  auto server = std::make_unique<SocketPodResourcesServer>(options, source);
  DRAY_RETURN_IF_ERROR(server->Listen(options.socket));
  return server;
}

StatusOr<std::unique_ptr<PodResourcesClient>> ConnectPodResources(const std::string& socket) {
  DRAY_ASSIGN_OR_RETURN(internal::SocketAddress address, internal::SocketAddress::Make(socket));
  return std::make_unique<SocketPodResourcesClient>(std::move(address));
}

}  // namespace dray::rpc
