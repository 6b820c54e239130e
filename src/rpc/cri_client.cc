// SPDX-License-Identifier: Apache-2.0
#include "rpc/cri_client.h"

#include <fmt/format.h>
#include <proto/cri_v1.pb.h>

#include <utility>

#include "rpc/internal/channels.h"
#include "rpc/internal/cri_convert.h"

namespace dray::rpc {
namespace {

namespace cri = ::runtime::v1;

// The stream of events, while it is open. Deletes itself when gRPC is done with it.
class EventReader final
    : public grpc::ClientBidiReactor<cri::GetEventsRequest,
                                     internal::Received<cri::ContainerEventResponse>> {
 public:
  EventReader(internal::Calls& calls, std::function<void(CriEvent)> event, DoneStatus end)
      : calls_(calls), event_(std::move(event)), end_(std::move(end)) {}

  void Start(const std::shared_ptr<grpc::Channel>& channel) {
    calls_.Add(context_);
    // A stream of answers is on the wire what a stream both ways is that begins with the one request.
    grpc::TemplatedGenericStub<cri::GetEventsRequest,
                               internal::Received<cri::ContainerEventResponse>>(channel)
        .PrepareBidiStreamingCall(&context_, "/runtime.v1.RuntimeService/GetContainerEvents",
                                  grpc::StubOptions(), this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }

 private:
  using State = internal::Received<cri::ContainerEventResponse>::State;

  void OnReadDone(bool ok) override {
    if (!ok) {
      // A message that cannot be read does not end the stream by itself.
      if (response_.state == State::kUnreadable) context_.TryCancel();
      return;
    }
    const cri::ContainerEventResponse& event = response_.message;
    event_({.container_id = event.container_id(),
            .type = static_cast<CriEvent::Type>(event.container_event_type() & 3),
            .created_at = event.created_at()});
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    end_(response_.state == State::kUnreadable ? response_.Check() : internal::FromGrpc(status));
    internal::Calls& calls = calls_;
    calls.Finish(context_);
    delete this;
    calls.Left();
  }

  internal::Calls& calls_;
  const std::function<void(CriEvent)> event_;
  const DoneStatus end_;
  grpc::ClientContext context_;
  const cri::GetEventsRequest request_;
  internal::Received<cri::ContainerEventResponse> response_;
};

template <class Items>
auto AllOf(const Items& items) {
  std::vector<decltype(internal::FromMessage(*items.begin()))> out;
  out.reserve(static_cast<std::size_t>(items.size()));
  for (const auto& item : items) out.push_back(internal::FromMessage(item));
  return out;
}

class SocketCriClient final : public CriClient {
 public:
  SocketCriClient(const CriOptions& options, internal::SocketAddress address)
      : options_(options),
        address_(std::move(address)),
        channel_(internal::MakeChannel(address_)) {}
  ~SocketCriClient() override { calls_.End(); }

  void Version(Done<CriVersion> done) override {
    cri::VersionRequest request;
    request.set_version("v1");
    Ask<cri::VersionResponse>("RuntimeService/Version", std::move(request), std::move(done),
                              [](const cri::VersionResponse& version) {
                                return CriVersion{
                                    .runtime_name = version.runtime_name(),
                                    .runtime_version = version.runtime_version(),
                                    .runtime_api_version = version.runtime_api_version()};
                              });
  }

  void Status(Done<CriStatus> done) override {
    cri::StatusRequest request;
    request.set_verbose(true);
    Ask<cri::StatusResponse>("RuntimeService/Status", std::move(request), std::move(done),
                             [](const cri::StatusResponse& response) {
                               CriStatus out;
                               for (const auto& condition : response.status().conditions()) {
                                 out.conditions.push_back({.type = condition.type(),
                                                           .status = condition.status(),
                                                           .reason = condition.reason(),
                                                           .message = condition.message()});
                               }
                               out.info = internal::MapOf(response.info());
                               return out;
                             });
  }

  void Cgroups(Done<CgroupDriver> done) override {
    Ask<cri::RuntimeConfigResponse>(
        "RuntimeService/RuntimeConfig", cri::RuntimeConfigRequest(), std::move(done),
        [](const cri::RuntimeConfigResponse& response) {
          return response.linux().cgroup_driver() == cri::SYSTEMD ? CgroupDriver::kSystemd
                                                                  : CgroupDriver::kCgroupfs;
        });
  }

  void RunPodSandbox(const CriSandboxConfig& config, Done<std::string> id) override {
    cri::RunPodSandboxRequest request;
    *request.mutable_config() = internal::ToMessage(config);
    Ask<cri::RunPodSandboxResponse>(
        "RuntimeService/RunPodSandbox", std::move(request), std::move(id),
        [](const cri::RunPodSandboxResponse& response) { return response.pod_sandbox_id(); });
  }

  void PodSandboxStatus(const std::string& id, Done<CriSandbox> done) override {
    cri::PodSandboxStatusRequest request;
    request.set_pod_sandbox_id(id);
    Ask<cri::PodSandboxStatusResponse>("RuntimeService/PodSandboxStatus", std::move(request),
                                       std::move(done),
                                       [](const cri::PodSandboxStatusResponse& response) {
                                         return internal::FromMessage(response.status());
                                       });
  }

  void ListPodSandboxes(const CriMap& labels, Done<std::vector<CriSandbox>> done) override {
    cri::ListPodSandboxRequest request;
    internal::SetMap(labels, *request.mutable_filter()->mutable_label_selector());
    Ask<cri::ListPodSandboxResponse>(
        "RuntimeService/ListPodSandbox", std::move(request), std::move(done),
        [](const cri::ListPodSandboxResponse& response) { return AllOf(response.items()); });
  }

  void StopPodSandbox(const std::string& id, DoneStatus done) override {
    cri::StopPodSandboxRequest request;
    request.set_pod_sandbox_id(id);
    Order<cri::StopPodSandboxResponse>("RuntimeService/StopPodSandbox", std::move(request),
                                       options_.deadline, std::move(done));
  }

  void RemovePodSandbox(const std::string& id, DoneStatus done) override {
    cri::RemovePodSandboxRequest request;
    request.set_pod_sandbox_id(id);
    Order<cri::RemovePodSandboxResponse>("RuntimeService/RemovePodSandbox", std::move(request),
                                         options_.deadline, std::move(done));
  }

  void CreateContainer(const std::string& sandbox_id, const CriContainerConfig& config,
                       const CriSandboxConfig& sandbox, Done<std::string> id) override {
    cri::CreateContainerRequest request;
    request.set_pod_sandbox_id(sandbox_id);
    *request.mutable_config() = internal::ToMessage(config);
    *request.mutable_sandbox_config() = internal::ToMessage(sandbox);
    Ask<cri::CreateContainerResponse>(
        "RuntimeService/CreateContainer", std::move(request), std::move(id),
        [](const cri::CreateContainerResponse& response) { return response.container_id(); });
  }

  void StartContainer(const std::string& id, DoneStatus done) override {
    cri::StartContainerRequest request;
    request.set_container_id(id);
    Order<cri::StartContainerResponse>("RuntimeService/StartContainer", std::move(request),
                                       options_.deadline, std::move(done));
  }

  void StopContainer(const std::string& id, std::chrono::seconds grace, DoneStatus done) override {
    cri::StopContainerRequest request;
    request.set_container_id(id);
    request.set_timeout(grace.count());
    Order<cri::StopContainerResponse>("RuntimeService/StopContainer", std::move(request),
                                      options_.deadline + grace, std::move(done));
  }

  void RemoveContainer(const std::string& id, DoneStatus done) override {
    cri::RemoveContainerRequest request;
    request.set_container_id(id);
    Order<cri::RemoveContainerResponse>("RuntimeService/RemoveContainer", std::move(request),
                                        options_.deadline, std::move(done));
  }

  void ContainerStatus(const std::string& id, bool verbose, Done<CriContainer> done) override {
    cri::ContainerStatusRequest request;
    request.set_container_id(id);
    request.set_verbose(verbose);
    Ask<cri::ContainerStatusResponse>("RuntimeService/ContainerStatus", std::move(request),
                                      std::move(done),
                                      [](const cri::ContainerStatusResponse& response) {
                                        CriContainer out = internal::FromMessage(response.status());
                                        out.info = internal::MapOf(response.info());
                                        return out;
                                      });
  }

  void ListContainers(const CriMap& labels, Done<std::vector<CriContainer>> done) override {
    cri::ListContainersRequest request;
    internal::SetMap(labels, *request.mutable_filter()->mutable_label_selector());
    Ask<cri::ListContainersResponse>(
        "RuntimeService/ListContainers", std::move(request), std::move(done),
        [](const cri::ListContainersResponse& response) { return AllOf(response.containers()); });
  }

  void ExecSync(const std::string& id, std::vector<std::string> command,
                std::chrono::seconds timeout, Done<CriExecResult> done) override {
    cri::ExecSyncRequest request;
    request.set_container_id(id);
    for (std::string& word : command) request.add_cmd(std::move(word));
    request.set_timeout(timeout.count());
    Ask<cri::ExecSyncResponse>(
        "RuntimeService/ExecSync", std::move(request), std::move(done),
        [](const cri::ExecSyncResponse& response) {
          return CriExecResult{.out = response.stdout(),
                               .err = response.stderr(),
                               .exit_code = response.exit_code()};
        },
        options_.deadline + timeout);
  }

  void ExecUrl(const std::string& id, std::vector<std::string> command, bool tty, bool stdin,
               Done<std::string> done) override {
    cri::ExecRequest request;
    request.set_container_id(id);
    for (std::string& word : command) request.add_cmd(std::move(word));
    request.set_tty(tty);
    request.set_stdin(stdin);
    request.set_stdout(true);
    request.set_stderr(!tty);  // a terminal has one output
    Ask<cri::ExecResponse>("RuntimeService/Exec", std::move(request), std::move(done),
                           [](const cri::ExecResponse& response) { return response.url(); });
  }

  void AttachUrl(const std::string& id, bool tty, bool stdin, Done<std::string> done) override {
    cri::AttachRequest request;
    request.set_container_id(id);
    request.set_tty(tty);
    request.set_stdin(stdin);
    request.set_stdout(true);
    request.set_stderr(!tty);
    Ask<cri::AttachResponse>("RuntimeService/Attach", std::move(request), std::move(done),
                             [](const cri::AttachResponse& response) { return response.url(); });
  }

  void PortForwardUrl(const std::string& sandbox_id, std::uint16_t port,
                      Done<std::string> done) override {
    cri::PortForwardRequest request;
    request.set_pod_sandbox_id(sandbox_id);
    request.add_port(port);
    Ask<cri::PortForwardResponse>(
        "RuntimeService/PortForward", std::move(request), std::move(done),
        [](const cri::PortForwardResponse& response) { return response.url(); });
  }

  void ReopenLog(const std::string& id, DoneStatus done) override {
    cri::ReopenContainerLogRequest request;
    request.set_container_id(id);
    Order<cri::ReopenContainerLogResponse>("RuntimeService/ReopenContainerLog", std::move(request),
                                           options_.deadline, std::move(done));
  }

  void ImageStatus(const std::string& image, Done<std::optional<CriImage>> done) override {
    cri::ImageStatusRequest request;
    request.mutable_image()->set_image(image);
    Ask<cri::ImageStatusResponse>(
        "ImageService/ImageStatus", std::move(request), std::move(done),
        [](const cri::ImageStatusResponse& response) -> std::optional<CriImage> {
          if (!response.has_image()) return std::nullopt;
          return internal::FromMessage(response.image());
        });
  }

  void PullImage(const std::string& image, const std::optional<CriAuth>& auth,
                 const CriSandboxConfig& sandbox, Done<std::string> reference) override {
    cri::PullImageRequest request;
    request.mutable_image()->set_image(image);
    if (auth) *request.mutable_auth() = internal::ToMessage(*auth);
    *request.mutable_sandbox_config() = internal::ToMessage(sandbox);
    Ask<cri::PullImageResponse>(
        "ImageService/PullImage", std::move(request), std::move(reference),
        [](const cri::PullImageResponse& response) { return response.image_ref(); },
        options_.pull_deadline);
  }

  void ListImages(Done<std::vector<CriImage>> done) override {
    Ask<cri::ListImagesResponse>(
        "ImageService/ListImages", cri::ListImagesRequest(), std::move(done),
        [](const cri::ListImagesResponse& response) { return AllOf(response.images()); });
  }

  void WatchEvents(std::function<void(CriEvent)> event, DoneStatus end) override {
    (new EventReader(calls_, std::move(event), std::move(end)))->Start(channel_);
  }

 private:
  // `read` makes a plain value of a response.
  template <class Response, class Request, class T, class Read>
  void Ask(std::string_view method, Request request, Done<T> done, Read read,
           std::optional<std::chrono::nanoseconds> deadline = std::nullopt) {
    internal::CallUnary<Response>(
        calls_, channel_, fmt::format("/runtime.v1.{}", method), std::move(request),
        deadline.value_or(options_.deadline),
        [done = std::move(done), read](const dray::Status& status, const Response& response) {
          if (!status.ok()) return done(status);
          done(read(response));
        });
  }

  template <class Response, class Request>
  void Order(std::string_view method, Request request, std::chrono::nanoseconds deadline,
             DoneStatus done) {
    internal::CallUnary<Response>(
        calls_, channel_, fmt::format("/runtime.v1.{}", method), std::move(request), deadline,
        [done = std::move(done)](const dray::Status& status, const Response&) { done(status); });
  }

  const CriOptions options_;
  const internal::SocketAddress address_;
  internal::Calls calls_;
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace

StatusOr<std::unique_ptr<CriClient>> ConnectCri(CriOptions options) {
  DRAY_ASSIGN_OR_RETURN(internal::SocketAddress address,
                        internal::SocketAddress::Make(options.endpoint));
  return std::make_unique<SocketCriClient>(options, std::move(address));
}

}  // namespace dray::rpc
