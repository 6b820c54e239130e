// SPDX-License-Identifier: Apache-2.0
#include "rpc/plugin_client.h"

#include <fmt/format.h>
#include <proto/dra_v1.pb.h>
#include <proto/dra_v1beta1.pb.h>
#include <proto/health_v1.pb.h>
#include <proto/health_v1alpha1.pb.h>
#include <proto/registration.pb.h>

#include <atomic>
#include <optional>
#include <utility>

#include "base/check.h"
#include "rpc/internal/channels.h"
#include "rpc/internal/connection_watch.h"
#include "rpc/internal/convert.h"

namespace dray::rpc {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra;
namespace reg = ::pluginregistration;

class SocketRegistration final : public RegistrationClient {
 public:
  explicit SocketRegistration(internal::SocketAddress address)
      : address_(std::move(address)), channel_(internal::MakeChannel(address_)) {}
  ~SocketRegistration() override { calls_.End(); }

  void GetInfo(std::chrono::nanoseconds deadline, Done<PluginInfo> done) override {
    internal::CallUnary<reg::PluginInfo>(
        calls_, channel_, "/pluginregistration.Registration/GetInfo", reg::InfoRequest(), deadline,
        [done = std::move(done)](const Status& status, const reg::PluginInfo& info) {
          if (!status.ok()) return done(status);
          done(PluginInfo{.type = info.type(),
                          .name = info.name(),
                          .endpoint = info.endpoint(),
                          .supported_versions = internal::ToVector(info.supported_versions())});
        });
  }

  void Notify(const std::string& error, std::chrono::nanoseconds deadline,
              DoneStatus done) override {
    reg::RegistrationStatus request;
    request.set_plugin_registered(error.empty());
    request.set_error(error);
    internal::CallUnary<reg::RegistrationStatusResponse>(
        calls_, channel_, "/pluginregistration.Registration/NotifyRegistrationStatus",
        std::move(request), deadline,
        [done = std::move(done)](const Status& status, const reg::RegistrationStatusResponse&) {
          done(status);
        });
  }

 private:
  const internal::SocketAddress address_;
  internal::Calls calls_;
  const std::shared_ptr<grpc::Channel> channel_;
};

// The listener, as long as it may be told anything. Thread-safe.
class Teller {
 public:
  explicit Teller(PluginListener& listener) : listener_(&listener) {}
  // False: nobody listens any more.
  template <class What>
  bool Tell(const What& what) ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    if (listener_ == nullptr) return false;
    what(*listener_);
    return true;
  }
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    listener_ = nullptr;
  }

 private:
  base::Mutex mutex_;
  PluginListener* listener_ ABSL_GUARDED_BY(mutex_);
};

// A health stream, while it is open. It deletes itself when gRPC is done with it.
class HealthStream {
 public:
  virtual ~HealthStream() = default;
  virtual void Next() = 0;
};

// `current` is where the owner finds it until it has ended.
struct StreamSlot {
  base::Mutex mutex;
  HealthStream* current ABSL_GUARDED_BY(mutex) = nullptr;
};

template <class Request, class Response>
class HealthReader final : public grpc::ClientBidiReactor<Request, internal::Received<Response>>,
                           public HealthStream {
 public:
  HealthReader(internal::Calls& calls, Teller& teller, StreamSlot& slot)
      : calls_(calls), teller_(teller), slot_(slot) {}

  void Start(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
    calls_.Add(context_);
    // A stream of answers is on the wire what a stream both ways is that begins with the one request.
    grpc::TemplatedGenericStub<Request, internal::Received<Response>>(channel)
        .PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    this->StartWriteLast(&request_, grpc::WriteOptions());
    this->StartRead(&response_);
    // Next starts reads from outside of a reaction: gRPC has to know that more may come.
    this->AddHold();
    this->StartCall();
  }

  void Next() override {
    if (!waiting_.exchange(false)) return;
    this->StartRead(&response_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      // No read is on its way and none may be started any more. Where that is because a message could
      // not be read, the stream has not ended yet.
      using State = typename internal::Received<Response>::State;
      if (response_.state == State::kUnreadable) {
        unreadable_ = response_.Check();
        context_.TryCancel();
      }
      Forget();
      this->RemoveHold();
      return;
    }
    std::vector<DeviceHealth> devices = internal::HealthOf(response_.message);
    response_.message.Clear();
    waiting_ = true;
    const bool told =
        teller_.Tell([&](PluginListener& listener) { listener.OnHealth(std::move(devices)); });
    // Nobody will ask for more; the stream was cancelled, and is read until that shows.
    if (!told) Next();
  }

  void OnDone(const grpc::Status& status) override {
    Forget();
    const Status why = unreadable_.ok() ? internal::FromGrpc(status) : unreadable_;
    teller_.Tell([&](PluginListener& listener) { listener.OnHealthEnd(why); });
    internal::Calls& calls = calls_;
    calls.Finish(context_);
    delete this;
    calls.Left();
  }

  void Forget() {
    const base::MutexLock lock(slot_.mutex);
    if (slot_.current == this) slot_.current = nullptr;
  }

  internal::Calls& calls_;
  Teller& teller_;
  StreamSlot& slot_;
  grpc::ClientContext context_;
  const Request request_;
  internal::Received<Response> response_;
  Status unreadable_;                  // not OK: what was wrong with the last message
  std::atomic<bool> waiting_ = false;  // for Next
};

class SocketChannel final : public PluginChannel {
 public:
  SocketChannel(std::shared_ptr<internal::ConnectionThread> thread, internal::SocketAddress address,
                const ChannelOptions& options, PluginListener& listener)
      : options_(options),
        address_(std::move(address)),
        teller_(listener),
        channel_(internal::MakeChannel(address_)),
        watch_(std::in_place, std::move(thread), channel_, [this](bool connected) {
          teller_.Tell([&](PluginListener& listener) { listener.OnConnected(connected); });
        }) {}

  ~SocketChannel() override {
    teller_.Stop();
    watch_.reset();
    // A stream that waits for Next does not notice its end: it is read on, and then does.
    calls_.Cancel();
    NextHealth();
    calls_.End();
  }

  void Prepare(std::vector<ClaimName> claims, std::chrono::nanoseconds deadline,
               Done<PrepareAnswer> done) override {
    if (options_.dra == DraService::kV1) {
      Prepare<dra::v1::NodePrepareResourcesRequest, dra::v1::NodePrepareResourcesResponse>(
          claims, deadline, std::move(done));
    } else {
      Prepare<dra::v1beta1::NodePrepareResourcesRequest,
              dra::v1beta1::NodePrepareResourcesResponse>(claims, deadline, std::move(done));
    }
  }

  void Unprepare(std::vector<ClaimName> claims, std::chrono::nanoseconds deadline,
                 Done<UnprepareAnswer> done) override {
    if (options_.dra == DraService::kV1) {
      Unprepare<dra::v1::NodeUnprepareResourcesRequest, dra::v1::NodeUnprepareResourcesResponse>(
          claims, deadline, std::move(done));
    } else {
      Unprepare<dra::v1beta1::NodeUnprepareResourcesRequest,
                dra::v1beta1::NodeUnprepareResourcesResponse>(claims, deadline, std::move(done));
    }
  }

  void WatchHealth() override {
    switch (options_.health) {
      case HealthService::kNone:
        DRAY_BUG("the health of a driver that has no such service is watched");
        break;
      case HealthService::kV1:
        Watch<::v1::NodeWatchResourcesRequest, ::v1::NodeWatchResourcesResponse>("v1");
        break;
      case HealthService::kV1Alpha1:
        Watch<::v1alpha1::NodeWatchResourcesRequest, ::v1alpha1::NodeWatchResourcesResponse>(
            "v1alpha1");
        break;
    }
  }

  void NextHealth() override {
    const base::MutexLock lock(slot_.mutex);
    if (slot_.current != nullptr) slot_.current->Next();
  }

 private:
  std::string Method(std::string_view name) const {
    return fmt::format("/k8s.io.kubelet.pkg.apis.dra.{}.DRAPlugin/{}",
                       options_.dra == DraService::kV1 ? "v1" : "v1beta1", name);
  }

  template <class Request, class Response>
  void Prepare(const std::vector<ClaimName>& claims, std::chrono::nanoseconds deadline,
               Done<PrepareAnswer> done) {
    internal::CallUnary<Response>(
        calls_, channel_, Method("NodePrepareResources"), internal::ClaimsRequest<Request>(claims),
        deadline, [done = std::move(done)](const Status& status, const Response& response) {
          if (!status.ok()) return done(status);
          done(internal::PrepareAnswerOf(response));
        });
  }

  template <class Request, class Response>
  void Unprepare(const std::vector<ClaimName>& claims, std::chrono::nanoseconds deadline,
                 Done<UnprepareAnswer> done) {
    internal::CallUnary<Response>(
        calls_, channel_, Method("NodeUnprepareResources"),
        internal::ClaimsRequest<Request>(claims), deadline,
        [done = std::move(done)](const Status& status, const Response& response) {
          if (!status.ok()) return done(status);
          done(internal::UnprepareAnswerOf(response));
        });
  }

  template <class Request, class Response>
  void Watch(std::string_view version) {
    auto* reader = new HealthReader<Request, Response>(calls_, teller_, slot_);
    {
      const base::MutexLock lock(slot_.mutex);
      slot_.current = reader;
    }
    reader->Start(channel_, fmt::format("/{}.DRAResourceHealth/NodeWatchResources", version));
  }

  const ChannelOptions options_;
  const internal::SocketAddress address_;
  Teller teller_;
  StreamSlot slot_;
  internal::Calls calls_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::optional<internal::ConnectionWatch> watch_;  // last: it tells from the beginning
};

class SocketPlugins final : public PluginConnector {
 public:
  StatusOr<std::unique_ptr<RegistrationClient>> Registration(const std::string& socket) override {
    DRAY_ASSIGN_OR_RETURN(internal::SocketAddress address, internal::SocketAddress::Make(socket));
    return std::make_unique<SocketRegistration>(std::move(address));
  }
  StatusOr<std::unique_ptr<PluginChannel>> Channel(const ChannelOptions& options,
                                                   PluginListener& listener) override {
    DRAY_ASSIGN_OR_RETURN(internal::SocketAddress address,
                          internal::SocketAddress::Make(options.endpoint));
    return std::make_unique<SocketChannel>(thread_, std::move(address), options, listener);
  }

 private:
  const std::shared_ptr<internal::ConnectionThread> thread_ =
      std::make_shared<internal::ConnectionThread>();
};

}  // namespace

std::unique_ptr<PluginConnector> SocketConnector() { return std::make_unique<SocketPlugins>(); }

}  // namespace dray::rpc
